# SPDX-License-Identifier: Apache-2.0
"""TFLOP/s over size, one line a provider, as a table and a plot.

    report = ggemm.bench.perf_report([256, 512, 1024])
    print(report)
    report.plot("out.svg")                              # needs matplotlib: pip install ggemm[bench]

or `python -m ggemm.bench --sizes 256:4096:256 --plot out.svg`.
"""
from __future__ import annotations

import argparse
import csv
import io
import pathlib
import statistics
import sys
import time
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

import numpy as np

from ._arrays import LONG_NAMES, NUMPY_DTYPES, dtype_number
from ._context import context
from ._plan import plan

Provider = Callable[[Any, Any, Any], object]
Size = tuple[int, int, int]


class Measurement(NamedTuple):
    """TFLOP/s of one provider at one size: the median, and the 20th and 80th percentile of the runs."""

    provider: str
    m: int
    n: int
    k: int
    tflops: float
    low: float
    high: float


class Report:
    """What was measured: `str(report)` is a table, `plot` a picture, `csv` the numbers."""

    def __init__(self, title: str, measurements: Sequence[Measurement]) -> None:
        self.title = title
        self.measurements = tuple(measurements)

    @property
    def providers(self) -> list[str]:
        return list(dict.fromkeys(row.provider for row in self.measurements))

    @property
    def sizes(self) -> list[Size]:
        return list(dict.fromkeys((row.m, row.n, row.k) for row in self.measurements))

    def __str__(self) -> str:
        """A Markdown table: a row a size, a column a provider."""
        found = {(row.provider, (row.m, row.n, row.k)): row.tflops for row in self.measurements}
        lines = [f"{self.title}, TFLOP/s", "", "| M | N | K | " + " | ".join(self.providers) + " |", "|" + "---:|" * (3 + len(self.providers))]
        for size in self.sizes:
            cells = [f"{found[name, size]:.4g}" if (name, size) in found else "" for name in self.providers]
            lines.append("| " + " | ".join([*map(str, size), *cells]) + " |")
        return "\n".join(lines)

    def csv(self) -> str:
        """Comma-separated lines, one a measurement, with a head."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Measurement._fields)
        writer.writerows(self.measurements)
        return text.getvalue()

    def plot(self, path: Any) -> None:
        """Writes a picture, of the kind that the file's name ends in: svg, png, pdf. Needs matplotlib (pip install ggemm[bench])."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("a plot needs matplotlib: pip install ggemm[bench]") from None
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        square = all(m == n == k for m, n, k in self.sizes)
        names = [str(m) if square else f"{m}x{n}x{k}" for m, n, k in self.sizes]
        for provider in self.providers:
            rows = [row for row in self.measurements if row.provider == provider]
            at = [self.sizes.index((row.m, row.n, row.k)) for row in rows]
            x = [row.m for row in rows] if square else at
            (line,) = axes.plot(x, [row.tflops for row in rows], marker="o", markersize=3, label=provider)
            axes.fill_between(x, [row.low for row in rows], [row.high for row in rows], alpha=0.15, color=line.get_color())
        if not square:
            axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
        axes.set(title=self.title, xlabel="M = N = K" if square else "M x N x K", ylabel="TFLOP/s", ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend()
        figure.savefig(path)


# ------------------------------------------------------------------------------------------------------------------ arrays and timing
def _operands(size: Size, dtype: int, device: str, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """A, B and D, filled with normal data: a GPU's clock depends on the bits that move."""
    m, n, k = size
    if device == "cpu":
        left, right = (rng.standard_normal(shape, np.float32).astype(NUMPY_DTYPES[dtype]) for shape in ((m, k), (k, n)))
        return left, right, np.empty((m, n), NUMPY_DTYPES[dtype])
    import torch

    kind = getattr(torch, LONG_NAMES[dtype])
    return torch.randn((m, k), device=device).to(kind), torch.randn((k, n), device=device).to(kind), torch.empty((m, n), dtype=kind, device=device)


def _seconds_host(run: Callable[[], object], budget: float) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + budget
    run()
    while len(times) < 5 or time.perf_counter() < end and len(times) < 1000:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def _seconds_cuda(run: Callable[[], object], budget: float) -> list[float]:
    """Each run between two events, after 256 MB were read: L2 is cold then, and has no written lines that the run would have to bring back."""
    import torch

    flush, sink = torch.zeros(64 << 20, device="cuda"), torch.zeros((), device="cuda")
    run()
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 10 or time.perf_counter() < end and len(times) < 1000:
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.sum(flush, dim=0, out=sink)
        start.record()
        run()
        stop.record()
        stop.synchronize()
        times.append(start.elapsed_time(stop) * 1e-3)
    return times


def _default_providers(device: str) -> dict[str, Provider]:
    if device == "cpu":
        return {"ggemm": _ggemm, "numpy": lambda a, b, out: np.matmul(a, b, out=out)}
    import torch

    return {"ggemm": _ggemm, "torch": lambda a, b, out: torch.mm(a, b, out=out)}


_plans: dict[int, Any] = {}


def _ggemm(a: Any, b: Any, out: Any) -> object:
    return _plans[id(out)](a, b, out=out)


def perf_report(sizes: Iterable[int | Size], *, dtype: Any = None, device: str | None = None, providers: Mapping[str, Provider] | None = None,
                budget: float = 0.2, progress: Callable[[Measurement], object] | None = None) -> Report:
    """Measures D = A B over sizes, for each provider.

    sizes: numbers for square products, or (m, n, k). dtype: None: f32 on the CPU, f16 on a GPU. device: "cpu", "cuda"; None: the best there is.
    providers: by name, functions of (a, b, out) that write out: numpy arrays on the CPU, torch tensors on a GPU. Added to "ggemm" and "numpy" or
    "torch"; None for a name leaves it out. budget: seconds for each measurement. progress: called with each.
    """
    where = device or ("cuda" if context().device.kind == "cuda" else "cpu")
    number = dtype_number(dtype or ("f32" if where == "cpu" else "f16"))
    chosen = {name: run for name, run in {**_default_providers(where), **(providers or {})}.items() if run is not None}
    rng = np.random.default_rng(1)
    measurements = []
    for size in sizes:
        m, n, k = size if isinstance(size, tuple) else (size, size, size)
        a, b, out = _operands((m, n, k), number, where, rng)
        _plans[id(out)] = plan(a, b, out=out)
        try:
            for name, run in chosen.items():
                seconds = sorted((_seconds_host if where == "cpu" else _seconds_cuda)(lambda: run(a, b, out), budget))
                rates = [2e-12 * m * n * k / second for second in (statistics.median(seconds), seconds[len(seconds) * 4 // 5], seconds[len(seconds) // 5])]
                measurements.append(Measurement(name, m, n, k, *rates))
                if progress is not None:
                    progress(measurements[-1])
        finally:
            del _plans[id(out)]
    name = context(where).device.name
    return Report(f"{LONG_NAMES[number]} products on {name}", measurements)


def _parse_sizes(text: str) -> list[int | Size]:
    """"256,512", "256:4096:256" (the end included) and "512x1024x64", in any mixture."""
    sizes: list[int | Size] = []
    for part in text.split(","):
        if "x" in part:
            m, n, k = map(int, part.split("x"))
            sizes.append((m, n, k))
        elif ":" in part:
            first, last, step = map(int, part.split(":"))
            sizes += range(first, last + 1, step)
        else:
            sizes.append(int(part))
    return sizes


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ggemm.bench", description="TFLOP/s over size, one line a provider.")
    parser.add_argument("--sizes", default="256:2048:256", help="such as 256,512 or 256:4096:256 or 512x1024x64 (default: %(default)s)")
    parser.add_argument("--dtype", help="such as f32 or bf16 (default: f32 on the CPU, f16 on a GPU)")
    parser.add_argument("--device", help="cpu or cuda (default: the best there is)")
    parser.add_argument("--budget", type=float, default=0.2, help="seconds for each measurement (default: %(default)s)")
    parser.add_argument("--plot", type=pathlib.Path, help="write a picture: .svg, .png or .pdf")
    parser.add_argument("--csv", type=pathlib.Path, help="write the numbers")
    options = parser.parse_args(arguments)
    report = perf_report(_parse_sizes(options.sizes), dtype=options.dtype, device=options.device, budget=options.budget,
                         progress=lambda row: print(f"{row.m}x{row.n}x{row.k} {row.provider}: {row.tflops:.4g}", file=sys.stderr))
    print(report)
    if options.csv:
        options.csv.write_text(report.csv())
    if options.plot:
        report.plot(options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())

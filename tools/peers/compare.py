#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ggemm beside torch, Triton, QuACK and DeepGEMM, on the cases of `ggemm bench` and by its protocol: L2 cold and clean, a rest before each turn, turns A B B A, medians
of paired ratios, geometric means by category. Results are JSON lines with the fields of `ggemm bench`; the suite's name gets "-python". A run that
was cut off goes on where it stopped. A provider that is missing, or does not offer a case, or computes it wrong, is said and left out.

    tools/peers/compare.py --suite quick --jsonl results.jsonl
    tools/peers/compare.py --shape 4096,1024x2048x512 --dtype bf16,f16 --providers torch

Needs the Python package ggemm, torch, and the command `ggemm`, which knows the cases; of the others what is to be compared (fetch.sh beside this downloads
it for a machine that has no network). Other options than these
choose cases and are those of `ggemm bench`: --suite, --shape, --dtype, --layout, --filter, --shard.
"""
from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Sequence

import cases
import results
from protocol import Arm, Deadline, Protocol, compare, paired_ratio

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {"quack": "quack-kernels", "deep_gemm": "sgl-deep-gemm"}  # where a module's name is not that of what pip installs
WORTH_SAYING = 1.0  # seconds of compiling and tuning


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"


class Comparison:
    """Runs cases and makes rows of them. `tools` has what needs torch: the modules operands, providers and timing."""

    def __init__(self, protocol: Protocol, peers: Sequence[str], device: str, tools: Any, config: str = "", limits: dict[str, tuple[str, float]] | None = None,
                 device_name: str = "") -> None:
        self._protocol, self._peers, self._device, self._tools, self._config = protocol, list(peers), device, tools, config
        self._limits, self._device_name = limits or {}, device_name
        self._timer = tools.timer(device)

    def run(self, case: cases.Case) -> results.Row:
        operands = self._tools.Operands(case, self._device)
        launch = self._tools.ours(case, operands, self._config)
        fault = self._fault(launch, operands)
        if fault:
            raise ArithmeticError(f"wrong result of {launch.config}: {fault}")
        ours = self._arm(launch)
        peers = {}
        arms = {}
        for arm, median in self._right_peers(case, operands):
            arms[arm.name], peers[arm.name] = arm, median
        best = min(peers, key=lambda name: peers[name], default=None)
        self._timer.telemetry.clear()
        mine, theirs = compare(self._protocol, ours, arms[best] if best else None)
        telemetry = list(self._timer.telemetry)
        if telemetry:
            say(f"  at {results.median_mhz(telemetry)} MHz, {statistics.median(watts for _, watts in telemetry):.0f} W")
        if best:
            peers[best] = statistics.median(theirs)
        name, limit = self._limits.get(case.key.partition("|")[2], ("", None))
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {**case.row(), "config": launch.config, "ours_us": statistics.median(mine), "limit_us": limit if name == self._device_name else None,
                "peers": peers, "ratio": paired_ratio(mine, theirs) if best else None, "sm_mhz": results.median_mhz(telemetry), "date": date}

    def _arm(self, launch: Any) -> Arm:
        return Arm(launch.name, lambda samples: self._timer.cold(samples, launch.run))

    def _fault(self, launch: Any, operands: Any) -> str | None:
        begin = time.monotonic()
        launch.run()  # compiles and tunes; the candidates that it tries write right numbers too, so D is poisoned after it
        self._timer.wait()
        if (seconds := time.monotonic() - begin) >= WORTH_SAYING:
            say(f"  {launch.name}: {seconds:.1f} s for the first launch")
        operands.poison()
        found = launch.run()
        self._timer.wait()
        return operands.wrong(found)

    def _right_peers(self, case: cases.Case, operands: Any) -> list[tuple[Arm, float]]:
        """Those that offer the case and are right, with the median of a few launches."""
        found = []
        for name in self._peers:
            try:
                launches = self._tools.peers[name](case, operands)
            except Exception as error:  # whatever a library that was not made for the case throws
                say(f"  {name} left out: {first_line(error)}")
                continue
            for launch in launches:
                try:
                    fault = self._fault(launch, operands)
                    if fault:
                        say(f"  {launch.name} left out: wrong result: {fault}")
                        continue
                    arm = self._arm(launch)
                    found.append((arm, statistics.median(arm.run(self._protocol.screen))))
                except Exception as error:
                    say(f"  {launch.name} left out: {first_line(error)}")
        return found


def load_tools() -> Any:
    """What needs torch and ggemm."""
    for module, install in (("torch", "torch"), ("ggemm", "./bindings/python")):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise SystemExit(f"needs {module}: pip install {install} ({error})") from None
    operands, providers, timing = (importlib.import_module(name) for name in ("operands", "providers", "timing"))
    return argparse.Namespace(Operands=operands.Operands, ours=providers.ours, peers=providers.PEERS, timer=timing.timer, where=providers.where)


def available(names: Sequence[str]) -> list[str]:
    """The providers whose module is there; a line for each that is not."""
    found = []
    for name in names:
        try:
            importlib.import_module(name)
            found.append(name)
        except ModuleNotFoundError as error:
            say(f"{name} is not compared: pip install {PACKAGES.get(name, name)} ({error})")
        except Exception as error:  # whatever a library throws that was built for another torch or finds no CUDA
            say(f"{name} is not compared: it cannot be loaded: {first_line(error)}")
    return found


def commit() -> str:
    done = subprocess.run(["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def parse(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="compare.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ggemm", default="ggemm", metavar="FILE", help="the command that lists the cases (default: %(default)s)")
    parser.add_argument("--cases", type=pathlib.Path, metavar="FILE", help="cases that `ggemm bench --list --format json` wrote, instead of asking it")
    parser.add_argument("--providers", default="torch,triton,quack,deep_gemm", help="whom to compare with (default: %(default)s)")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda if torch has it")
    parser.add_argument("--list", action="store_true", help="name the cases and measure nothing")
    parser.add_argument("--samples", type=int, default=32, help="launches of each provider at least (default: %(default)s)")
    parser.add_argument("--rest", type=float, help="seconds before each turn (default: 0.1 on a GPU, 0.01 on the CPU)")
    parser.add_argument("--config", default="", help="force this configuration of ggemm")
    parser.add_argument("--limit", type=float, default=0, help="start no case that would end later than so many seconds; 0: no limit")
    parser.add_argument("--limits", type=pathlib.Path, metavar="FILE", help="results of `ggemm bench` on the same device, for each case's limit")
    parser.add_argument("--jsonl", type=pathlib.Path, metavar="FILE", help="file of results; what is there is not measured again")
    parser.add_argument("--keep-any", action="store_true", help="rows of other commits and devices count as there")
    parser.add_argument("--commit", help="what the rows say (default: that of the folder where this script lies)")
    return parser.parse_known_args(arguments)


def measure(comparison: Comparison, chosen: Sequence[cases.Case], file: results.ResultFile, deadline: Deadline) -> int:
    """Returns how many cases failed."""
    failed = left = 0
    for index, case in enumerate(chosen):
        what = f"[{index + 1}/{len(chosen)}] {case.category}/{case.name} {case.dtype} {case.layout}"
        if file.has(case):
            say(what + ": there already")
            continue
        if not deadline.allows_another():
            left += 1
            continue
        say(what)

        def work() -> None:
            row = comparison.run(case)
            file.append(row)
            say(f"  {row['ours_us']:.2f} us" + (f", ratio {row['ratio']:.3f}" if row["ratio"] else ""))

        try:
            deadline.timed(work)
        except Exception as error:  # a case that cannot be computed does not end the run: the others still count
            failed += 1
            say("  failed: " + first_line(error))
    if left:
        say(f"--limit: {left} cases are left for a later run")
    return failed


def main(arguments: Sequence[str] | None = None, load: Callable[[], Any] = load_tools) -> int:
    options, selection = parse(arguments)
    deadline = Deadline(options.limit)
    found = cases.read(options.cases.read_text()) if options.cases else cases.listed(options.ggemm, selection)
    chosen = [dataclasses.replace(case, suite=case.suite + "-python") for case in found]
    if options.list:
        for case in chosen:
            print(case.category, case.name, case.dtype, case.layout)
        return 0
    tools = load()
    device, name = tools.where(options.device)
    protocol = Protocol(samples=options.samples, rest=options.rest if options.rest is not None else 0.1 if device == "cuda" else 0.01)
    limits = results.limits(options.limits, name) if options.limits else {}
    comparison = Comparison(protocol, available(list(filter(None, options.providers.split(",")))), device, tools, options.config, limits, name)
    file = results.ResultFile(options.jsonl, options.commit or commit(), name, options.config, options.keep_any)
    failed = measure(comparison, chosen, file, deadline)
    file.compact()
    keys = {case.key: case.flops for case in chosen}
    print(results.report(file.of(chosen), keys))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

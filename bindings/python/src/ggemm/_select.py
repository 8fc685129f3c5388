# SPDX-License-Identifier: Apache-2.0
"""Configurations, preparing, tuning."""
from __future__ import annotations

from typing import Any, Callable, Iterable, NamedTuple, Sequence

from . import native
from ._arguments import function, integer_tuple, listed, real, text
from ._errors import ArgumentError
from ._plan import default_plans
from ._problem import Problem


class Config(NamedTuple):
    """One way to run a problem. `str(config)` is its name, which `config=` takes."""

    name: str  #: unique and readable, such as "sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8"
    family: str  #: "simt", "sm80", "host" ...
    tile: tuple[int, int, int]  #: rows and columns of a CTA's tile, and its depth
    warps: tuple[int, int]
    stages: int  #: slots of the shared-memory ring
    raster: int  #: rows of tiles that are walked together (Triton's GROUP_SIZE_M)
    cluster: tuple[int, int, int]  #: CTAs of a cluster, down, across and along k (1 where none share a tile); zeros in the families that form none
    swapped: bool  #: the product is computed transposed
    slices: int  #: parts of k that a tile's sums are added up from, each by a cluster of its own; 1: of the tiles left over alone; 0 where k is not cut
    teams: int  #: 2: so many teams of these warps take turns at tiles, one storing while the other multiplies; 0: one team has them all
    large_above: int  #: of a grouped problem: groups of more rows than this are computed beside, by a kernel of larger tiles; 0: by the same as all

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def parse(name: str) -> Config:
        """Reads a name. Raises ArgumentError with the part that is wrong; says nothing about whether it is legal for a problem.

        Its numbers are of the product that the name is for, which is the transposed one where D is contiguous along m alone; a plan's config has D's.
        """
        config = native.config()
        native.config_parse(text("name", name), config)
        return _config(config)


def _config(c: Any) -> Config:
    return Config(c.name, c.family, (c.tile_m, c.tile_n, c.tile_k), (c.warps_m, c.warps_n), c.stages, c.raster, (c.cluster_m, c.cluster_n, c.cluster_k), bool(c.swapped), c.slices, c.teams, c.large_above)


def _check(caller: Callable[..., Any], problem: Any) -> None:
    if not isinstance(problem, Problem):
        raise ArgumentError(f"{caller.__name__} takes problems, as ggemm.problem makes them, not {type(problem).__name__}")


def configs(problem: Problem) -> list[Config]:
    """The configurations that are legal for a problem, best estimate first."""
    _check(configs, problem)
    found = []
    for index in range(native.config_count(problem.context._handle.pointer, problem._native)):
        config = native.config()
        native.config_get(problem.context._handle.pointer, problem._native, index, config)
        found.append(_config(config))
    return found


def prepare(problems: Iterable[Problem], progress: Callable[[int, int, str], object] | None = None) -> None:
    """Compiles and loads the kernels of many problems at once, in parallel; runs nothing.

    progress: `progress(done, total, what)`, after each; return True to cancel (CancelledError), or raise.
    Raises the error of the problem that failed first; one that fails does not stop the others.
    """
    by_context: dict[int, list[Problem]] = {}
    for problem in listed("problems", problems):
        _check(prepare, problem)
        by_context.setdefault(id(problem.context), []).append(problem)
    for group in by_context.values():
        native.prepare(group[0].context._handle.pointer, [problem._native for problem in group], function("progress", progress))


class TuneRow(NamedTuple):
    """One candidate of a tuning."""

    number: int  #: of the candidate, from 0
    total: int
    config: str
    microseconds: float  #: median; 0 if it was not timed
    tflops: float
    rejected: str | None  #: why it cannot win; None if it can


class TuneResult(NamedTuple):
    """What a tuning found; later calls of the same class use it, in this process and, through the disk cache, in later ones."""

    best: Config
    microseconds: float
    tflops: float
    seconds: float  #: that tuning took, compiles included
    rows: list[TuneRow]


def tune(problem: Problem, *, budget: float = 10.0, configs: Sequence[Any] | None = None, sample_sizes: Sequence[tuple[int, int, int]] | None = None,
         progress: Callable[[TuneRow], object] | None = None) -> TuneResult:
    """Measures configurations on scratch memory, verifies each, and records the best.

    budget: seconds. configs: candidates, by name or as Config; None: the library's own.
    sample_sizes: of a grouped problem, (m, n, k) of each group of a typical call.
    progress: called with each `TuneRow`; return True to stop with what is known.
    Raises UnsupportedError if no candidate is legal and right; ArgumentError if there is nothing to tune; CancelledError.
    """
    rows: list[TuneRow] = []

    function("progress", progress)

    def each(*row: Any) -> bool:
        rows.append(TuneRow(*row))
        return progress is not None and progress(rows[-1]) is True

    _check(tune, problem)
    flat: list[int] = []  # of which other groups could be made, were they not three each
    if sample_sizes is not None:
        wanted = "m, n and k of each group are wanted"
        for g, sizes in enumerate(listed("sample_sizes", sample_sizes, wanted)):
            m, n, k = integer_tuple(f"sample_sizes[{g}]", sizes, (3,), wanted)
            flat += (n, m, k) if problem._flipped else (m, n, k)
        if not flat:
            raise ArgumentError(f"sample_sizes={sample_sizes}: {wanted}")
    names = [text("config", str(config)) for config in listed("configs", () if configs is None else configs)]
    best, microseconds, tflops, seconds = native.tune(problem.context._handle.pointer, problem._native, real("budget", budget), names, flat, each)
    for plans in (default_plans, problem.context._plans):  # which matmul made before
        plans.clear()
    return TuneResult(Config.parse(best), microseconds, tflops, seconds, rows)

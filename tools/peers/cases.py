# SPDX-License-Identifier: Apache-2.0
"""The cases of `ggemm bench`, which lists them: suites and their shapes stand there alone."""
from __future__ import annotations

import dataclasses
import json
import subprocess
from typing import Any, Sequence

Size = tuple[int, int, int]  # m, n, k


@dataclasses.dataclass(frozen=True)
class Case:
    suite: str
    category: str
    name: str
    dtype: str  # bf16, f16, e4m3, i8, tf32, f32, f32x3, f64
    layout: str  # nn, nt, tn, tt: "n" is A as [m,k] and B as [k,n], "t" A as [k,m] and B as [n,k]; all row-major
    size: Size = (0, 0, 0)  # plain
    padding: int = 0  # elements added to each leading dimension
    offset: int = 0  # elements that each base is moved up from an aligned address
    groups: tuple[Size, ...] = ()  # grouped
    generator: str = ""  # grouped: how the groups are made, in words
    scaling: str = ""  # tensor: a number each of A and of B; row: one a row of A, one a column of B; block: one for each 1x128 of A, each 128x128 of B

    @property
    def problems(self) -> tuple[Size, ...]:
        return self.groups or (self.size,)

    @property
    def flops(self) -> float:
        return sum(2.0 * m * n * k for m, n, k in self.problems)

    @property
    def key(self) -> str:
        """What makes two rows measurements of the same thing."""
        return "|".join((self.suite, self.name, self.dtype, self.layout, self.generator or "x".join(map(str, self.size))))

    def row(self) -> dict[str, Any]:
        """What a row of results says of it."""
        row: dict[str, Any] = {"suite": self.suite, "category": self.category, "case": self.name, "dtype": self.dtype, "layout": self.layout}
        if self.groups:
            return {**row, "groups": self.generator}
        m, n, k = self.size
        return {**row, "m": m, "n": n, "k": k}


def read(text: str) -> list[Case]:
    """What `ggemm bench --list --format json` prints, but groups in a form of their own (masked, by index and so on), which are for `ggemm bench` alone."""
    cases = []
    for one in json.loads(text):
        if "form" in one:
            continue
        head = (one["suite"], one["category"], one["case"], one["dtype"], one["layout"])
        scaling = one.get("scaling", "")
        if "sizes" in one:
            cases.append(Case(*head, groups=tuple((m, n, k) for m, n, k in one["sizes"]), generator=one["groups"], scaling=scaling))
        else:
            cases.append(Case(*head, size=(one["m"], one["n"], one["k"]), padding=one["padding"], offset=one["offset"], scaling=scaling))
    return cases


def listed(command: str, selection: Sequence[str]) -> list[Case]:
    """The cases that `ggemm bench` would measure with these options. Raises SystemExit with its sentence."""
    try:
        done = subprocess.run([command, "bench", *selection, "--list", "--format", "json"], capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"{command}: {error.strerror}: --ggemm names the command, or --cases a file that it wrote (bench --list --format json)") from None
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return read(done.stdout)

# SPDX-License-Identifier: Apache-2.0
"""Operands of a case as torch tensors, and the check of what was computed."""
from __future__ import annotations

import math
import random
from typing import Any, Sequence

import torch

from cases import Case, Size

ALIGNMENT = 256  # bytes of each base, before the case's offset
SCALED = 128  # elements of k, and columns of B, that share a scale by blocks
CHECKED_GROUPS, CHECKED_ROWS = 8, 8  # of a case, and of each of its groups
INPUTS = {"bf16": torch.bfloat16, "f16": torch.float16, "e4m3": torch.float8_e4m3fn, "i8": torch.int8, "tf32": torch.float32, "f32": torch.float32,
          "f32x3": torch.float32, "f64": torch.float64}
OUTPUTS = {**INPUTS, "e4m3": torch.bfloat16, "i8": torch.int32}
# Half the distance of neighbours at 1, and half the smallest number.
ROUNDING = {torch.bfloat16: (2.0**-8, 2.0**-134), torch.float16: (2.0**-11, 2.0**-25), torch.float32: (2.0**-24, 2.0**-150), torch.float64: (2.0**-53, 0.0)}


def ragged_axis(case: Case) -> str | None:
    """"m" or "k" if the groups differ along that alone and their rows follow each other, as tokens sorted by expert and their weights' gradients do."""
    m, n, k = (set(sizes) for sizes in zip(*case.groups)) if case.groups else (set(), set(), set())
    if len(n) == len(k) == 1 and case.layout[0] == "n":
        return "m"
    return "k" if len(m) == len(n) == 1 and case.layout == "tn" else None


class Operands:
    """a[g] [m,k], b[g] [k,n] and d[g] [m,n], views of the layout that the case asks for. One group stands for a plain case.

    Where the case is ragged, `joined` holds A, B and D of all groups as torch's grouped products take them, over the same memory.
    Where it is scaled, `scales` holds A's and B's of all groups, by blocks contiguous along m and along k, and scale_a[g] and scale_b[g] those of each.
    """

    def __init__(self, case: Case, device: str) -> None:
        self.case, self.device = case, device
        self._random = torch.Generator(device).manual_seed(1)
        self.joined: tuple[Any, Any, Any] | None = None
        self.axis = ragged_axis(case)
        if self.axis == "m":
            self._ragged_m()
        elif self.axis == "k":
            self._ragged_k()
        else:
            a_turned, b_turned = (letter == "t" for letter in case.layout)
            self.a = [self._matrix((m, k), a_turned) for m, _, k in case.problems]
            self.b = [self._matrix((k, n), b_turned) for _, n, k in case.problems]
            self.d = [self._matrix((m, n), False, output=True) for m, n, _ in case.problems]
        self.scales: tuple[Any, Any] | None = None
        self.scale_a: list[Any] = [None] * len(case.problems)
        self.scale_b: list[Any] = [None] * len(case.problems)
        if case.scaling:
            self._scale()

    def _fill(self, count: int, kind: torch.dtype) -> Any:
        """Normal data, uniform for int8: a GPU's clock depends on the bits that move."""
        if kind == torch.int8:
            return torch.randint(-128, 128, (count,), generator=self._random, device=self.device, dtype=kind)
        return torch.randn(count, generator=self._random, device=self.device).to(kind)

    def _matrix(self, shape: tuple[int, int], turned: bool, output: bool = False) -> Any:
        """A view of this shape, row-major or (turned) column-major, with the case's padding and offset."""
        lines, length = reversed(shape) if turned else shape
        kind = (OUTPUTS if output else INPUTS)[self.case.dtype]
        pitch = length + self.case.padding
        count = lines * pitch + self.case.offset + ALIGNMENT
        memory = torch.empty(count, dtype=kind, device=self.device) if output else self._fill(count, kind)
        start = -memory.data_ptr() % ALIGNMENT // memory.element_size() + self.case.offset
        view = torch.as_strided(memory, (lines, length), (pitch, 1), start)
        return view.t() if turned else view

    def _ragged_m(self) -> None:
        _, n, k = self.case.groups[0]
        rows = [m for m, _, _ in self.case.groups]
        x, out = self._matrix((sum(rows), k), False), self._matrix((sum(rows), n), False, output=True)
        turned = self.case.layout[1] == "t"
        w = self._matrix((len(rows) * (n if turned else k), k if turned else n), False).view(len(rows), n if turned else k, -1)
        w = w.transpose(1, 2) if turned else w
        self.joined = x, w, out
        self.a, self.b, self.d = list(x.split(rows)), list(w.unbind()), list(out.split(rows))

    def _ragged_k(self) -> None:
        m, n, _ = self.case.groups[0]
        depths = [k for _, _, k in self.case.groups]
        x, y = self._matrix((m, sum(depths)), True), self._matrix((sum(depths), n), False)
        out = self._matrix((len(depths) * m, n), False, output=True).view(len(depths), m, n)
        self.joined = x, y, out
        self.a, self.b, self.d = list(x.split(depths, 1)), list(y.split(depths)), list(out.unbind())

    def _scale(self) -> None:
        """Positive numbers, as evenly below 1 as above."""
        if self.case.groups and self.axis != "m":
            raise NotImplementedError("scales of groups that do not differ in m alone")

        def numbers(*shape: int) -> Any:
            return torch.exp2(4 * torch.rand(shape, generator=self._random, device=self.device) - 2)

        _, n, k = self.case.problems[0]
        count, rows = len(self.case.problems), [m for m, _, _ in self.case.problems]
        if self.case.scaling == "tensor":
            a, b = numbers(1).squeeze(), numbers(1).squeeze()
            self.scale_a, self.scale_b = [a] * count, [b] * count
        else:
            block = self.case.scaling == "block"
            a = numbers(-(-k // SCALED) if block else 1, sum(rows)).t()
            b = numbers(count, -(-n // SCALED), -(-k // SCALED)).transpose(1, 2) if block else numbers(count, 1, n)
            self.scale_a, self.scale_b = list(a.split(rows)), list(b.unbind())
            b = b if self.case.groups else b[0]
        self.scales = a, b

    def ends(self) -> Any:
        """Where each group ends along the ragged axis."""
        at = {"m": 0, "k": 2}[self.axis or "m"]
        return torch.tensor([sizes[at] for sizes in self.case.groups], device=self.device).cumsum(0, dtype=torch.int32)

    def poison(self) -> None:
        for d in self.d:
            d.fill_(math.nan if d.is_floating_point() else -(2**31))

    def wrong(self, results: Sequence[Any] | None = None) -> str | None:
        """What is wrong with D, or with results in its place, against float64; None if nothing is. Rows of some groups are looked at."""
        draw = random.Random(7)
        groups = [g for g, (m, n, _) in enumerate(self.case.problems) if m and n]
        for g in sorted(draw.sample(groups, min(CHECKED_GROUPS, len(groups)))):
            m, _, k = self.case.problems[g]
            rows = sorted(draw.sample(range(m), min(CHECKED_ROWS, m)))
            fault = self._wrong_rows((results or self.d)[g], g, rows, k)
            if fault:
                return fault
        return None

    def _wrong_rows(self, d: Any, g: int, rows: list[int], k: int) -> str | None:
        def wide(matrix: Any) -> Any:  # fp8 tensors cannot be indexed, but cut
            return torch.cat([matrix[row : row + 1].to(torch.float64) for row in rows])

        a, b, found = wide(self.a[g]), self.b[g].to(torch.float64), wide(d)
        if self.scales:
            scale_a, scale_b = self.scale_a[g], self.scale_b[g]
            a, b = scaled(a, scale_a[rows] if scale_a.ndim else scale_a), scaled(b, scale_b)
        right = a @ b
        off = ~((found - right).abs() <= self._bound(a, b, right, d.dtype, k))
        if not off.any():
            return None
        i, j = off.nonzero()[0].tolist()
        where = f"group {g}, " if self.case.groups else ""
        return f"{where}element ({rows[i]}, {j}) is {found[i, j].item()}, must be {right[i, j].item()}"

    def _bound(self, a: Any, b: Any, right: Any, output: torch.dtype, k: int) -> Any:
        """Rounding of the sums and of the result, element by element; nothing for integers."""
        if output not in ROUNDING:
            return torch.zeros_like(right)
        unit, least = ROUNDING[output]
        sums = 2.0**-52 if self.case.dtype == "f64" else 2.0**-23
        share = (k + 2) * sums / (1 - (k + 2) * sums)
        whole = min(k, SCALED) if self.case.scaling == "block" else k  # products that are summed at once
        share += {"tf32": 2.0**-9, "e4m3": 4 * math.sqrt(whole / 32) * 2.0**-13}.get(self.case.dtype, 0.0)  # inputs' rounding; sums of 14 bits
        return share * (a.abs() @ b.abs()) + unit * right.abs() + least


def scaled(matrix: Any, scales: Any) -> Any:
    """The matrix times its scales, which are one number, or fewer than its elements along an axis by SCALED or to 1."""
    for axis, length in enumerate(matrix.shape):
        if scales.ndim and 1 < scales.shape[axis] < length:
            scales = scales.repeat_interleave(SCALED, axis).narrow(axis, 0, length)
    return matrix * scales


def strides_of(matrices: Sequence[Any], index: int, device: str) -> Any:
    """A number if the matrices have the same stride, else one for each in device memory."""
    strides = [matrix.stride(index) for matrix in matrices]
    return strides[0] if len(set(strides)) == 1 else torch.tensor(strides, dtype=torch.int64, device=device)


def addresses_of(matrices: Sequence[Any], device: str) -> Any:
    return torch.tensor([matrix.data_ptr() for matrix in matrices], dtype=torch.int64, device=device)


def mean_size(groups: Sequence[Size]) -> Size:
    m, n, k = (max(1, round(sum(sizes) / len(groups))) for sizes in zip(*groups))
    return m, n, k

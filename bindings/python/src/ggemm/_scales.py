# SPDX-License-Identifier: Apache-2.0
"""Scales of A and B: their kinds, told from the shapes of their arrays."""
from __future__ import annotations

import dataclasses
from typing import Any, Literal, Union

from . import native
from ._arguments import one_of
from ._arrays import F32, NAMES, Array, extents, packed_strides
from ._errors import ArgumentError

BLOCK = 128
Kind = Literal["tensor", "vector", "1x128", "128x128"]
KINDS: dict[str, int] = {"tensor": native.SCALE_TENSOR, "vector": native.SCALE_VECTOR, "1x128": native.SCALE_BLOCK_1X128,
                         "128x128": native.SCALE_BLOCK_128X128}
PACKED = native.packed_stride()


@dataclasses.dataclass(frozen=True)
class Scale:
    """Scales of which the kind is said, where the shape alone would leave it open (or, of `Pointers`, does not say it).

    values: an f32 array, or `Pointers`. kind: "tensor" (one number), "vector" (one a row of A, a column of B), "1x128" (one for each 128 of k of a row of A,
    of a column of B) or "128x128" (one for each square block).
    aligned: of ragged groups that all begin at multiples of 128: blocks lie as in one matrix, with no room for partial ones between the groups.
    """

    values: Any
    kind: Kind | None = None
    aligned: bool = False
    holds_arrays = True  # so that no call takes it for one

    def __post_init__(self) -> None:
        if self.kind is not None:
            one_of("kind", self.kind, KINDS)


Scales = Union[Scale, Any]  # what scale_a and scale_b take: an array, a list of them, or a Scale


def unwrapped(scale: Scales) -> Any:
    """The array of it."""
    return scale.values if isinstance(scale, Scale) else scale


def of_kind(name: str, scale: Scales, planned: int) -> Any:
    """The array of what a plan is called with; raises if it says another kind than the plan's. Shapes alone may fit several."""
    if isinstance(scale, Scale) and scale.kind is not None and KINDS[scale.kind] != planned:
        made_for = next((f"scales of kind {kind!r}" for kind, number in KINDS.items() if number == planned), "no scales")
        raise ArgumentError(f"{name} is of kind {scale.kind!r}, but the plan was made for {made_for}")
    return unwrapped(scale)


def blocks(size: int) -> int:
    return -(-size // BLOCK)


def check_f32(name: str, array: Array) -> None:
    if array.dtype != F32:
        raise ArgumentError(f"{name} is {NAMES[array.dtype]}: scales are f32")


def find_kind(name: str, shape: tuple[int, int], kind: str | None, along: tuple[int, int], deep: int) -> str:
    """The kind of a matrix of scales. shape: its sizes along the operand's rows (columns of B), and along k. along: how many it has there with one a row,
    and with one a block; deep: with one a block of k."""
    shapes = {"vector": (along[0], 1), "1x128": (along[0], deep), "128x128": (along[1], deep)}
    found = next((known for known, expected in shapes.items() if kind in (None, known) and shape == expected), None)
    if found is None:
        wanted = ", ".join(f"{known}: {extents(oriented(name, *expected))}" for known, expected in shapes.items() if kind in (None, known))
        raise ArgumentError(f"{name} is {extents(oriented(name, *shape))}, which is no scale of this problem ({wanted})")
    return found


def oriented(name: str, along: Any, deep: Any) -> tuple[Any, Any]:
    """Rows and columns of what lies along A's rows, or along B's columns, and along k."""
    return (deep, along) if name == "scale_b" else (along, deep)


def plain_strides(name: str, along: tuple[int, int], deep: tuple[int, int]) -> tuple[int, int]:
    """(row, column) strides as the C interface wants them, of (size, stride) along the operand and along k."""
    (rows, row), (cols, col) = oriented(name, along, deep)
    if rows == 0 or cols == 0:
        return PACKED, PACKED
    if cols == 1:
        col = 1
    if rows == 1:
        row = 0 if col != 1 else cols
    return (PACKED, PACKED) if (row, col) == packed_strides((rows, cols)) else (row, col)


def plain_scale(name: str, array: Array, kind: str | None, size: int, k: int) -> tuple[int, int, int]:
    """(kind, row stride, column stride) of the scales of A, or of B, with `size` rows or columns."""
    check_f32(name, array)
    if array.ndim > 2:
        raise ArgumentError(f"{name} has {array.ndim} dimensions: 2 at most")
    if kind == "tensor" or (kind is None and all(n == 1 for n in array.shape)):
        if any(n != 1 for n in array.shape):
            raise ArgumentError(f"{name} is {extents(array.shape)}: of a tensor it is one number")
        return native.SCALE_TENSOR, PACKED, PACKED
    if array.ndim == 1:  # one a row, or a column
        along, deep = (array.shape[0], array.strides[0]), (1, 1)
    elif array.ndim == 2:
        along, deep = oriented(name, *zip(array.shape, array.strides))
    else:
        along = deep = (1, 1)
    found = find_kind(name, (along[0], deep[0]), kind, (size, blocks(size)), blocks(k))
    return (KINDS[found], *plain_strides(name, along, deep))

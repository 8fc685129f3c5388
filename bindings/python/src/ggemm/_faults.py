# SPDX-License-Identifier: Apache-2.0
"""What checked mode finds wrong with the numbers and pointers of groups in device memory."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import native
from ._arguments import INT32, integer_tuple
from ._errors import ArgumentError

_WHAT = {
    "size": "a size or count is below 0 or above the room, or n is odd with a gate",
    "end": "it ends before it begins, or above the size in all",
    "null": "a pointer that is followed is NULL",
    "align": "a pointer is not a multiple of its element's size",
    "stride": "elements of D coincide: a stride is 0, or too short for the rows or columns that it leads over",
    "span": "a matrix spans 2^63 bytes or more",
    "index": "an index is not below the number of rows",
}
_KINDS = {native.FAULT_SIZE: "size", native.FAULT_END: "end", native.FAULT_NULL: "null", native.FAULT_ALIGN: "align", native.FAULT_STRIDE: "stride",
          native.FAULT_SPAN: "span", native.FAULT_INDEX: "index"}
_FIELDS = ("", "m", "n", "k", "a", "b", "c", "d", "bias", "scale_a", "scale_b")
_FLIPPED = {"m": "n", "n": "m", "a": "b", "b": "a", "scale_a": "scale_b", "scale_b": "scale_a"}


class Fault(NamedTuple):
    """The first thing that checked mode found; `str(fault)` says it."""

    kind: str  #: "size", "end", "null", "align", "stride", "span" or "index"
    group: int  #: the lowest that is wrong
    field: str  #: "m", "n", "k", "a", "b", "c", "d", "bias", "scale_a" or "scale_b"
    row: int  #: of an index: the row in the groups' order

    def __str__(self) -> str:
        where = f"{self.field}_index[{self.row}], group {self.group}" if self.kind == "index" else f"{self.field} of group {self.group}"
        return f"{where}: {_WHAT[self.kind]}"

    @staticmethod
    def read(status: Any) -> Fault | None:
        """What a call with `checked=status` left in that int32 array [4]; None for nothing. Waits for the array's device."""
        return found_fault(status, False)


def found_fault(status: Any, flipped: bool) -> Fault | None:
    numbers = integer_tuple("status", status.tolist() if hasattr(status, "tolist") else status, (4,), "it must be int32 [4]", INT32)
    fault, group, field, row = numbers
    if fault == native.FAULT_NONE:
        return None
    if fault not in _KINDS or not 0 <= field < len(_FIELDS):
        raise ArgumentError(f"status={list(numbers)} is nothing that checked mode leaves")
    name = _FIELDS[field]
    return Fault(_KINDS[fault], group, _FLIPPED.get(name, name) if flipped else name, row)

# SPDX-License-Identifier: Apache-2.0
"""What all forms of grouped products share: arguments, pointers, and the description under construction."""
from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Sequence

import numpy as np

from . import _native, native
from ._arguments import SIZE, integer, integer_tuple, one_of
from ._arrays import F32, HOST, I32, I64, NAMES, Array, allocator, device_name, dtype_number, read
from ._context import context_for
from ._errors import ArgumentError
from ._problem import PACKED, Problem, Settings, apply_settings
from ._scales import Scales


@dataclasses.dataclass(frozen=True)
class Pointers:
    """The matrices of all groups, as a device array of their addresses.

    addresses: [groups] int64 or uint64, on the device. dtype: of the matrices' elements.
    row_stride, col_stride: elements; None for packed row-major; a number, or an int32 or int64 array [groups] of any stride, read when the product runs.
    axis: of a bias: "column" for one element a column, "row" for one a row.
    shape: (rows, columns) of each, where it stands among arrays, whose shapes say the sizes.
    """

    addresses: Any
    dtype: Any
    row_stride: Any = None
    col_stride: Any = None
    axis: str = "column"
    shape: tuple[int, int] | None = None
    holds_arrays = True  # so that no call takes it for one

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "shape", integer_tuple("shape", self.shape, (2,), "rows and columns are wanted", SIZE))

    def strides(self) -> tuple[Any, Any]:
        return (PACKED if self.row_stride is None else self.row_stride, PACKED if self.col_stride is None else self.col_stride)


class Operands(NamedTuple):
    """The arrays of a grouped product, as the caller gives them."""

    a: Any
    b: Any
    c: Any = None
    bias: Any = None
    out: Any = None
    scale_a: Scales = None
    scale_b: Scales = None
    ends: Any = None
    counts: Any = None
    sizes: Any = None
    a_index: Any = None
    d_index: Any = None
    d_index_unique: bool = False
    row_weights: Any = None
    expected: Sequence[int] | None = None
    checked: Any = None


_FLIPPED = {"a": "b", "b": "a", "scale_a": "scale_b", "scale_b": "scale_a"}
BIAS_KINDS = {"column": native.BIAS_PER_COLUMN, "row": native.BIAS_PER_ROW}
OTHER_BIAS = {native.BIAS_PER_COLUMN: native.BIAS_PER_ROW, native.BIAS_PER_ROW: native.BIAS_PER_COLUMN, native.BIAS_NONE: native.BIAS_NONE}


class Call:
    """A description under construction, and the arguments of one call.

    flipped: of columns that are ragged, which the C interface does not know, the product of the transposed matrices is described, whose rows are.
    """

    def __init__(self, like: Any, device: int, groups: int, form: int = native.GROUPS_POINTERS, flipped: bool = False) -> None:
        self.like, self.device, self.groups, self.flipped = like, device, groups, flipped
        self.desc, self.args = native.grouped_desc(), native.grouped_args()
        self.desc.groups, self.desc.form = groups, form
        self.keep: list[Array] = []  # whose addresses were taken
        self.dtypes: dict[str, int] = {}
        self.arrays: dict[str, Array] = {}  # the arguments by name: matrices, or arrays of addresses
        self.memory: list[tuple[str, Array]] = []  # what is read and written, with the names that the caller knows; not what addresses lead to
        self.bias_kind = native.BIAS_NONE
        self.out: Any = None
        self.status: Any = None

    def field(self, name: str) -> str:
        """What the C interface calls an operand."""
        name = _FLIPPED.get(name, name) if self.flipped else name
        return {"out": "d"}.get(name, name)

    def on_device(self, name: str, array: Array) -> None:
        if array.device != self.device:
            raise ArgumentError(f"{name} is on {device_name(array.device)}, the products are on {device_name(self.device)}")

    def place(self, name: str, array: Array) -> None:
        """The memory of an argument."""
        self.arrays[name] = array
        self.keep.append(array)
        if array.dtype != I64:
            self.memory.append((name, array))
        setattr(self.args, self.field(name), array.data or None)

    # ------------------------------------------------------------------------------------------------------------ numbers of groups
    def source(self, name: str, value: Any, count: int | None = None) -> Any:
        """A number for all groups, or an array (or what was read of it) of one number a group (of `count`)."""
        if isinstance(value, (int, np.integer)):
            return getattr(native, "const")(integer(name, value))
        count = self.groups if count is None else count
        array = value if isinstance(value, Array) else read(name, value)
        if array.dtype not in (I32, I64) or array.shape != (count,):
            raise ArgumentError(f"{name} is {NAMES[array.dtype]} of shape {list(array.shape)}: it must be int32 or int64 [{count}]")
        self.on_device(name, array)
        self.keep.append(array)
        size = 8 if array.dtype == I64 else 4
        return (native.i64_at if size == 8 else native.i32_at)(array.data, array.strides[0] * size)

    def sizes(self, m: Any, n: Any, k: Any) -> None:
        for name, value in (("m", m), ("n", n), ("k", k)):
            setattr(self.desc, name, self.source(name, value))

    # --------------------------------------------------------------------------------------------------------------------- pointers
    def addresses(self, name: str, value: Any) -> Array:
        array = read(name, value)
        if array.dtype != I64 or array.shape != (self.groups,) or (self.groups > 1 and array.strides != (1,)):
            raise ArgumentError(f"{name}'s addresses are {NAMES[array.dtype]} of shape {list(array.shape)}: they must be int64 [{self.groups}], "
                                "one after the other")
        self.on_device(f"{name}'s addresses", array)
        return array

    def pointers(self, name: str, dtype: int, addresses: Any, row: Any = PACKED, col: Any = PACKED) -> None:
        """Pointers and strides of an operand or of scales; a bias has no strides."""
        self.dtypes[name] = dtype
        if name == "bias":
            self.desc.bias_pointers = 1
        else:
            matrix = getattr(self.desc, self.field(name))
            if name not in ("scale_a", "scale_b"):
                matrix.dtype = dtype
            matrix.pointers = 1
            if self.flipped:
                row, col = col, row
            matrix.row_stride, matrix.col_stride = self.source(f"{name}'s row_stride", row), self.source(f"{name}'s col_stride", col)
        if addresses is not None:
            self.place(name, self.addresses(name, addresses))

    def bias_pointers(self, bias: Pointers) -> None:
        self.bias_kind = one_of("bias's axis", bias.axis, BIAS_KINDS)
        self.pointers("bias", dtype_number(bias.dtype, "bias's dtype"), bias.addresses)

    # ------------------------------------------------------------------------------------------------------------------ checked mode
    def check(self, checked: Any, allocate: bool) -> None:
        """Checked mode, if it is asked for; on the CPU it costs next to nothing, and is the default."""
        if checked is None:
            checked = self.device == HOST
        if checked is False:
            return
        self.desc.checked = 1
        if not allocate and checked is True:
            return
        status = checked if checked is not True else np.empty(4, np.int32) if self.device == HOST else allocator(self.like, (4,), I32, self.device)()
        array = read("checked", status)
        if array.dtype != I32 or array.shape != (4,) or array.strides != (1,):
            raise ArgumentError(f"checked is {NAMES[array.dtype]} of shape {list(array.shape)}: True, False, or an int32 array [4] for what is found")
        self.on_device("checked", array)
        self.place("status", array)
        self.status = status if checked is True else None

    def weights(self, row_weights: Any, rows: int) -> None:
        if row_weights is None:
            return
        array = read("row_weights", row_weights)
        if array.dtype != F32 or array.shape != (rows,) or (rows > 1 and array.strides != (1,)):
            raise ArgumentError(f"row_weights is {NAMES[array.dtype]} of shape {list(array.shape)}: it must be f32 [{rows}], one after the other")
        self.on_device("row_weights", array)
        self.place("row_weights", array)

    def problem(self, settings: Settings) -> Problem:
        kind = OTHER_BIAS[self.bias_kind] if self.flipped else self.bias_kind
        apply_settings(self.desc, settings, self.dtypes.get("bias", 0), kind)
        return Problem(context_for(self.device, settings.context), self.desc, True, self.keep, self.flipped)


def element_size(dtype: int) -> int:
    return int(_native.dtype_size(dtype))

# SPDX-License-Identifier: Apache-2.0
"""Lists, ragged arrays, batches and arrays of pointers, all brought to the one form of the C interface: device arrays of pointers."""
from __future__ import annotations

import dataclasses
from typing import Any, Sequence

import numpy as np

from . import _native, native
from ._arrays import HOST, I32, I64, NAMES, Array, allocator, device_name, dtype_number, indices, integers, read, read_all
from ._context import context_for
from ._errors import ArgumentError
from ._problem import (PACKED, Problem, Settings, apply_settings, bias_kind, check_element_types, check_shape, output_dtype, same_device, sizes_of,
                       strides_of)


@dataclasses.dataclass(frozen=True)
class Pointers:
    """The matrices of all groups, as a device array of their addresses.

    addresses: [groups] int64 or uint64, on the device. dtype: of the matrices' elements.
    row_stride, col_stride: elements; None for packed row-major; a number, or an int32 or int64 array [groups] of any stride, read when the product runs.
    axis: of a bias: "column" for one element a column, "row" for one a row.
    """

    addresses: Any
    dtype: Any
    row_stride: Any = None
    col_stride: Any = None
    axis: str = "column"


class Call:
    """A description under construction, and the arguments of one call."""

    def __init__(self, like: Any, device: int, groups: int) -> None:
        self.like, self.device, self.groups = like, device, groups
        self.desc, self.args = native.grouped_desc(), native.grouped_args()
        self.desc.groups = groups
        self.keep: list[Any] = []  # arrays whose addresses were taken
        self.dtypes: dict[str, int] = {}
        self.out: Any = None

    def source(self, name: str, value: Any) -> Any:
        """A number for all groups, or an array of one number a group."""
        if isinstance(value, (int, np.integer)):
            return getattr(native, "const")(int(value))
        array = read(name, value)
        if array.dtype not in (I32, I64) or array.shape != (self.groups,):
            raise ArgumentError(f"{name} is {NAMES[array.dtype]} of shape {list(array.shape)}: it must be int32 or int64 [{self.groups}]")
        if array.device != self.device:
            raise ArgumentError(f"{name} is on {device_name(array.device)}, the products are on {device_name(self.device)}")
        self.keep.append(value)
        size = 8 if array.dtype == I64 else 4
        return (native.i64_at if size == 8 else native.i32_at)(array.data, array.strides[0] * size)

    def sizes(self, m: Any, n: Any, k: Any) -> None:
        for name, value in (("m", m), ("n", n), ("k", k)):
            setattr(self.desc, name, self.source(name, value))

    def operand(self, name: str, dtype: int, addresses: Any, row: Any = PACKED, col: Any = PACKED) -> None:
        """Pointers and strides of one operand; `bias` has no strides."""
        self.dtypes[name] = dtype
        if name != "bias":
            matrix = getattr(self.desc, {"out": "d"}.get(name, name))
            matrix.dtype = dtype
            matrix.row_stride, matrix.col_stride = self.source(f"{name}'s row_stride", row), self.source(f"{name}'s col_stride", col)
        if addresses is not None:
            array = read(name, addresses)
            if array.dtype != I64 or array.shape != (self.groups,) or (self.groups > 1 and array.strides != (1,)):
                raise ArgumentError(f"{name}'s addresses are {NAMES[array.dtype]} of shape {list(array.shape)}: they must be int64 [{self.groups}], "
                                    "one after the other")
            if array.device != self.device:
                raise ArgumentError(f"{name}'s addresses are on {device_name(array.device)}, the products are on {device_name(self.device)}")
            self.keep.append(addresses)
            setattr(self.args, {"out": "d"}.get(name, name), array.data or None)

    def problem(self, settings: Settings, kind: int) -> Problem:
        apply_settings(self.desc, settings, self.dtypes.get("bias", 0), kind)
        return Problem(settings.context or context_for(self.device), self.desc, True, self.keep)


# ---------------------------------------------------------------------------------------------------------------------------- lists
def _common(values: list[int]) -> int | None:
    return values[0] if all(value == values[0] for value in values) else None


def _from_lists(a: Sequence[Any], b: Sequence[Any], c: Any, bias: Any, out: Any, settings: Settings, allocate: bool) -> tuple[Call, int]:
    groups = len(a)
    members: dict[str, Sequence[Any]] = {"a": a, "b": b}
    members.update({name: arrays for name, arrays in (("c", c), ("bias", bias), ("out", out)) if arrays is not None})
    for name, arrays in members.items():
        if not isinstance(arrays, (list, tuple)) or len(arrays) != groups:
            raise ArgumentError(f"{name} is {f'of {len(arrays)}' if isinstance(arrays, (list, tuple)) else 'no list of'} groups, a is of {groups}")
    if not groups:
        raise ArgumentError("a is an empty list, which has neither dtype nor device")
    parts = {name: [read(f"{name}[{g}]", array) for g, array in enumerate(arrays)] for name, arrays in members.items()}
    device = same_device({f"{name}[{g}]": array for name, arrays in parts.items() for g, array in enumerate(arrays)})
    for name, arrays in parts.items():
        check_element_types({f"{name}[{g}]": array for g, array in enumerate(arrays)})
        for g, array in enumerate(arrays):
            if array.dtype != arrays[0].dtype:
                raise ArgumentError(f"{name}[{g}] is {NAMES[array.dtype]}, {name}[0] is {NAMES[arrays[0].dtype]}: all groups have one dtype")
    sizes = []
    for g in range(groups):
        try:
            m, n, k = sizes_of(parts["a"][g], parts["b"][g])
        except ArgumentError as error:
            raise ArgumentError(f"group {g}: {error}") from None
        sizes.append((m, n, k))
        for name in ("c", "out"):
            if name in parts:
                check_shape(f"{name}[{g}]", parts[name][g], (m, n), f"D of group {g}")
    kind = bias_kind([(array, m, n) for array, (m, n, _) in zip(parts["bias"], sizes)]) if bias is not None else native.BIAS_NONE
    dtype = output_dtype(parts["a"][0].dtype, parts["b"][0].dtype, settings.dtype, parts["out"][0] if out is not None else None)
    if out is None:
        if allocate:
            out = [allocator(a[0], (m, n), dtype, device)() for m, n, _ in sizes]
            parts["out"] = [read("out", array) for array in out]
        else:
            parts["out"] = [Array(0, dtype, device, 0, 2, (m, n), (n, 1)) for m, n, _ in sizes]
    return _upload(a[0], device, sizes, parts, out), kind


def _upload(like: Any, device: int, sizes: list[tuple[int, int, int]], parts: dict[str, list[Array]], out: Any) -> Call:
    """All numbers of the groups in one int64 array on the device."""
    groups = len(sizes)
    call = Call(like, device, groups)
    rows: list[list[int]] = []

    def row_of(values: list[int]) -> int:
        rows.append(values)
        return len(rows) - 1

    # A constant where all groups agree: the kernels are made for strides of 1 that they know.
    plan: list[tuple[str, Any]] = []
    for i, name in enumerate("mnk"):
        values = [size[i] for size in sizes]
        same = _common(values)
        plan.append((name, same if same is not None else (row_of(values),)))
    layouts: dict[str, list[Any]] = {}
    for name, arrays in parts.items():
        strides = [strides_of(array.shape, array.strides) if name != "bias" else (PACKED, PACKED) for array in arrays]
        if any(stride != (PACKED, PACKED) for stride in strides):
            strides = [(row, col) if row != PACKED else (max(array.shape[1], 1), 1) for (row, col), array in zip(strides, arrays)]
        layouts[name] = []
        for axis in (0, 1):
            values = [stride[axis] for stride in strides]
            same = _common(values)
            layouts[name].append(same if same is not None else (row_of(values),))
        layouts[name].append(row_of([array.data for array in arrays]))
    table = integers(like, [value for row in rows for value in row], device).reshape(len(rows), groups)

    def resolve(value: Any) -> Any:
        return table[value[0]] if isinstance(value, tuple) else value

    call.sizes(*(resolve(value) for _, value in plan))
    for name, (row, col, pointers) in layouts.items():
        call.operand(name, parts[name][0].dtype, table[pointers], resolve(row), resolve(col))
    call.desc.expected_m, call.desc.expected_n, call.desc.expected_k = (-(-sum(size[i] for size in sizes) // groups) for i in range(3))
    call.out = out
    return call


# ------------------------------------------------------------------------------------------------------- ragged arrays and batches
def _starts(ends: Array | None, given: Any, a: Array, like: Any, groups: int, total: int) -> tuple[Any, Any]:
    """Where each group starts, and how many it has, as int64 on the device."""
    assert ends is not None
    if ends.dtype not in (I32, I64) or ends.ndim != 1:
        raise ArgumentError(f"ends is {NAMES[ends.dtype]} of {ends.ndim} dimensions: it must be int32 or int64 [groups]")
    if ends.device != a.device:
        raise ArgumentError(f"ends is on {device_name(ends.device)}, a is on {device_name(a.device)}")
    if a.device == HOST:
        given = np.asarray(given)
        before = 0
        for g, end in enumerate(given.tolist()):
            if not before <= end <= total:
                raise ArgumentError(f"ends[{g}]={end}: it must be from {before}, where the group starts, to {total}, the rows there are")
            before = end
    bounds = indices(like, groups + 1, a.device)  # of which the first, 0, stays
    bounds[1:] = given
    return bounds[:-1], bounds[1:] - bounds[:-1]


def _from_arrays(a: Any, b: Any, c: Any, bias: Any, out: Any, ends: Any, settings: Settings, allocate: bool) -> tuple[Call, int]:
    given = read_all(a=a, b=b, c=c, bias=bias, out=out)
    device = same_device(given)
    check_element_types(given)
    x, w = given["a"], given["b"]
    if x.ndim not in (2, 3) or w.ndim not in (2, 3):
        raise ArgumentError(f"a has {x.ndim} dimensions and b {w.ndim}: each has 2, or 3 with the groups first")
    (m, k), (k_of_b, n) = x.shape[-2:], w.shape[-2:]
    if k != k_of_b:
        raise ArgumentError(f"k differs: A is {m}x{k} (k={k}), B is {k_of_b}x{n} (k={k_of_b})")
    ragged = {(2, 3): "m", (3, 2): "n", (2, 2): "k", (3, 3): None}[x.ndim, w.ndim]
    if (ragged is None) != (ends is None):
        raise ArgumentError("ends is given, but both a and b have a dimension of groups" if ragged is None else
                            f"ends is missing: it says where each group ends along {ragged}")
    bounds = read("ends", ends) if ends is not None else None
    groups = x.shape[0] if x.ndim == 3 else w.shape[0] if w.ndim == 3 else bounds.shape[0]  # type: ignore[union-attr]
    for name, count in (("b", w.shape[0] if w.ndim == 3 else groups), ("ends", bounds.shape[0] if bounds and bounds.ndim else groups)):
        if count != groups:
            raise ArgumentError(f"{name} has {count} groups, a has {groups}" if x.ndim == 3 else f"{name} has {count} groups, b has {groups}")
    shape = (m, n) if ragged in ("m", "n") else (groups, m, n)
    dtype = output_dtype(x.dtype, w.dtype, settings.dtype, given.get("out"))
    for name in ("c", "out"):
        if name in given:
            check_shape(name, given[name], shape, "D")
    if out is None and allocate:
        out = allocator(a, shape, dtype, device)()
    given["out"] = read("out", out) if out is not None else Array(0, dtype, device, 0, len(shape), shape, (*((m * n,) if len(shape) == 3 else ()), n, 1))

    call = Call(a, device, groups)
    call.out = out
    group = indices(a, groups, device)
    starts, counts = _starts(bounds, ends, x, a, groups, {"m": m, "n": n, "k": k}[ragged]) if ragged else (group, None)
    size = {"m": m, "n": n, "k": k}
    call.sizes(*(counts if name == ragged else value for name, value in size.items()))
    mean = -(-size[ragged] // max(groups, 1)) if ragged else 0
    for name, value in size.items():
        setattr(call.desc, f"expected_{name}", mean if name == ragged else value)
    # Along which axis of an operand without a dimension of groups they follow each other.
    axis_of = {"m": {"a": 0, "c": 0, "out": 0}, "n": {"b": 1, "c": 1, "out": 1}, "k": {"a": 1, "b": 0}}.get(ragged or "", {})
    kind = native.BIAS_NONE
    for name, array in given.items():
        element = int(_native.dtype_size(array.dtype))
        if name == "bias":
            kind = _array_bias(call, array, groups, group, m, n, ragged)
            continue
        step, index = (array.strides[0], group) if array.ndim == 3 else (array.strides[axis_of[name]], starts)
        call.operand(name, array.dtype, index * (step * element) + array.data, *_own_strides(array))
    return call, kind


def _own_strides(array: Array) -> tuple[int, int]:
    """The strides of a group's matrix as numbers, for it may be a part of a wider one."""
    row, col = strides_of(array.shape[-2:], array.strides[-2:])
    return (max(array.shape[-1], 1), 1) if row == PACKED or 0 in array.shape else (row, col)


def _array_bias(call: Call, bias: Array, groups: int, group: Any, m: int, n: int, ragged: str | None) -> int:
    """[groups, n] or [groups, 1, n]: one a column, for each group its own; [n]: the same for all. [groups, m, 1]: one a row."""
    shape, kind = bias.shape, native.BIAS_PER_COLUMN
    if ragged != "n" and shape in ((n,), (groups, n), (groups, 1, n)):
        step = bias.strides[0] if bias.ndim > 1 else 0
    elif ragged != "m" and shape == (groups, m, 1):
        step, kind = bias.strides[0], native.BIAS_PER_ROW
    else:
        raise ArgumentError(f"bias is {'x'.join(map(str, shape))}: it must be [n], [groups, n] or [groups, m, 1], along a size that is not ragged; "
                            f"groups={groups}, m={m}, n={n}")
    axis = 1 if kind == native.BIAS_PER_ROW else bias.ndim - 1
    if shape[axis] > 1 and bias.strides[axis] != 1:
        raise ArgumentError(f"bias has a stride of {bias.strides[axis]} elements: its elements must follow each other")
    call.operand("bias", bias.dtype, group * (step * int(_native.dtype_size(bias.dtype))) + bias.data)
    return kind


# -------------------------------------------------------------------------------------------------------------------------- pointers
def _from_pointers(a: Pointers, b: Pointers, c: Any, bias: Any, out: Any, sizes: Any, settings: Settings) -> tuple[Call, int]:
    operands = {"a": a, "b": b, "c": c, "bias": bias, "out": out}
    for name, operand in operands.items():
        if not isinstance(operand, Pointers) and (operand is not None or name == "out"):
            raise ArgumentError(f"{name} is a {type(operand).__name__}: with a in Pointers, all operands and out are Pointers")
    if sizes is None:
        raise ArgumentError("sizes is missing: an array [groups, 3] of m, n and k, or (m, n, k), each a number or an array [groups]")
    addresses = read("a", a.addresses)
    if addresses.ndim != 1:
        raise ArgumentError(f"a's addresses have {addresses.ndim} dimensions: they must be int64 [groups]")
    call = Call(a.addresses, addresses.device, addresses.shape[0])
    call.out = out
    if isinstance(sizes, tuple):
        if len(sizes) != 3:
            raise ArgumentError(f"sizes has {len(sizes)} entries: (m, n, k), each a number or an array [groups]")
        call.sizes(*sizes)
    else:
        table = read("sizes", sizes)
        if table.ndim != 2 or table.shape[1] != 3:
            raise ArgumentError(f"sizes has shape {list(table.shape)}: it must be [groups, 3]")
        call.sizes(sizes[:, 0], sizes[:, 1], sizes[:, 2])
    for name, operand in operands.items():
        if operand is not None:
            strides = [PACKED if stride is None else stride for stride in (operand.row_stride, operand.col_stride)]
            call.operand(name, dtype_number(operand.dtype, f"{name}'s dtype"), operand.addresses, *strides)
    kinds = {"column": native.BIAS_PER_COLUMN, "row": native.BIAS_PER_ROW}
    if bias is not None and bias.axis not in kinds:
        raise ArgumentError(f"bias's axis={bias.axis!r} is neither 'column' nor 'row'")
    return call, kinds[bias.axis] if bias is not None else native.BIAS_NONE


def describe(a: Any, b: Any, c: Any, bias: Any, out: Any, ends: Any, sizes: Any, expected: Any, settings: Settings,
              allocate: bool = True) -> tuple[Call, Problem]:
    if isinstance(a, Pointers):
        call, kind = _from_pointers(a, b, c, bias, out, sizes, settings)
    elif isinstance(a, (list, tuple)):
        call, kind = _from_lists(a, b, c, bias, out, settings, allocate)
    else:
        call, kind = _from_arrays(a, b, c, bias, out, ends, settings, allocate)
    if expected is not None:
        call.desc.expected_m, call.desc.expected_n, call.desc.expected_k = expected
    return call, call.problem(settings, kind)

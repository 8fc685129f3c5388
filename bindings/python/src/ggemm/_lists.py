# SPDX-License-Identifier: Apache-2.0
"""Grouped products of lists and of arrays of pointers: the C interface's first form."""
from __future__ import annotations

import math
from typing import Any, NamedTuple, Sequence

from . import native
from ._arrays import F32, I64, NAMES, Array, allocator, dtype_number, extents, integers, read
from ._errors import ArgumentError
from ._groups import Call, Operands, Pointers, element_size
from ._problem import PACKED, Settings, bias_kind, check_element_types, check_shape, output_columns, output_dtype, same_device, sizes_of, strides_of
from ._scales import KINDS, Scale, plain_scale, unwrapped


class Member(NamedTuple):
    """An operand of one group."""

    data: int
    dtype: int
    row: int  # strides: both PACKED, or numbers
    col: int
    columns: int


def _member(name: str, array: Array) -> Member:
    row, col = strides_of(array.shape, array.strides) if name != "bias" else (PACKED, PACKED)
    return Member(array.data, array.dtype, row, col, array.shape[1] if array.ndim == 2 else 1)


def _common(values: list[int]) -> int | None:
    return values[0] if all(value == values[0] for value in values) else None


def from_lists(o: Operands, settings: Settings, allocate: bool) -> Call:
    a, out = o.a, o.out
    groups = len(a)
    for name in ("ends", "counts", "sizes", "a_index", "d_index", "row_weights"):
        if getattr(o, name) is not None:
            raise ArgumentError(f"{name} is given, but a is a list of matrices, which say their own sizes")
    given = {"a": a, "b": o.b, "c": o.c, "bias": o.bias, "out": out, "scale_a": unwrapped(o.scale_a), "scale_b": unwrapped(o.scale_b)}
    members: dict[str, Sequence[Any]] = {name: arrays for name, arrays in given.items() if arrays is not None}
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
    sizes = _sizes(parts, settings)
    shapes = [(m, output_columns(n, settings.gate)) for m, n, _ in sizes]
    scaled = "scale_a" in parts or "scale_b" in parts or settings.gate is not None
    dtype = output_dtype(parts["a"][0].dtype, parts["b"][0].dtype, settings.dtype, parts["out"][0] if out is not None else None, scaled)
    if out is None:
        if allocate:
            out = [allocator(a[0], shape, dtype, device)() for shape in shapes]
            parts["out"] = [read("out", array) for array in out]
        else:
            parts["out"] = [Array(0, dtype, device, 0, 2, (m, n), (n, 1)) for m, n in shapes]
    call = Call(a[0], device, groups)
    call.out = out
    call.memory = [(f"{name}[{g}]", array) for name, arrays in parts.items() for g, array in enumerate(arrays)]
    if o.out is not None:
        _check_outputs(parts)
    if "bias" in parts:
        call.bias_kind = bias_kind([(array, m, n) for array, (m, n, _) in zip(parts["bias"], sizes)])
    matrices = {name: [_member(name, array) for array in arrays] for name, arrays in parts.items() if not name.startswith("scale")}
    matrices |= {name: _scales(call, name, getattr(o, name), parts[name], sizes) for name in ("scale_a", "scale_b") if name in parts}
    _upload(call, sizes, matrices)
    call.check(o.checked, allocate)
    return call


def _sizes(parts: dict[str, list[Array]], settings: Settings) -> list[tuple[int, int, int]]:
    sizes = []
    for g, (a, b) in enumerate(zip(parts["a"], parts["b"])):
        try:
            m, n, k = sizes_of(a, b)
        except ArgumentError as error:
            raise ArgumentError(f"group {g}: {error}") from None
        sizes.append((m, n, k))
        for name in ("c", "out"):
            if name in parts:
                check_shape(f"{name}[{g}]", parts[name][g], (m, output_columns(n, settings.gate)), f"D of group {g}")
    return sizes


def _check_outputs(parts: dict[str, list[Array]]) -> None:
    """Raises where D meets itself or what else the call reads or writes, but for its own C. The library gets addresses on the device, and does not
    look."""
    spans = []
    for name, arrays in parts.items():
        for g, (array, out) in enumerate(zip(arrays, parts["out"])):
            if name == "out" and _meets_itself(array):
                raise ArgumentError(f"out[{g}] has strides {array.strides} at {extents(array.shape)}: elements of D must not coincide")
            own = name == "c" and (array.data, array.dtype, strides_of(array.shape, array.strides)) == (out.data, out.dtype, strides_of(out.shape, out.strides))
            if array.data and 0 not in array.shape and not own:
                spans.append((array.data, array.data + _solid_bytes(array), name == "out", f"{name}[{g}]"))
    ends, last = {False: 0, True: 0}, {False: "", True: ""}  # of all so far, and of D alone
    for begin, end, written, label in sorted(spans):
        against = not written
        if begin < ends[against]:
            raise ArgumentError(f"{label} and {last[against]} share memory: D must overlap nothing else, but may be its own group's C")
        for kind in {False, written}:
            if end > ends[kind]:
                ends[kind], last[kind] = end, label


def _meets_itself(array: Array) -> bool:
    """Whether two elements of a matrix share an address: with the strides' greatest common divisor g, (i, j) and (i + col / g, j - row / g) do."""
    (rows, cols), (row, col) = array.shape, array.strides
    g = math.gcd(row, col)
    return rows * cols > 1 and (g == 0 or (abs(col) // g < rows and abs(row) // g < cols))


def _solid_bytes(array: Array) -> int:
    """Bytes from the first element on that all are the array's: all of it, or one element, as columns of one buffer may well be an operand each."""
    step = 1
    for stride, size in sorted((stride, size) for stride, size in zip(array.strides, array.shape) if size > 1):
        if stride != step:
            return element_size(array.dtype)
        step *= size
    return step * element_size(array.dtype)


def _scales(call: Call, name: str, scale: Any, arrays: list[Array], sizes: list[tuple[int, int, int]]) -> list[Member]:
    """The scales of each group, which are of one kind."""
    kind = scale.kind if isinstance(scale, Scale) else None
    members, found = [], set()
    for g, (array, (m, n, k)) in enumerate(zip(arrays, sizes)):
        try:
            number, row, col = plain_scale(name, array, kind, m if name == "scale_a" else n, k)
        except ArgumentError as error:
            raise ArgumentError(f"group {g}: {error}") from None
        found.add(number)
        members.append(Member(array.data, F32, row, col, array.shape[1] if array.ndim == 2 else 1))
    if len(found) > 1:
        raise ArgumentError(f"{name} is of different kinds in the groups: Scale({name}, kind) says which one is meant")
    getattr(call.desc, name).kind = found.pop()
    return members


def _upload(call: Call, sizes: list[tuple[int, int, int]], parts: dict[str, list[Member]]) -> None:
    """All numbers of the groups in one int64 array on the device."""
    groups = len(sizes)
    rows: list[list[int]] = []

    # A constant where all groups agree: the kernels are made for strides of 1 that they know.
    def number(values: list[int]) -> Any:
        same = _common(values)
        return same if same is not None else (row_of(values),)

    def row_of(values: list[int]) -> int:
        rows.append(values)
        return len(rows) - 1

    numbers = [number([size[i] for size in sizes]) for i in range(3)]
    layouts: dict[str, tuple[Any, Any, int]] = {}
    for name, members in parts.items():
        strides = [(member.row, member.col) for member in members]
        if any(stride != (PACKED, PACKED) for stride in strides):
            strides = [(member.row, member.col) if member.row != PACKED else (max(member.columns, 1), 1) for member in members]
        layouts[name] = (number([row for row, _ in strides]), number([col for _, col in strides]), row_of([member.data for member in members]))
    table = integers(call.like, [value for row in rows for value in row], call.device).reshape(len(rows), groups)

    def resolve(value: Any) -> Any:
        return table[value[0]] if isinstance(value, tuple) else value

    call.sizes(*(resolve(value) for value in numbers))
    for name, (row, col, pointers) in layouts.items():
        call.pointers(name, parts[name][0].dtype, table[pointers], resolve(row), resolve(col))
    call.desc.expected_m, call.desc.expected_n, call.desc.expected_k = (-(-sum(size[i] for size in sizes) // groups) for i in range(3))
    call.desc.expected_largest_m = max(size[0] for size in sizes)


# -------------------------------------------------------------------------------------------------------------------------- pointers
def from_pointers(o: Operands, settings: Settings, allocate: bool) -> Call:
    operands = {"a": o.a, "b": o.b, "c": o.c, "out": o.out}
    for name, operand in {**operands, "bias": o.bias}.items():
        if not isinstance(operand, Pointers) and (operand is not None or name == "out"):
            raise ArgumentError(f"{name} is a {type(operand).__name__}: with a in Pointers, all operands and out are Pointers")
    for name in ("ends", "counts", "a_index", "d_index", "row_weights"):
        if getattr(o, name) is not None:
            raise ArgumentError(f"{name} is given, but a is Pointers without a shape")
    if o.sizes is None:
        raise ArgumentError("sizes is missing: an array [groups, 3] of m, n and k, or (m, n, k), each a number or an array [groups]")
    addresses = read("a", o.a.addresses)
    if addresses.ndim != 1:
        raise ArgumentError(f"a's addresses have {addresses.ndim} dimensions: they must be int64 [groups]")
    call = Call(o.a.addresses, addresses.device, addresses.shape[0])
    call.out = o.out
    _pointer_sizes(call, o.sizes)
    for name, operand in operands.items():
        if operand is not None:
            call.pointers(name, dtype_number(operand.dtype, f"{name}'s dtype"), operand.addresses, *operand.strides())
    if o.bias is not None:
        call.bias_pointers(o.bias)
    for name, scale in (("scale_a", o.scale_a), ("scale_b", o.scale_b)):
        if scale is not None:
            pointer_scale(call, name, scale)
    call.check(o.checked, allocate)
    return call


def _pointer_sizes(call: Call, sizes: Any) -> None:
    if isinstance(sizes, tuple):
        if len(sizes) != 3:
            raise ArgumentError(f"sizes has {len(sizes)} entries: (m, n, k), each a number or an array [groups]")
        call.sizes(*sizes)
        return
    table = read("sizes", sizes)
    if table.ndim != 2 or table.shape[1] != 3:
        raise ArgumentError(f"sizes has shape {list(table.shape)}: it must be [groups, 3]")
    size = 8 if table.dtype == I64 else 4
    columns = (table.data + j * table.strides[1] * size for j in range(3))
    call.sizes(*(table._replace(data=data, ndim=1, shape=table.shape[:1], strides=table.strides[:1]) for data in columns))


def pointer_scale(call: Call, name: str, scale: Any) -> None:
    """Scales by their addresses, or an array of one number a group, or one for all."""
    values, kind = unwrapped(scale), scale.kind if isinstance(scale, Scale) else None
    if isinstance(values, Pointers):
        if kind is None:
            raise ArgumentError(f"{name} is Pointers, which do not say of which kind it is: Scale(pointers, kind)")
        getattr(call.desc, call.field(name)).kind = KINDS[kind]
        call.pointers(name, dtype_number(values.dtype, f"{name}'s dtype"), values.addresses, *values.strides())
        return
    array = read(name, values)
    if kind not in (None, "tensor") or not tensor_scale(call, name, array):
        raise ArgumentError(f"{name} is {extents(array.shape)}: one number, [{call.groups}] (one a group), or Scale(Pointers(...), kind)")


def tensor_scale(call: Call, name: str, array: Array) -> bool:
    """One number for all groups, or one a group; False if the array is neither."""
    one, each = all(size == 1 for size in array.shape), array.shape in ((call.groups,), (call.groups, 1, 1))
    if not one and not each:
        return False
    if array.dtype != F32:
        raise ArgumentError(f"{name} is {NAMES[array.dtype]}: scales are f32")
    call.on_device(name, array)
    field = getattr(call.desc, call.field(name))
    field.kind, field.group_stride = native.SCALE_TENSOR, 0 if one else array.strides[0]
    call.place(name, array)
    return True

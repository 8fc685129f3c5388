# SPDX-License-Identifier: Apache-2.0
"""Grouped products of arrays that hold all groups: ragged along m, n or k, masked, and batches."""
from __future__ import annotations

from typing import Any, NamedTuple

from . import native
from ._arrays import NAMES, Array, allocator, dtype_number, extents, need_operands, packed_strides, read
from ._errors import ArgumentError
from ._groups import BIAS_KINDS, Call, Operands, Pointers
from ._lists import pointer_scale, tensor_scale
from ._problem import PACKED, Settings, check_element_types, check_shape, check_vector, output_columns, output_dtype, same_device, strides_of
from ._scales import BLOCK, KINDS, Scale, blocks, check_f32, find_kind, oriented, plain_strides, unwrapped

_RAGGED = {(2, 3): "m", (3, 2): "n", (2, 2): "k", (3, 3): ""}
_FORMS = {"m": native.GROUPS_RAGGED_M, "n": native.GROUPS_RAGGED_M, "k": native.GROUPS_RAGGED_K, "": native.GROUPS_BATCH}


class Shape(NamedTuple):
    """What the arrays say: sizes as they are stored, and along which of them the groups follow each other."""

    groups: int
    m: int  # rows of the groups in all, whatever rows A and D have
    n: int  # columns of B
    k: int
    ragged: str  # "m", "n", "k", or "" for none
    out: tuple[int, ...]


def _read(name: str, given: Any) -> Array:
    """An operand's shape and dtype; of Pointers the strides mean nothing."""
    if not isinstance(given, Pointers):
        return read(name, given)
    if given.shape is None:
        raise ArgumentError(f"{name} is Pointers without a shape among arrays: Pointers(..., shape=(rows, columns))")
    addresses = read(name, given.addresses)
    shape = (*addresses.shape, *given.shape)
    return Array(0, dtype_number(given.dtype, f"{name}'s dtype"), addresses.device, 0, len(shape), shape, packed_strides(shape))


def _shape(o: Operands, given: dict[str, Array], settings: Settings) -> Shape:
    x, w = given["a"], given["b"]
    if x.ndim not in (2, 3) or w.ndim not in (2, 3):
        raise ArgumentError(f"a has {x.ndim} dimensions and b {w.ndim}: each has 2, or 3 with the groups first")
    (m, k), (k_of_b, n) = x.shape[-2:], w.shape[-2:]
    if k != k_of_b:
        raise ArgumentError(f"k differs: A is {m}x{k} (k={k}), B is {k_of_b}x{n} (k={k_of_b})")
    ragged = _RAGGED[x.ndim, w.ndim]
    if (not ragged) != (o.ends is None):
        raise ArgumentError(f"ends is missing: it says where each group ends along {ragged}" if ragged else
                            "ends is given, but both a and b have a dimension of groups")
    if o.counts is not None and ragged:
        raise ArgumentError("counts is given: it goes with a [groups, m, k] and b [groups, k, n]")
    if o.sizes is not None:
        raise ArgumentError("sizes is given, but arrays say their own: it goes with Pointers")
    bounds = read("ends", o.ends) if ragged else None
    if bounds is not None and bounds.ndim != 1:
        raise ArgumentError(f"ends is {NAMES[bounds.dtype]} of {bounds.ndim} dimensions: it must be int32 or int64 [groups]")
    groups = x.shape[0] if x.ndim == 3 else w.shape[0] if w.ndim == 3 else bounds.shape[0]  # type: ignore[union-attr]
    for name, count in (("b", w.shape[0] if w.ndim == 3 else groups), ("ends", bounds.shape[0] if bounds else groups)):
        if count != groups:
            raise ArgumentError(f"{name} has {count} groups, {'a' if x.ndim == 3 else 'b'} has {groups}")
    rows = m
    for name in ("a_index", "d_index", "row_weights"):
        if getattr(o, name) is not None and ragged != "m":
            raise ArgumentError(f"{name} is given: it goes with rows by group, a [rows, k] and b [groups, k, n]")
    if o.a_index is not None:
        rows = _length("a_index", o.a_index)
    d_rows = rows
    if o.d_index is not None:
        if o.out is None and o.a_index is None:
            raise ArgumentError("out is missing: without a_index, nothing says how many rows D has with d_index")
        d_rows = given["out"].shape[0] if o.out is not None else m
    columns = output_columns(n, settings.gate)
    if settings.gate and ragged == "n":
        raise ArgumentError("gate is given, but the columns that it pairs are ragged")
    return Shape(groups, rows, n, k, ragged, (d_rows, columns) if ragged in ("m", "n") else (groups, m, columns))


def _length(name: str, index: Any) -> int:
    array = read(name, index)
    if array.ndim != 1:
        raise ArgumentError(f"{name} has {array.ndim} dimensions: it must be int32 or int64 [rows]")
    return array.shape[0]


def from_arrays(o: Operands, settings: Settings, allocate: bool) -> Call:
    need_operands(a=o.a, b=o.b)
    given = {name: _read(name, value) for name, value in (("a", o.a), ("b", o.b), ("c", o.c), ("out", o.out)) if value is not None}
    device = same_device(given)
    check_element_types(given)
    s = _shape(o, given, settings)
    in_f32 = o.scale_a is not None or o.scale_b is not None or settings.gate is not None
    dtype = output_dtype(given["a"].dtype, given["b"].dtype, settings.dtype, given.get("out"), in_f32)
    if "out" in given:
        check_shape("out", given["out"], s.out, "D")
    if "c" in given:
        check_shape("c", given["c"], (s.m, s.out[1]) if s.ragged == "m" else s.out, "D in the groups' order" if o.d_index is not None else "D")
    out = o.out
    if out is None and allocate:  # of rows that none goes to, 0 is the sum
        out = allocator(o.a, s.out, dtype, device, zero=o.d_index is not None)()
    if out is None:
        given["out"] = Array(0, dtype, device, 0, len(s.out), s.out, packed_strides(s.out))
    elif o.out is None:
        given["out"] = read("out", out)
    form = native.GROUPS_MASKED if o.counts is not None else _FORMS[s.ragged]
    call = Call(o.a, device, s.groups, form, flipped=s.ragged == "n")
    call.out = out
    _sizes(call, o, s)
    for name, array in given.items():
        _matrix(call, name, array, out if name == "out" else getattr(o, name))
    if o.bias is not None:
        _bias(call, o.bias, s)
    for name, scale in (("scale_a", o.scale_a), ("scale_b", o.scale_b)):
        if scale is not None:
            _scale(call, name, scale, s)
    _rows_by_index(call, o, s, given)
    call.check(o.checked, allocate)
    return call


def _sizes(call: Call, o: Operands, s: Shape) -> None:
    desc = call.desc
    call.sizes(*((s.n, s.m, s.k) if call.flipped else (s.m, s.n, s.k)))
    if s.ragged:
        desc.ends = call.source("ends", o.ends)
    if o.counts is not None:
        desc.counts = call.source("counts", o.counts)
    mean = {"m": s.m, "n": s.n, "k": s.k}
    if s.ragged:
        mean[s.ragged] = -(-mean[s.ragged] // max(s.groups, 1))
    if o.counts is not None:
        mean["m"] = 0  # not known
    desc.expected_m, desc.expected_n, desc.expected_k = (mean[name] for name in ("nmk" if call.flipped else "mnk"))


def _matrix(call: Call, name: str, array: Array, given: Any) -> None:
    """An operand: one matrix of all groups, a matrix of each at a distance, or pointers."""
    if isinstance(given, Pointers):
        row, col = given.strides()
    else:
        row, col = (PACKED, PACKED) if 0 in array.shape else strides_of(array.shape[-2:], array.strides[-2:])
    if call.flipped and isinstance(row, int) and row == PACKED and 0 not in array.shape:
        row, col = array.shape[-1], 1
    if isinstance(given, Pointers):
        call.pointers(name, array.dtype, given.addresses, row, col)
        return
    call.dtypes[name] = array.dtype
    field = getattr(call.desc, call.field(name))
    field.dtype = array.dtype
    if call.flipped:
        row, col = col, row
    field.row_stride, field.col_stride = call.source(name, row), call.source(name, col)
    if array.ndim == 3 and array.shape[0] > 1 and 0 not in array.shape:
        field.group_stride = array.strides[0]
    call.place(name, array)


def _bias(call: Call, bias: Any, s: Shape) -> None:
    """One a column: [n] for all groups, [groups, n] or [groups, 1, n]; one a row: [m, 1] or [groups, m, 1]. Along what is ragged it is one vector."""
    if isinstance(bias, Pointers):
        call.bias_pointers(bias)
        return
    array = read("bias", bias)
    call.on_device("bias", array)
    one_by_column, one_by_row = ((s.n,), (1, s.n)), ((s.m, 1),)
    by_column = () if s.ragged == "n" else ((s.groups, s.n), (s.groups, 1, s.n))
    by_row = () if s.ragged == "m" else ((s.groups, s.m, 1),)
    shape = array.shape
    if shape in by_column or shape in one_by_column:
        kind, axis, own, beside = "column", array.ndim - 1, shape in by_column, s.ragged == "n"
    elif shape in by_row or shape in one_by_row:
        kind, axis, own, beside = "row", array.ndim - 2, shape in by_row, s.ragged == "m"
    else:
        wanted = [f"[{', '.join(map(str, known))}]" for known in (*one_by_column, *by_column, *one_by_row, *by_row)]
        raise ArgumentError(f"bias is {extents(shape)}: it must be one of {', '.join(wanted)}, for groups={s.groups}, m={s.m}, n={s.n}")
    check_vector("bias", array, axis)
    call.bias_kind = BIAS_KINDS[kind]
    call.dtypes["bias"] = array.dtype
    if not beside:
        call.desc.bias_group_stride = array.strides[0] if own and s.groups > 1 else 0
    call.place("bias", array)


def _scale(call: Call, name: str, scale: Any, s: Shape) -> None:
    values, kind, aligned = unwrapped(scale), scale.kind if isinstance(scale, Scale) else None, isinstance(scale, Scale) and scale.aligned
    if isinstance(values, Pointers):
        pointer_scale(call, name, scale)
        return
    array = read(name, values)
    check_f32(name, array)
    if kind in (None, "tensor") and tensor_scale(call, name, array):
        return
    if array.ndim not in (2, 3) or kind == "tensor":
        raise ArgumentError(f"{name} is {extents(array.shape)}: of arrays it is one number, [{s.groups}] (one a group), or a matrix")
    call.on_device(name, array)
    along_size, ragged_along = (s.m, s.ragged == "m") if name == "scale_a" else (s.n, s.ragged == "n")
    along, deep = oriented(name, *zip(array.shape[-2:], array.strides[-2:]))
    counts = [size // BLOCK + s.groups if ragged and not aligned else blocks(size) for size, ragged in ((along_size, ragged_along), (s.k, s.ragged == "k"))]
    found = find_kind(name, (along[0], deep[0]), kind, (along_size, counts[0]), counts[1])
    apart = (ragged_along and found == "128x128") or (s.ragged == "k" and found != "vector")
    field_name = call.field(name)
    field = getattr(call.desc, field_name)
    field.kind = KINDS[found]
    row, col = plain_strides(field_name, along, deep)
    field.row_stride, field.col_stride = call.source(name, row), call.source(name, col)
    if ragged_along or apart:
        if array.ndim == 3:
            raise ArgumentError(f"{name} has 3 dimensions: along what is ragged, the groups' scales are in one matrix")
        field.group_stride = 0 if apart and aligned else PACKED
    elif array.ndim == 3 and array.shape[0] != s.groups:
        raise ArgumentError(f"{name} has {array.shape[0]} groups, and there are {s.groups}")
    else:
        field.group_stride = array.strides[0] if array.ndim == 3 and s.groups > 1 else 0
    call.place(name, array)


def _rows_by_index(call: Call, o: Operands, s: Shape, given: dict[str, Array]) -> None:
    desc = call.desc
    if o.a_index is not None:
        desc.a_index, desc.a_rows = call.source("a_index", o.a_index, s.m), given["a"].shape[0]
    if o.d_index is not None:
        desc.d_index, desc.d_rows, desc.d_index_unique = call.source("d_index", o.d_index, s.m), s.out[0], int(bool(o.d_index_unique))
    elif o.row_weights is not None:
        raise ArgumentError("row_weights is given, but no d_index, which it goes with")
    call.weights(o.row_weights, s.m)

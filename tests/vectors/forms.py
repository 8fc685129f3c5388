# SPDX-License-Identifier: Apache-2.0
"""The cases of make.py in which one matrix, or one at a distance, holds all groups; and scales. `t` is make.py itself."""
import numpy as np


def blocks(t, size):
    return -(-size // t.BLOCK)


def draw(rng, rows, cols):
    """Powers of two: products stay exact."""
    return np.array([[2.0 ** rng.randrange(-1, 2) for _ in range(cols)] for _ in range(rows)]).reshape(rows, cols)


def spread(t, kind, scale, along, deep):
    """A matrix of scales [along, deep] as one for each element."""
    if kind == "128x128":
        scale = np.repeat(scale, t.BLOCK, 0)[:along]
    if kind in ("1x128", "128x128"):
        scale = np.repeat(scale, t.BLOCK, 1)[:, :deep]
    return np.broadcast_to(scale, (along, deep))


def scale_shape(t, kind, along, deep):
    return {"tensor": (1, 1), "vector": (along, 1), "1x128": (along, blocks(t, deep)), "128x128": (blocks(t, along), blocks(t, deep))}[kind]


def scales(t, case, rng, m, n, k):
    """(the JSON objects, a factor for each element of A and of B) of one product."""
    objects, factors = {}, []
    for index, (name, along) in enumerate((("scale_a", m), ("scale_b", n))):
        kind = case[name]
        if kind == "none":
            factors.append(1.0)
            continue
        scale = draw(rng, *scale_shape(t, kind, along, k))
        factor = spread(t, kind, scale, along, k)
        factors.append(factor.T if index else factor)
        objects[name] = {"kind": kind, **t.matrix(case["scale_layouts"][index], scale.T if index else scale, "f32", 0xFF)}
    return objects, factors


def stacked(t, kind, values, dtype, filler):
    """Matrices of all groups, one behind the other: the JSON object."""
    made = [t.matrix(kind, one, dtype, filler) for one in values]
    size = np.dtype(t.DTYPES[dtype]).itemsize
    return {**made[0], "group_stride": len(made[0]["data"]) // 2 // size, "data": "".join(one["data"] for one in made)}


def one_matrix(t, kind, values, dtype, filler):
    return {**t.matrix(kind, values, dtype, filler), "group_stride": 0}


def column(values, wide):
    dtype = np.int64 if wide else np.int32
    return {"dtype": "i64" if wide else "i32", "data": np.asarray(values, dtype).tobytes().hex()}


class Groups:
    """Where the groups lie in m and k."""

    def __init__(self, form, sizes, m, k):
        ends = np.cumsum(sizes)
        starts = ends - sizes
        every = slice(None)
        self.count, self.ends, self.starts = len(sizes), ends, starts
        self.rows = [slice(s, e) for s, e in zip(starts, ends)] if form == "ragged_m" else [slice(0, c) for c in sizes] if form == "masked" else [every] * len(sizes)
        self.depth = [slice(s, e) for s, e in zip(starts, ends)] if form == "ragged_k" else [every] * len(sizes)


def group_scales(t, case, rng, groups, form, m, n, k):
    """(the JSON objects, the factors of each group's A and B as functions of the group)."""
    objects, factors = {}, []
    for index, (name, along) in enumerate((("scale_a", m), ("scale_b", n))):
        kind = case[name]
        if kind == "none":
            factors.append(lambda g: 1.0)
            continue
        flip = (lambda x: x.T) if index else (lambda x: x)
        layout = case["scale_layouts"][index]
        ragged_along, ragged_deep = form == "ragged_m" and not index, form == "ragged_k"
        if kind == "tensor":
            values = draw(rng, groups.count, 1)
            objects[name] = {"kind": kind, "dtype": "f32", "offset": 0, "row_stride": 1, "col_stride": 1, "group_stride": 1, "data": t.hexed(values.astype(np.float32))}
            factors.append(lambda g, values=values: values[g, 0])
        elif (ragged_along or (ragged_deep and kind != "vector")):
            rows = along // t.BLOCK + groups.count if ragged_along and kind == "128x128" else scale_shape(t, kind, along, k)[0]
            cols = k // t.BLOCK + groups.count if ragged_deep and kind != "vector" else scale_shape(t, kind, along, k)[1]
            values = draw(rng, rows, cols)
            objects[name] = {"kind": kind, **one_matrix(t, layout, flip(values), "f32", 0xFF)}

            def factor(g, values=values, kind=kind, along=along, flip=flip, by_rows=ragged_along):
                start, size = int(groups.starts[g]), int(groups.ends[g] - groups.starts[g])
                first = start // t.BLOCK + g
                if by_rows:
                    own = values[first:] if kind == "128x128" else values[start:start + size]
                    return flip(spread(t, kind, own, size, k))
                return flip(spread(t, kind, values[:, first:], along, size))

            factors.append(factor)
        else:
            values = [draw(rng, *scale_shape(t, kind, along, k)) for _ in range(groups.count)]
            objects[name] = {"kind": kind, **stacked(t, layout, [flip(one) for one in values], "f32", 0xFF)}
            part = lambda g, full: full[:, groups.depth[g]] if ragged_deep else full
            factors.append(lambda g, values=values, kind=kind, along=along, flip=flip, part=part: flip(part(g, spread(t, kind, values[g], along, k))))
    return objects, factors


def index_of(rng, count, rows, unique):
    """Rows by index, some of which are none."""
    if unique:
        return np.array(rng.sample(range(rows), count))
    return np.array([rng.randrange(-1, rows) for _ in range(count)])


def whole(t, case, types, rng, sizes, m, n, k):
    """A case of one form: its JSON object but for what all cases have."""
    form, wide = case["form"], case.get("wide", False)
    groups = Groups(form, np.array(sizes), m, k)
    la, lb, lc, ld = case["layouts"]
    shapes = {"ragged_m": ((m, k), (groups.count, k, n)), "ragged_k": ((m, k), (k, n))}.get(form, ((groups.count, m, k), (groups.count, k, n)))
    number = lambda shape, low=case["low"], high=case["high"]: t.numbers(rng, int(np.prod(shape[:-1])), shape[-1], low, high, case["step"]).reshape(shape)
    a_rows, d_rows = case.get("a_rows", 0), case.get("d_rows", 0)
    a_held = number((a_rows, k)) if a_rows else number(shapes[0])
    b = number(shapes[1])
    a_index = index_of(rng, m, a_rows, False) if a_rows else None
    d_index = index_of(rng, m, d_rows, case.get("unique", False)) if d_rows else None
    a = np.where(a_index[:, None] >= 0, a_held[a_index], 0) if a_rows else a_held
    columns = n if case["gate"] == "none" else n // 2
    whole_d = (m, columns) if form == "ragged_m" else (groups.count, m, columns)
    with_c = case["with_c"]
    c = number(whole_d, -4, 4) if with_c else None
    bias_length = n if case["bias"] == "column" else m
    one_bias = case["bias"] == "row" and form == "ragged_m"
    bias = None if case["bias"] == "none" else number((bias_length,) if one_bias else (groups.count, bias_length), -4, 4)
    objects, factors = group_scales(t, case, rng, groups, form, m, n, k)
    before = c if with_c == "d" else number((d_rows, columns) if d_rows else whole_d, -9, 9)
    weights = number((m,), -2, 2) if case.get("weights") else None
    d = _result(t, case, types, groups, a, b, c, bias, factors, before, d_index, weights)

    place = lambda values, *rest: (one_matrix if values.ndim == 2 else stacked)(t, rest[0], values, *rest[1:])
    d_object = place(d, ld, types["d"], 0xA5)
    d_object["before"] = place(before.astype(np.float64), ld, types["d"], 0xA5)["data"]
    vector = lambda values, dtype: {"dtype": dtype, "data": t.hexed(t.encode(values, dtype))}
    numbers_of = lambda values: None if values is None else column(values, wide)
    return {"groups": groups.count, "m": m, "n": n, "k": k, "ends": numbers_of(groups.ends if form.startswith("ragged") else None),
            "counts": numbers_of(sizes if form == "masked" else None), "a_index": numbers_of(a_index), "a_rows": a_rows,
            "d_index": numbers_of(d_index), "d_rows": d_rows, "d_index_unique": case.get("unique", False),
            "row_weights": None if weights is None else vector(weights, "f32"), "a": place(a_held, la, types["a"], 0xFF), "b": place(b, lb, types["b"], 0xFF),
            "c": "d" if with_c == "d" else None if c is None else place(c, lc, types["c"], 0xFF), "d": d_object, **objects,
            "bias_vector": None if bias is None else {**vector(bias, types["bias"]), "group_stride": 0 if one_bias else bias_length}}


def _result(t, case, types, groups, a, b, c, bias, factors, before, d_index, weights):
    """D after the call, as float64."""
    d = np.array(before, np.float64)
    sums = {}
    for g in range(groups.count):
        rows, depth = groups.rows[g], groups.depth[g]
        own = lambda values: values if values.ndim == 2 else values[g]
        factor_a, factor_b = factors[0](g), factors[1](g)
        if isinstance(factor_a, np.ndarray) and a.ndim == 3:
            factor_a = factor_a[rows]
        wide_a, wide_b = own(a)[rows, depth] * factor_a, own(b)[depth] * factor_b
        each = {**case, **{name: case[name][g] for name in ("alpha", "beta") if isinstance(case[name], list)}}
        own_bias = None if bias is None else bias[rows] if bias.ndim == 1 else bias[g] if case["bias"] == "column" else bias[g][rows]
        own_c = None if c is None else own(c)[rows]
        result = t.expected(t.product(wide_a, wide_b, types["sums"], types["bits"]), own_c, own_bias, each, types).astype(np.float64)
        if weights is not None:
            result = result * weights[rows, None]
        if d_index is None:
            (d if d.ndim == 2 else d[g])[rows] = result
            continue
        for row, to in zip(result, d_index[rows]):
            if to >= 0:
                sums[to] = sums.get(to, 0) + row
    for to, row in sums.items():
        t.require(np.abs(row).max(initial=0) < 2**20, "a sum of rows may round")
        d[to] = row
    return d

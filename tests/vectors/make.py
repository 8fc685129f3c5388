#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes vectors.json, the products that every binding must compute with the same bits; README.md beside it describes the file.

The expected bits are computed here with numpy alone, in float64 and int64. A case whose result could depend on the order of sums, on fused
products or on the last bits of a library's expf is refused."""
import argparse
import json
import math
import pathlib
import random
import sys

import forms
import ml_dtypes
import numpy as np

FILE = pathlib.Path(__file__).with_name("vectors.json")
FORMAT = 2
BLOCK = 128
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
          "e5m2": ml_dtypes.float8_e5m2, "i8": np.int8, "i32": np.int32}
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "i8": 127.0, "i32": 2.0**31 - 1}  # of the types whose conversions saturate
INEXACT = ("gelu", "gelu_tanh", "silu", "sigmoid", "tanh")


class Refused(Exception):
    """The case has no bits that every right implementation must give."""


def require(condition, why):
    if not condition:
        raise Refused(why)


def encode(values, dtype):
    """float64 or int64 values in a dtype, converted as ggemm says: to nearest even, fp8 and integers saturating."""
    if dtype in LARGEST:
        low = -LARGEST[dtype] - (dtype[0] == "i")
        values = np.clip(np.rint(values) if dtype[0] == "i" else values, low, LARGEST[dtype])
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(DTYPES[dtype])


def hexed(array):
    return np.ascontiguousarray(array).tobytes().hex()


# ------------------------------------------------------------------------------------------------------------ operands
def strides(kind, rows, columns):
    """(offset, row stride, column stride) of a layout."""
    return {
        "row": (0, columns, 1),
        "row+": (3, columns + 5, 1),           # padded rows, a base that is not aligned
        "col": (0, 1, rows),
        "col+": (1, 1, rows + 3),
        "both": (2, 2 * columns + 3, 2),       # no unit stride
        "rows back": (max(rows - 1, 0) * (columns + 1), -(columns + 1), 1),
        "cols back": (max(columns - 1, 0), columns, -1),
        "same row": (0, 0, 1),                 # inputs only
        "same column": (0, 1, 0),
        "one value": (0, 0, 0),
    }[kind]


def matrix(kind, values, dtype, filler):
    """The values laid out in a buffer of `filler` bytes: the JSON object."""
    rows, columns = values.shape
    offset, row_stride, col_stride = strides(kind, rows, columns)
    length = 0
    if rows and columns:
        corners = [i * (rows - 1) * row_stride + j * (columns - 1) * col_stride for i in (0, 1) for j in (0, 1)]
        assert offset + min(corners) >= 0
        length = offset + max(corners) + 1 + (2 if kind.endswith("+") else 0)
    size = np.dtype(DTYPES[dtype]).itemsize
    buffer = np.frombuffer(bytes([filler]) * (length * size), DTYPES[dtype]).copy()
    encoded = encode(values, dtype)
    for i in range(rows):
        for j in range(columns):
            buffer[offset + i * row_stride + j * col_stride] = encoded[i, j]
    return {"dtype": dtype, "offset": offset, "row_stride": row_stride, "col_stride": col_stride, "data": hexed(buffer)}


def numbers(rng, rows, columns, low, high, step=1.0, kind="row"):
    """Random multiples of `step` in [low, high]; a layout that repeats gets values that do."""
    values = np.array([[low + math.floor(rng.random() * ((high - low) / step + 1)) * step for _ in range(columns)] for _ in range(rows)])
    values = values.reshape(rows, columns)
    if rows and kind in ("same row", "one value"):
        values = np.broadcast_to(values[:1], values.shape)
    if columns and kind in ("same column", "one value"):
        values = np.broadcast_to(values[:, :1], values.shape)
    return values


# ----------------------------------------------------------------------------------------------------------- reference
def quantum(values):
    """The largest power of two that divides all values."""
    step = 1.0
    while np.any(np.mod(values, step)):
        step /= 2
    return step


def to_tf32(values):
    """Nearest with 10 explicit bits of mantissa. Which one of two that are as near is left open, so none such may be asked for."""
    mantissa, exponent = np.frexp(values)
    scaled = np.abs(mantissa) * 2.0**11
    require(np.all(np.mod(scaled, 1) != 0.5), "an input lies in the middle of two tf32 numbers")
    return np.sign(values) * np.ldexp(np.floor(scaled + 0.5), exponent - 11)


def product(a, b, sums, bits):
    """The exact product; refuses what does not fit the accumulator however it is summed."""
    if sums == "i32":
        return a.astype(np.int64) @ b.astype(np.int64)
    step = quantum(a) * quantum(b)
    require(a.shape[1] == 0 or (np.abs(a) @ np.abs(b)).max(initial=0) / step < 2.0**bits, "a sum may round")
    return a @ b


def activate(x, name, p0, p1):
    one = {
        "none": lambda v: v,
        "relu": lambda v: 0.0 if v < 0 else v,
        "leaky_relu": lambda v: v if v > 0 else p0 * v,
        "clamp": lambda v: p0 if v < p0 else p1 if v > p1 else v,
        "gelu": lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2))),
        "gelu_tanh": lambda v: 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3))),
        "silu": lambda v: v / (1 + math.exp(-v)),
        "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
        "tanh": math.tanh,
    }[name]
    return np.array([one(v) for v in x.ravel().tolist()], np.float64).reshape(x.shape)


def expected(sums, c, bias, case, types):
    """D's values in its dtype: act(alpha sums + beta c + bias), or the gated pairs of it."""
    alpha, beta = 1 if case["alpha"] is None else case["alpha"], 0 if case["beta"] is None else case["beta"]
    gate, up = {"none": (slice(None), None), "halves": (slice(0, sums.shape[1] // 2), slice(sums.shape[1] // 2, None)),
                "interleaved": (slice(0, None, 2), slice(1, None, 2))}[case["gate"]]
    bias = 0 if bias is None else bias[None, :] if case["bias"] == "column" else bias[:, None]
    if types["value"] == "i32":  # wrapping
        total = alpha * sums + (beta * c.astype(np.int64) if beta else 0) + np.asarray(bias).astype(np.int64)
        total = (total + 2**31) % 2**32 - 2**31
        return encode(activate(total, case["activation"], case["p0"], case["p1"]), "i32")
    sums = sums.astype(np.float64)
    addend = (beta * c if beta else 0.0) + bias + np.zeros_like(sums)
    total = alpha * sums + addend
    wider, narrow = (np.longdouble, np.float64) if types["value"] == "f64" else (np.float64, np.float32)
    for part in (alpha * sums.astype(wider), addend.astype(wider), alpha * sums.astype(wider) + addend):
        require(np.all(part.astype(narrow).astype(wider) == part), "the epilogue rounds before the conversion to D")
    factor = 1.0 if up is None else total[:, up]
    total = total[:, gate]
    result = activate(total, case["activation"], case["p0"], case["p1"]) * factor
    if case["activation"] in INEXACT:
        require(types["d"] in ("f16", "bf16", "e4m3", "e5m2"), "an inexact activation needs a narrow D")
        error = 2.0**-17 * np.abs(result) + 2.0**-21 * np.abs(total * factor)
        low, high = encode(result - error, types["d"]), encode(result + error, types["d"])
        require(np.array_equal(low.view(np.uint8), high.view(np.uint8)), "a result lies at a rounding boundary")
    else:
        require(np.all(result.astype(narrow).astype(np.float64) == result), "the activation rounds")
    return encode(result, types["d"])


# --------------------------------------------------------------------------------------------------------------- cases
DEFAULTS = dict(a="f32", b=None, c=None, d=None, bias="none", bias_dtype=None, layouts=("row", "row", "row", "row"), low=-3, high=3, step=1.0,
                alpha=None, beta=None, with_c=None, activation="none", p0=0.0, p1=0.0, compute="default", sizes="i32", strides="packed",
                c_filler=0xFF, gate="none", scale_a="none", scale_b="none", scale_layouts=("row", "row"))


def types_of(case):
    a = case["a"]
    b = case["b"] or a
    scaled = (case["scale_a"], case["scale_b"]) != ("none", "none")
    sums = "f64" if "f64" in (a, b) else "i32" if a == b == "i8" and not scaled else "f32"
    d = case["d"] or {"i8": "i32", "e4m3": "f32", "e5m2": "f32"}.get(a, a)
    value = "f64" if sums == "f64" else "i32" if sums == d == "i32" else "f32"
    fp8 = a in ("e4m3", "e5m2") or b in ("e4m3", "e5m2")
    bits = {"f64": 53, "f32": 13 if fp8 else 24, "i32": 31}[sums]
    return dict(a=a, b=b, c=case["c"] or d, d=d, bias=case["bias_dtype"] or d, sums=sums, value=value, bits=bits)


def group(case, types, rng, m, n, k):
    """One product: its JSON object."""
    la, lb, lc, ld = case["layouts"]
    a = numbers(rng, m, k, case["low"], case["high"], case["step"], la)
    b = numbers(rng, k, n, case["low"], case["high"], case["step"], lb)
    with_c = case["beta"] if case["with_c"] is None else case["with_c"]
    c = numbers(rng, m, n, -4, 4, kind=lc) if with_c else None
    bias = None if case["bias"] == "none" else numbers(rng, 1, n if case["bias"] == "column" else m, -4, 4)[0]
    for values, dtype in ((a, types["a"]), (b, types["b"])):
        assert np.array_equal(encode(values, dtype).astype(np.float64), values), "an input does not fit its dtype"
    rounded = (to_tf32(a), to_tf32(b)) if case["compute"] == "tf32" else (a, b)
    scales, factors = forms.scales(sys.modules[__name__], case, rng, m, n, k)
    result = expected(product(rounded[0] * factors[0], rounded[1] * factors[1], types["sums"], types["bits"]), c, bias, case, types).astype(np.float64)

    before = np.zeros((m, n)) if with_c == "d" else numbers(rng, *result.shape, -9, 9)
    d = matrix(ld, result, types["d"], 0xA5)
    d["before"] = matrix(ld, c if with_c == "d" else before, types["d"], 0xA5)["data"]
    c_object = "d" if with_c == "d" else None if c is None else matrix(lc, c, types["c"], case["c_filler"])
    if with_c == "nan":  # beta is 0: nothing of C may be read
        c_object["data"] = "ff" * (len(c_object["data"]) // 2)
    return {"m": m, "n": n, "k": k, "a": matrix(la, a, types["a"], 0xFF), "b": matrix(lb, b, types["b"], 0xFF), "c": c_object, "d": d, **scales,
            "bias_vector": None if bias is None else {"dtype": types["bias"], "data": hexed(encode(bias, types["bias"]))}}


def attempt(name, shapes, settings, seed):
    case = {**DEFAULTS, **settings}
    types = types_of(case)
    rng = random.Random(f"{name} {seed}")
    scalar = lambda v: None if v is None else {"dtype": types["value"], "data": hexed(encode(np.atleast_1d(v), types["value"]))}
    out = {"name": name, "form": "plain", "compute": case["compute"], "activation": case["activation"], "p0": case["p0"], "p1": case["p1"],
           "bias": case["bias"], "gate": case["gate"], "alpha": scalar(case["alpha"]), "beta": scalar(case["beta"])}
    if "form" in settings:
        return {**out, "form": case["form"], **forms.whole(sys.modules[__name__], case, types, rng, *shapes)}
    if isinstance(shapes, tuple):
        return {**out, **group(case, types, rng, *shapes)}
    return {**out, "form": "pointers", "sizes": case["sizes"], "strides": case["strides"], "groups": [group(case, types, rng, *s) for s in shapes]}


def make(name, shapes, /, **settings):
    """The first draw that is not refused. shapes: (m, n, k), or a list of them for a grouped case."""
    for seed in range(1000):
        try:
            return attempt(name, shapes, settings, seed)
        except Refused as refusal:
            why = refusal
    raise SystemExit(f"{name}: every draw is refused: {why}")


def plain_cases():
    for dtype in DTYPES:
        if dtype != "i32":
            yield make(f"{dtype}", (7, 9, 11), a=dtype)
    for a, d in [("f32", "f64"), ("f32", "f16"), ("f16", "f32"), ("bf16", "f32"), ("bf16", "e4m3"), ("f16", "i8"), ("e4m3", "bf16"),
                 ("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e5m2", "f16"), ("i8", "i8"), ("i8", "f32"), ("i8", "bf16"), ("f64", "f32")]:
        yield make(f"{a} stored as {d}", (5, 8, 6), a=a, d=d)
    for a, b in [("f16", "bf16"), ("e4m3", "e5m2"), ("bf16", "f32"), ("i8", "f16"), ("f32", "f64")]:
        yield make(f"{a} times {b}", (6, 5, 7), a=a, b=b, d="f64" if b == "f64" else "f32")
    for kind in ("row+", "col", "col+", "both", "rows back", "cols back"):
        yield make(f"f32 all {kind}", (6, 10, 9), layouts=(kind,) * 4, beta=1)
        yield make(f"bf16 all {kind}", (9, 6, 17), a="bf16", layouts=(kind,) * 4, beta=1)
    for la in ("row", "col"):
        for lb in ("row", "col"):
            yield make(f"f16 a {la}, b {lb}", (33, 17, 40), a="f16", layouts=(la, lb, "row", "row"))
            yield make(f"i8 a {la}, b {lb}", (16, 18, 33), a="i8", low=-127, high=127, layouts=(la, lb, "row", "row"))
    for kind in ("same row", "same column", "one value"):
        yield make(f"repeated inputs: {kind}", (5, 4, 6), layouts=(kind, kind, kind, "row+"), beta=2)
    for m, n, k in [(1, 1, 1), (1, 19, 33), (19, 1, 33), (1, 1, 64), (64, 64, 1), (2, 3, 130)]:
        yield make(f"{m}x{n}x{k}", (m, n, k), a="bf16", d="f32")
    for m, n, k in [(0, 5, 3), (5, 0, 3), (0, 0, 0), (4, 3, 0)]:
        yield make(f"empty: {m}x{n}x{k}", (m, n, k), beta=3, bias="column", layouts=("row", "row", "row", "row+"))

    yield make("alpha and beta f32", (5, 7, 6), alpha=0.5, beta=-2.0)
    yield make("alpha and beta f64", (5, 7, 6), a="f64", alpha=-0.25, beta=4.0)
    yield make("alpha and beta i32 wrap", (5, 7, 6), a="i8", low=-128, high=127, alpha=2**28 + 1, beta=-(2**30))
    yield make("alpha and beta f32 of i8 products", (5, 7, 6), a="i8", d="f32", alpha=0.125, beta=2.0)
    yield make("alpha 0", (4, 4, 4), alpha=0.0, beta=1.0)
    yield make("beta 0 reads no C", (4, 6, 5), beta=0.0, with_c="nan")
    yield make("no beta reads no C", (4, 6, 5), a="bf16", with_c="nan")
    yield make("C is D", (6, 5, 8), beta=2.0, with_c="d", layouts=("row", "row", "row+", "row+"))
    yield make("C is D, bf16, by columns", (6, 5, 8), a="bf16", alpha=2.0, beta=-1.0, with_c="d", layouts=("row", "row", "col+", "col+"))
    yield make("C has its own dtype", (6, 5, 8), a="f16", c="f32", beta=1.0)
    yield make("C is e4m3, D is bf16", (6, 5, 8), a="e4m3", c="e4m3", d="bf16", beta=1.0)

    yield make("rounding to bf16", (9, 9, 16), a="bf16", low=-16, high=16)
    yield make("rounding to f16 and past its range", (9, 9, 16), a="f16", low=-128, high=128, alpha=0.5)
    yield make("saturation of e4m3", (9, 9, 4), a="e4m3", d="e4m3", low=-8, high=8, alpha=4.0)
    yield make("saturation of e5m2", (9, 9, 4), a="e5m2", d="e5m2", low=-8, high=8, step=2, alpha=512.0)
    yield make("saturation of i8", (9, 9, 16), a="i8", d="i8", low=-20, high=20, alpha=0.25)
    yield make("tf32 of exact inputs", (17, 9, 12), compute="tf32")
    yield make("tf32 rounds its inputs", (9, 7, 4), compute="tf32", low=1 + 2.0**-12, high=2 - 2.0**-12, step=2.0**-11)  # half of them down, half up
    yield make("f32 keeps what tf32 rounds", (9, 7, 1), low=1, high=2 - 2.0**-11, step=2.0**-11)
    yield make("many tiles", (130, 70, 20), a="bf16")

    for kind in ("column", "row"):
        yield make(f"bias by {kind}", (6, 9, 5), bias=kind)
        yield make(f"bias by {kind}, i32", (6, 9, 5), a="i8", bias=kind, beta=2)
        yield make(f"bias by {kind}, f32 beside bf16", (6, 9, 5), a="bf16", bias=kind, bias_dtype="f32", activation="relu")
    yield make("alpha, beta, bias, relu, f64", (6, 9, 5), a="f64", bias="column", alpha=0.5, beta=0.25, activation="relu")
    yield make("relu", (7, 8, 5), activation="relu")
    yield make("relu, i32", (7, 8, 5), a="i8", activation="relu")
    yield make("leaky relu", (7, 8, 5), activation="leaky_relu", p0=0.125)
    yield make("clamp", (7, 8, 5), activation="clamp", p0=-4.5, p1=6.0)
    yield make("clamp, i32", (7, 8, 5), a="i8", activation="clamp", p0=-4.0, p1=6.0)
    for name in INEXACT:
        for dtype in ("bf16", "f16"):
            yield make(f"{name}, {dtype}", (5, 6, 4), a=dtype, low=-2, high=2, alpha=0.125, activation=name)
        yield make(f"bias and {name}, e4m3 out", (5, 6, 4), a="f32", d="e4m3", bias="column", bias_dtype="f32", low=-2, high=2, alpha=0.125,
                   activation=name)


def grouped_cases():
    mixed = [(5, 7, 3), (1, 1, 1), (0, 4, 4), (9, 2, 16), (4, 0, 4), (3, 6, 0), (17, 18, 5)]
    yield make("no groups", [])
    yield make("one group", [(6, 7, 8)])
    for dtype in ("f32", "f64", "f16", "bf16", "e4m3", "i8"):
        yield make(f"groups of {dtype}", mixed, a=dtype)
    yield make("sizes in int64", mixed, sizes="i64")
    yield make("strides in int32", mixed, strides="i32", layouts=("row+", "row", "row", "row+"))
    yield make("strides in int64, by columns", mixed, sizes="i64", strides="i64", layouts=("col", "col+", "row", "col"), a="bf16")
    yield make("strides without a unit", mixed, strides="i32", layouts=("both", "both", "row", "both"), a="f16")
    yield make("constant sizes and strides", [(6, 7, 8)] * 3, sizes="const", strides="const", layouts=("col", "row+", "row", "row+"))
    yield make("constant sizes, packed", [(6, 7, 8)] * 5, sizes="const", a="bf16", d="f32")
    yield make("groups with alpha, beta and C", mixed, alpha=2.0, beta=-1.0)
    yield make("groups where C is D", mixed, beta=1.0, with_c="d")
    for kind in ("column", "row"):
        yield make(f"groups with bias by {kind} and relu", mixed, a="bf16", bias=kind, activation="relu")
    yield make("groups with silu", [(3, 4, 4), (0, 4, 4), (5, 2, 4)], a="bf16", low=-2, high=2, alpha=0.125, activation="silu")
    yield make("groups of i8 as i32 with bias", mixed, a="i8", bias="column")
    yield make("tf32 groups", mixed, compute="tf32")
    yield make("many small groups", [(i % 5, (i * 7) % 6, (i * 3) % 4) for i in range(70)], a="bf16", d="f32")
    yield make("skewed groups", [(1, 8, 8), (140, 8, 8), (0, 8, 8), (2, 8, 8)], a="f16")


def scaled_cases():
    for a, b in [("tensor", "tensor"), ("vector", "vector"), ("1x128", "128x128"), ("128x128", "1x128"), ("none", "vector"), ("1x128", "none")]:
        m, n = (130, 3) if a == "128x128" else (3, 130) if b == "128x128" else (4, 5)
        yield make(f"scales: {a} and {b}", (m, n, 200), a="e4m3", d="f32", low=-1, high=1, scale_a=a, scale_b=b)
    yield make("scales by columns, with alpha, bias and relu", (6, 5, 140), a="bf16", d="f32", low=-1, high=1, scale_a="1x128", scale_b="vector", alpha=0.5,
               bias="column", activation="relu", scale_layouts=("col+", "row+"))
    yield make("scales of i8", (6, 5, 140), a="i8", d="f32", scale_a="1x128", scale_b="vector")
    yield make("f32 by terms", (17, 9, 40), compute="f32x3", bias="column", activation="relu")
    yield make("f32 by terms keeps what tf32 rounds", (9, 7, 1), compute="f32x3", low=1, high=2 - 2.0**-11, step=2.0**-11)
    yield make("fast sums of fp8", (6, 5, 24), a="e4m3", d="f32", low=-1, high=1, compute="fp8_fast")
    for gate in ("halves", "interleaved"):
        yield make(f"pairs by {gate}", (5, 8, 6), gate=gate, activation="relu", layouts=("row", "row", "row", "row+"))
        yield make(f"pairs by {gate}, silu, bf16, bias", (5, 6, 4), a="bf16", gate=gate, activation="silu", bias="column", low=-2, high=2, alpha=0.125)
    yield make("pairs with scales", (4, 6, 150), a="e4m3", d="f32", low=-1, high=1, gate="interleaved", activation="clamp", p0=-8.0, p1=8.0, scale_a="1x128",
               scale_b="1x128")


def form_cases():
    """Whole matrices of all groups; shapes: (groups' sizes along what is theirs, m, n, k)."""
    sizes = [3, 0, 5, 1, 8]
    for dtype in ("f32", "bf16", "i8"):
        for form in ("ragged_m", "ragged_k", "masked", "batch"):
            yield make(f"{form}, {dtype}", (sizes, 9 if form != "ragged_m" else 19, 6, 7 if form != "ragged_k" else 19), form=form, a=dtype)
    for form in ("ragged_m", "ragged_k", "masked", "batch"):
        m, k = 19 if form == "ragged_m" else 9, 19 if form == "ragged_k" else 7
        yield make(f"{form} by columns, int64, C, bias by column", (sizes, m, 6, k), form=form, a="f16", wide=True, layouts=("col+", "col", "row+", "row+"), beta=2.0,
                   bias="column", with_c=True)
        yield make(f"{form} with numbers of each group, bias by row", (sizes, m, 6, k), form=form, alpha=[1.0, 2.0, -0.5, 0.25, 4.0],
                   beta=[0.0, 1.0, -1.0, 2.0, 0.5], with_c=True, bias="row", activation="relu")
        short = ([2, 0, 1], 3, 4, 3)
        yield make(f"{form} in pairs", short, form=form, a="bf16", gate="halves", activation="silu", low=-2, high=2, alpha=0.125)
    yield make("ragged_m of f32 by terms", (sizes, 19, 6, 24), form="ragged_m", compute="f32x3")
    yield make("ragged_k adds to D", (sizes, 4, 5, 17), form="ragged_k", a="bf16", d="f32", beta=1.0, with_c="d")
    for a, b in [("tensor", "tensor"), ("vector", "vector"), ("1x128", "128x128"), ("128x128", "1x128")]:
        long, whole, deep = (sizes, 20, 20) if a in ("tensor", "vector") else ([20, 0, 130, 5], 160, 130)
        yield make(f"ragged_m scaled by {a} and {b}", (long, whole, 3, deep), form="ragged_m", a="e4m3", d="f32", low=-1, high=1, scale_a=a, scale_b=b)
        yield make(f"ragged_k scaled by {a} and {b}", (long, 3, 4, whole), form="ragged_k", a="e4m3", d="f32", low=-1, high=1, scale_a=a, scale_b=b)
        yield make(f"masked scaled by {a} and {b}", ([3, 0, 5], 5, 4, 200), form="masked", a="e4m3", d="f32", low=-1, high=1, scale_a=a, scale_b=b)
    yield make("batch scaled by vectors", ([4, 4, 4], 4, 3, 20), form="batch", a="bf16", d="f32", scale_a="vector", scale_b="vector", scale_layouts=("col+", "row+"))
    yield make("rows of A by index", (sizes, 17, 6, 7), form="ragged_m", a="bf16", a_rows=6)
    yield make("rows of D by index", (sizes, 17, 6, 7), form="ragged_m", a="bf16", d_rows=30, unique=True, wide=True)
    yield make("rows of A and D by index, weighted", (sizes, 17, 6, 7), form="ragged_m", a_rows=6, d_rows=6, weights=True, activation="relu", bias="column")


def text():
    cases = [*plain_cases(), *scaled_cases(), *grouped_cases(), *form_cases()]
    names = [case["name"] for case in cases]
    assert len(set(names)) == len(names), "two cases have one name"
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    return f'{{"format":{FORMAT},"cases":[\n{lines}\n]}}\n', len(cases)


def main():
    parser = argparse.ArgumentParser(description="Writes vectors.json.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file is not what would be written")
    check = parser.parse_args().check
    made, count = text()
    if check:
        if FILE.read_text() != made:
            sys.exit(f"{FILE.name} is not what make.py writes; run python3 tests/vectors/make.py")
    else:
        FILE.write_text(made)
    print(f"{count} cases, {len(made)} bytes")


if __name__ == "__main__":
    main()

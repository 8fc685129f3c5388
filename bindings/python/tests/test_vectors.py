# SPDX-License-Identifier: Apache-2.0
"""The shared vectors of tests/vectors: the same bits from every language."""
import json
import os
import pathlib

import numpy as np
import pytest
from ggemm._arrays import NUMPY_DTYPES, dtype_number

import ggemm


def vectors_file():
    if "GGEMM_SOURCE_DIR" in os.environ:
        return pathlib.Path(os.environ["GGEMM_SOURCE_DIR"]) / "tests/vectors/vectors.json"
    return pathlib.Path(__file__).resolve().parents[3] / "tests/vectors/vectors.json"


VECTORS = json.loads(vectors_file().read_text())
assert VECTORS["format"] == 2 and len(VECTORS["cases"]) > 100
CONTEXT = ggemm.Context("cpu", cblas_path="", cache_dir="")
FORMS = ("plain", "pointers", "ragged_m", "ragged_k", "masked", "batch")
ACTIVATIONS = {name: name for name in ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh")}


def numpy_dtype(name):
    return NUMPY_DTYPES[dtype_number(name)]


class Operand:
    """A buffer and the view of the matrix in it."""

    def __init__(self, j, rows, cols, field="data"):
        dtype = numpy_dtype(j["dtype"])
        self.buffer = np.frombuffer(bytearray.fromhex(j[field]), dtype)
        strides = (j["row_stride"] * dtype.itemsize, j["col_stride"] * dtype.itemsize)
        if rows and cols:
            self.view = np.ndarray((rows, cols), dtype, self.buffer, j["offset"] * dtype.itemsize, strides)
        else:
            self.view = np.empty((rows, cols), dtype)


def group(j):
    m, n, k = j["m"], j["n"], j["k"]
    d = Operand(j["d"], m, n if j.get("gate", "none") == "none" else n // 2, "before")
    c = d if j["c"] == "d" else Operand(j["c"], m, n) if j["c"] else None
    bias = np.frombuffer(bytes.fromhex(j["bias_vector"]["data"]), numpy_dtype(j["bias_vector"]["dtype"])) if j["bias_vector"] else None
    return Operand(j["a"], m, k), Operand(j["b"], k, n), c, bias, d


def settings(case):
    assert case["form"] in FORMS
    name = case["activation"]
    parameters = {"leaky_relu": (case["p0"],), "clamp": (case["p0"], case["p1"])}
    activation = None if name == "none" else (name, *parameters[name]) if name in parameters else ACTIVATIONS[name]
    scalars = {}
    for field in ("alpha", "beta"):
        if case[field]:
            scalars[field] = np.frombuffer(bytes.fromhex(case[field]["data"]), numpy_dtype(case[field]["dtype"]))[0].item()
    assert case["gate"] in ("none", "halves", "interleaved")
    gate = None if case["gate"] == "none" else case["gate"]
    return dict(activation=activation, compute=case["compute"], gate=gate, context=CONTEXT, **scalars)


def scales(case, along):
    """The scales of a plain case: (name, Scale)."""
    found = {}
    for name in ("scale_a", "scale_b"):
        if name not in case:
            continue
        j = case[name]
        deep = 1 if j["kind"] in ("tensor", "vector") else -(-case["k"] // 128)
        size = {"tensor": 1, "128x128": -(-along[name] // 128)}.get(j["kind"], along[name])
        found[name] = ggemm.Scale(Operand(j, *((size, deep) if name == "scale_a" else (deep, size))).view, j["kind"])
    return found




def same_bytes(d, j):
    want = np.frombuffer(bytes.fromhex(j["d"]["data"]), np.uint8)
    got = d.buffer.view(np.uint8)
    assert got.size == want.size
    wrong = np.flatnonzero(got != want)
    assert not wrong.size, f"{wrong.size} bytes differ, the first at {wrong[0]}"


def beta_of(case, c):
    """Without beta, C is not read; matmul adds a C that it is given."""
    return {} if case["beta"] or c is None else {"beta": 0.0}


@pytest.mark.parametrize("case", [case for case in VECTORS["cases"] if case["form"] == "plain"], ids=lambda case: case["name"])
def test_plain(case):
    a, b, c, bias, d = group(case)
    if bias is not None and case["bias"] == "row":
        bias = bias.reshape(-1, 1)
    options = {**settings(case), **beta_of(case, c)}
    scaled = scales(case, {"scale_a": case["m"], "scale_b": case["n"]})
    got = ggemm.matmul(a.view, b.view, c=c and c.view, bias=bias, out=d.view, **scaled, **options)
    assert got is d.view
    same_bytes(d, case)
    # The same through a plan.
    a, b, c, _, d = group(case)
    scalars = {name: options.pop(name) for name in ("alpha", "beta") if name in options}
    plan = ggemm.plan(a.view, b.view, c=c and c.view, bias=bias, out=d.view, **scaled, **options)
    plan(a.view, b.view, c=c and c.view, bias=bias, out=d.view, **scaled, **scalars)
    same_bytes(d, case)


def pointers(operands, case, name, j):
    """An operand of all groups as `Pointers`, its strides given as the case says."""
    dtype = operands[0].buffer.dtype
    addresses = np.array([o.buffer.ctypes.data + x["offset"] * dtype.itemsize for o, x in zip(operands, j)], np.int64)
    if case["strides"] == "packed":
        return ggemm.Pointers(addresses, dtype)
    if case["strides"] == "const":
        return ggemm.Pointers(addresses, dtype, j[0]["row_stride"], j[0]["col_stride"])
    width = {"i32": np.int32, "i64": np.int64}[case["strides"]]
    return ggemm.Pointers(addresses, dtype, *(np.array([x[field] for x in j], width) for field in ("row_stride", "col_stride")))


GROUPED = [case for case in VECTORS["cases"] if case["form"] == "pointers"]


@pytest.mark.parametrize("case", GROUPED, ids=lambda case: case["name"])
def test_pointers(case):
    j = case["groups"]
    if not j:
        nothing = ggemm.Pointers(np.empty(0, np.int64), "f32")
        ggemm.grouped_matmul(nothing, nothing, sizes=(1, 1, 1), out=nothing, context=CONTEXT)
        return
    groups = [group(x) for x in j]
    operands = {"a": [g[0] for g in groups], "b": [g[1] for g in groups], "out": [g[4] for g in groups]}
    if groups[0][2] is not None:
        operands["c"] = [g[2] for g in groups]
    layouts = {name: [x["d"] if name == "out" or x[name] == "d" else x[name] for x in j] for name in operands}
    arguments = {name: pointers(operands[name], case, name, layouts[name]) for name in operands}
    if groups[0][3] is not None:
        biases = [g[3] for g in groups]
        arguments["bias"] = ggemm.Pointers(np.array([x.ctypes.data for x in biases], np.int64), biases[0].dtype, axis=case["bias"])
    sizes = (j[0]["m"], j[0]["n"], j[0]["k"])
    if case["sizes"] != "const":
        sizes = np.array([[x["m"], x["n"], x["k"]] for x in j], {"i32": np.int32, "i64": np.int64}[case["sizes"]])
    options = {**settings(case), **beta_of(case, groups[0][2])}
    ggemm.grouped_matmul(sizes=sizes, **arguments, **options)
    for g, x in zip(groups, j):
        same_bytes(g[4], x)
    # Once more through a plan, from the same start.
    for g, x in zip(groups, j):
        g[4].buffer.view(np.uint8)[:] = np.frombuffer(bytes.fromhex(x["d"]["before"]), np.uint8)
    scalars = {name: options.pop(name) for name in ("alpha", "beta") if name in options}
    plan = ggemm.grouped_plan(sizes=sizes, **arguments, **options)
    plan(**arguments, **scalars)
    for g, x in zip(groups, j):
        same_bytes(g[4], x)


@pytest.mark.parametrize("case", [case for case in GROUPED if case["groups"]], ids=lambda case: case["name"])
def test_lists(case):
    j = case["groups"]
    groups = [group(x) for x in j]
    column = lambda index: None if groups[0][index] is None else [g[index].view for g in groups]
    bias = None
    if groups[0][3] is not None:
        bias = [g[3].reshape(-1, 1) if case["bias"] == "row" else g[3] for g in groups]
    out = column(4)
    got = ggemm.grouped_matmul(column(0), column(1), c=column(2), bias=bias, out=out, **settings(case), **beta_of(case, groups[0][2]))
    assert got is out
    for g, x in zip(groups, j):
        same_bytes(g[4], x)


# --------------------------------------------------------------------------------------------------- one matrix, or many at a distance
class InNumpy:
    """Makes a case's operands; test_vectors_torch.py has the same for torch's memory."""

    @staticmethod
    def of_groups(j, groups, rows, cols, field="data"):
        """(buffer, view): [rows, cols], or [groups, rows, cols]."""
        dtype = numpy_dtype(j["dtype"])
        buffer = np.frombuffer(bytearray.fromhex(j[field]), dtype)
        shape, strides = (rows, cols), (j["row_stride"], j["col_stride"])
        if j["group_stride"]:
            shape, strides = (groups, *shape), (j["group_stride"], *strides)
        if 0 in shape:
            return buffer, np.empty(shape, dtype)
        return buffer, np.ndarray(shape, dtype, buffer, j["offset"] * dtype.itemsize, [stride * dtype.itemsize for stride in strides])

    @staticmethod
    def vector(j):
        return np.frombuffer(bytes.fromhex(j["data"]), {"i64": np.dtype(np.int64)}.get(j["dtype"]) or numpy_dtype(j["dtype"]))

    @staticmethod
    def bytes_of(buffer):
        return buffer.view(np.uint8)

    @staticmethod
    def reset(buffer, digits):
        buffer.view(np.uint8)[:] = np.frombuffer(bytes.fromhex(digits), np.uint8)


def form_scales(case, make):
    """As `scales`, of all groups; along what is ragged there is room for a partial block of each group."""
    found, groups, form = {}, case["groups"], case["form"]
    for name, along in (("scale_a", case["m"]), ("scale_b", case["n"])):
        if name not in case:
            continue
        j = case[name]
        if j["kind"] == "tensor":
            found[name] = make.vector(j)
            continue
        room = lambda size, ragged: size // 128 + groups if ragged else -(-size // 128)
        size = room(along, form == "ragged_m" and name == "scale_a") if j["kind"] == "128x128" else along
        deep = 1 if j["kind"] == "vector" else room(case["k"], form == "ragged_k")
        found[name] = ggemm.Scale(make.of_groups(j, groups, *((size, deep) if name == "scale_a" else (deep, size)))[1], j["kind"])
    return found


def run_form(case, make, context):
    """Computes a case by the one-call form and by a plan, and compares all of D's buffer."""
    groups, m, n, k = (case[name] for name in ("groups", "m", "n", "k"))
    width = n if case["gate"] == "none" else n // 2
    a, b = make.of_groups(case["a"], groups, case["a_rows"] or m, k)[1], make.of_groups(case["b"], groups, k, n)[1]
    buffer, out = make.of_groups(case["d"], groups, case["d_rows"] or m, width, "before")
    numbers = ("ends", "counts", "a_index", "d_index", "row_weights", "alpha", "beta")
    options = {name: make.vector(case[name]) for name in numbers if case[name]}
    options |= {**form_scales(case, make), "d_index_unique": case["d_index_unique"]}
    if case["c"]:
        options["c"] = out if case["c"] == "d" else make.of_groups(case["c"], groups, m, width)[1]
    if case["bias_vector"]:
        bias, rows = make.vector(case["bias_vector"]), (groups, -1) if case["bias_vector"]["group_stride"] else (-1,)
        options["bias"] = bias.reshape(*rows, 1) if case["bias"] == "row" else bias.reshape(rows)
    product = {name: value for name, value in settings(case).items() if name not in ("alpha", "beta")} | {"context": context}
    wanted = np.frombuffer(bytes.fromhex(case["d"]["data"]), np.uint8)

    def same():
        wrong = np.flatnonzero(make.bytes_of(buffer) != wanted)
        assert not wrong.size, f"{wrong.size} bytes differ, the first at {wrong[0]}"

    assert ggemm.grouped_matmul(a, b, out=out, **options, **product) is out
    same()
    make.reset(buffer, case["d"]["before"])
    scalars = {name: options.pop(name) for name in ("alpha", "beta") if name in options}
    plan = ggemm.grouped_plan(a, b, out=out, device_scalars=bool(scalars), **options, **product)
    given = {name: options[name] for name in ("c", "bias", "scale_a", "scale_b", "row_weights") if name in options}
    assert plan(a, b, out=out, **given, **scalars) is out
    same()


WHOLE = [case for case in VECTORS["cases"] if case["form"] not in ("plain", "pointers")]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["name"])
def test_forms(case):
    run_form(case, InNumpy, CONTEXT)

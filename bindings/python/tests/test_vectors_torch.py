# SPDX-License-Identifier: Apache-2.0
"""The shared vectors in torch's memory: on a GPU, where there is one, they give the same bits."""
import numpy as np
import pytest
from ggemm._arrays import LONG_NAMES, dtype_number

import ggemm

pytest.importorskip("torch", reason="needs torch: pip install torch")
import torch  # noqa: E402
from test_vectors import CONTEXT, VECTORS, WHOLE, beta_of, run_form, settings  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


class Operand:
    """A buffer on a device, the tensor that is a view of the matrix in it (None where torch has none), and the address of its first element."""

    def __init__(self, device, j, rows, cols, field="data"):
        self.raw = torch.tensor(list(bytes.fromhex(j[field])), dtype=torch.uint8, device=device)
        dtype = getattr(torch, LONG_NAMES[dtype_number(j["dtype"])])
        offset, strides = j.get("offset", 0), (j.get("row_stride", 1), j.get("col_stride", 1))
        self.address = self.raw.data_ptr() + offset * dtype.itemsize
        self.view = None
        if not rows or not cols:
            self.view = torch.empty((rows, cols), dtype=dtype, device=device)
        elif min(strides) >= 0:
            self.view = self.raw.view(dtype).as_strided((rows, cols), strides, offset)


def group(device, j):
    m, n, k = j["m"], j["n"], j["k"]
    make = lambda *arguments: Operand(device, *arguments)
    d = make(j["d"], m, n if j.get("gate", "none") == "none" else n // 2, "before")
    c = d if j["c"] == "d" else make(j["c"], m, n) if j["c"] else None
    bias = make(j["bias_vector"], 0, 0) if j["bias_vector"] else None  # its buffer is all of it
    return make(j["a"], m, k), make(j["b"], k, n), c, bias, d


def scales(device, case):
    found = {}
    for name, along in (("scale_a", case["m"]), ("scale_b", case["n"])):
        if name in case:
            j = case[name]
            deep = 1 if j["kind"] in ("tensor", "vector") else -(-case["k"] // 128)
            size = {"tensor": 1, "128x128": -(-along // 128)}.get(j["kind"], along)
            found[name] = ggemm.Scale(Operand(device, j, *((size, deep) if name == "scale_a" else (deep, size))).view, j["kind"])
    return found


class InTorch:
    """Makes the operands of run_form in torch's memory."""

    def __init__(self, device):
        self.device = device

    def of_groups(self, j, groups, rows, cols, field="data"):
        raw = torch.tensor(list(bytes.fromhex(j[field])), dtype=torch.uint8, device=self.device)
        dtype = getattr(torch, LONG_NAMES[dtype_number(j["dtype"])])
        shape, strides = (rows, cols), (j["row_stride"], j["col_stride"])
        if j["group_stride"]:
            shape, strides = (groups, *shape), (j["group_stride"], *strides)
        return raw, raw.view(dtype).as_strided(shape, strides, j["offset"]) if 0 not in shape else torch.empty(shape, dtype=dtype, device=self.device)

    def vector(self, j):
        dtype = torch.int64 if j["dtype"] == "i64" else getattr(torch, LONG_NAMES[dtype_number(j["dtype"])])
        return torch.tensor(list(bytes.fromhex(j["data"])), dtype=torch.uint8, device=self.device).view(dtype)

    def bytes_of(self, buffer):
        return buffer.cpu().numpy()

    def reset(self, buffer, digits):
        buffer.copy_(torch.tensor(list(bytes.fromhex(digits)), dtype=torch.uint8))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case["name"])
def test_forms_in_memory_of_torch(case, device):
    try:
        run_form(case, InTorch(device), None if device == "cuda" else CONTEXT)
    except ggemm.UnsupportedError as error:  # rows that meet, so far
        if device == "cpu":
            raise
        pytest.skip(str(error))


def same_memory(operand, j):
    want = np.frombuffer(bytes.fromhex(j["d"]["data"]), np.uint8)
    wrong = np.flatnonzero(operand.raw.cpu().numpy() != want)
    assert not wrong.size, f"{wrong.size} bytes differ, the first at {wrong[0]}"


SINGLE = [case for case in VECTORS["cases"] if case not in WHOLE]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case["name"])
def test_memory_of_torch(case, device):
    options = {**settings(case), "context": None if device == "cuda" else CONTEXT}
    j = case["groups"] if case["form"] == "pointers" else [case]
    if not j:
        return
    if case["form"] == "plain":
        a, b, c, bias, d = group(device, case)
        if None not in (a.view, b.view, d.view, c is None or c.view):
            if bias is not None:
                bias = bias.raw.view(getattr(torch, LONG_NAMES[dtype_number(case["bias_vector"]["dtype"])]))
                bias = bias.reshape(-1, 1) if case["bias"] == "row" else bias
            ggemm.matmul(a.view, b.view, c=c and c.view, bias=bias, out=d.view, **scales(device, case), **options, **beta_of(case, c))
            same_memory(d, case)
    if "scale_a" in case or "scale_b" in case:
        return
    # As groups of the grouped form, a plain product as the only one.
    groups = [group(device, x) for x in j]
    integers = lambda values: torch.tensor(values, dtype=torch.int64, device=device)
    arguments = {}
    for index, name in ((0, "a"), (1, "b"), (2, "c"), (4, "out")):
        if groups[0][index] is not None:
            layouts = [x["d"] if name == "out" or x[name] == "d" else x[name] for x in j]
            addresses = integers([g[index].address for g in groups])
            strides = (integers([x[field] for x in layouts]) for field in ("row_stride", "col_stride"))
            arguments[name] = ggemm.Pointers(addresses, layouts[0]["dtype"], *strides)
    if groups[0][3] is not None:
        arguments["bias"] = ggemm.Pointers(integers([g[3].address for g in groups]), j[0]["bias_vector"]["dtype"], axis=case["bias"])
    ggemm.grouped_matmul(sizes=integers([[x["m"], x["n"], x["k"]] for x in j]), **arguments, **options, **beta_of(case, groups[0][2]))
    for g, x in zip(groups, j):
        same_memory(g[4], x)

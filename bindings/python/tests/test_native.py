# SPDX-License-Identifier: Apache-2.0
"""The low level: all of ggemm.h is there."""
import os
import pathlib
import re

import numpy as np
import pytest

import ggemm
from ggemm import native

HEADER = (pathlib.Path(os.environ.get("GGEMM_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[3]) / "include/ggemm.h").read_text()
# Structs are made with their defaults; the text of an error is the exception's.
ELSEWHERE = re.compile(r"_init$|^last_error$")


def test_every_function_is_there():
    functions = re.findall(r"^GGEMM_API [\w* ]+?\bggemm_(\w+)\(", HEADER, re.M)
    assert len(functions) > 40
    missing = [name for name in functions if not ELSEWHERE.search(name) and not hasattr(native, name)]
    assert not missing


def test_every_enumerator_is_there():
    names = re.findall(r"^  GGEMM_(\w+) = ", HEADER, re.M)
    assert len(names) > 50
    assert not [name for name in names if not hasattr(native, name)]


def test_the_high_level_knows_every_name():
    from ggemm import _arrays, _errors, _problem

    statuses = re.findall(r"^  (GGEMM_ERROR_\w+) = (\d+)", HEADER, re.M)
    assert [(kind.status, str(number)) for number, kind in enumerate(_errors._BY_STATUS) if number] == statuses
    activations = {name.removeprefix("ACTIVATION_").lower() for name in dir(native) if name.startswith("ACTIVATION_")} - {"force32"}
    assert activations == _problem._ACTIVATIONS.keys()
    assert {native.dtype_name(number): native.dtype_size(number) for number in range(1, 100) if native.dtype_size(number)} == {
        name: int(native.dtype_size(number)) for number, name in _arrays.NAMES.items() if number < 64}


def test_a_product_by_hand(rng):
    a, b, d = rng.integers(-4, 5, (5, 7)).astype(np.float32), rng.integers(-4, 5, (7, 6)).astype(np.float32), np.zeros((5, 6), np.float32)
    options = native.context_options()
    options.device = native.DEVICE_HOST
    context = native.context_create(options)
    desc, args = native.gemm_desc(), native.gemm_args()
    desc.m, desc.n, desc.k = 5, 6, 7
    desc.a.dtype = desc.b.dtype = desc.d.dtype = native.F32
    assert desc.a.row_stride == native.packed_stride() and args.m == native.AS_DESCRIBED
    args.a, args.b, args.d = a.ctypes.data, b.ctypes.data, d.ctypes.data
    native.gemm(context, desc, args, None)
    assert np.array_equal(d, a @ b)
    plan = native.plan_create(context, desc)
    d[:] = 0
    native.plan_run(plan, args, 0)
    assert np.array_equal(d, a @ b) and native.plan_run_seconds(plan, args, None, None, 3) > 0
    desc.d.dtype = native.DTYPE_NONE
    with pytest.raises(ggemm.ArgumentError, match="d"):
        native.gemm(context, desc, args, None)
    native.plan_destroy(plan)
    native.context_destroy(context)

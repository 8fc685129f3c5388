# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays: every wrong one is an ArgumentError that names it, and the right ones of any library are taken."""
import collections
import fractions

import ml_dtypes
import numpy as np
import pytest

import ggemm

F = np.arange(16, dtype=np.float32).reshape(4, 4)
ENDS = np.array([4])
NO_TEXT = "is no text of UTF-8 without NUL"


def at(*matrices):
    return np.array([matrix.ctypes.data for matrix in matrices], np.int64)


CALLS = {
    "matmul": lambda **settings: ggemm.matmul(F, F, **settings),
    "plan": lambda **settings: ggemm.plan(F, F, **settings),
    "problem": lambda **settings: ggemm.problem(F, F, **settings),
    "rows": lambda **settings: ggemm.grouped_matmul(F, F[None], ends=ENDS, **settings),
    "lists": lambda **settings: ggemm.grouped_matmul([F], [F], **settings),
    "grouped_plan": lambda **settings: ggemm.grouped_plan(F, F[None], ends=ENDS, **settings),
    "grouped_problem": lambda **settings: ggemm.grouped_problem(F, F[None], ends=ENDS, **settings),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("settings, message", [
    (dict(activation={}), "activation={} is none of none, relu"), (dict(activation=[[]]), r"activation=\[\] is none of"),
    (dict(activation=F), "activation=array.* is none of"), (dict(activation=("leaky_relu", [])), r"activation's parameter=\[\] is no number"),
    (dict(activation=("clamp", "1", 2)), "activation's parameter='1' is no number"), (dict(activation=("clamp", 1, 10**400)), "parameter=10+... is no number"),
    (dict(gate=[]), r"gate=\[\] is none of halves, interleaved"), (dict(compute=[]), r"compute=\[\] is none of default, tf32"), (dict(dtype=[]), "dtype=void"),
    (dict(max_ctas=None), "max_ctas=None is no integer"), (dict(max_ctas=1.5), "max_ctas=1.5 is no integer"), (dict(max_ctas=[]), "is no integer"),
    (dict(max_ctas=1 << 40), "max_ctas=1099511627776 is not between"), (dict(max_ctas=10**5000), "max_ctas=0x.* is not between"),
    (dict(context="cpu"), "context='cpu' is no ggemm.Context"), (dict(context=[]), r"context=\[\] is no"), (dict(context=0), "context=0 is no"),
    (dict(tune_key="a\0b"), rf"tune_key='a\\x00b' {NO_TEXT}"), (dict(tune_key=3), NO_TEXT), (dict(config="\ud800"), NO_TEXT),
])
def test_settings(call, settings, message):
    with pytest.raises(ggemm.ArgumentError, match=message):
        call(**settings)


def test_settings_without_a_hash_are_taken_where_they_say_something():
    want = ggemm.matmul(-F, F, activation=("leaky_relu", 0.5))
    for _ in range(2):
        assert np.array_equal(ggemm.matmul(-F, F, activation=["leaky_relu", 0.5]), want)
        assert np.array_equal(ggemm.grouped_matmul(-F, F[None], ends=ENDS, activation=["leaky_relu", 0.5], expected=[4, 4, 4]), want)


@pytest.mark.parametrize("call", [CALLS["matmul"], CALLS["rows"], CALLS["lists"], lambda **numbers: ggemm.plan(F, F)(F, F, **numbers),
                                  lambda **numbers: ggemm.plan(F, F)(F[:2], F, **numbers),
                                  lambda **numbers: ggemm.grouped_plan(F, F[None], ends=ENDS)(F, F[None], **numbers)])
def test_numbers_and_streams(call):
    for value in (fractions.Fraction(2), ml_dtypes.bfloat16(2), np.int8(2), 2):
        got = call(alpha=value, stream=0)
        got = got[0] if isinstance(got, list) else got
        assert np.array_equal(got, 2 * (F @ F)[: len(got)])
    for options, message in ((dict(alpha=10**400), "alpha=10+... is no number that f64 holds"), (dict(beta=-(10**5000)), "beta=-0x.* is no number that f64 holds"),
                             (dict(alpha=1j), "alpha"), (dict(alpha="2"), "alpha"), (dict(stream=1 << 70), "stream=.* is not between 0 and"),
                             (dict(stream=-1), "stream=-1 is not between 0"), (dict(stream=1.5), "stream is a float")):
        with pytest.raises(ggemm.ArgumentError, match=message):
            call(**options)


def test_true_is_one():
    assert np.array_equal(ggemm.matmul(F, F, alpha=np.bool_(True)), F @ F)


TILES = ggemm.tiles(8, 8, (2, 2))
STATUS = "it must be int32 .4."


@pytest.mark.parametrize("call, message", [
    (lambda: CALLS["matmul"](config=[]), r"config=.\[\]"), (lambda: CALLS["rows"](config={}), "config=.{}"),
    (lambda: CALLS["rows"](expected=("a", 2, 3)), r"expected\[0\]='a' is no integer"), (lambda: CALLS["rows"](expected=5), "expected=5: it must be the mean"),
    (lambda: CALLS["rows"](expected=(1 << 70, 1, 1)), r"expected\[0\]=.* is not between"),
    (lambda: TILES["a"], "pid='a' is no integer"), (lambda: TILES[1.5], "pid=1.5 is no integer"), (lambda: ggemm.tiles(10.5, 8, (2, 2)), "m=10.5 is no integer"),
    (lambda: ggemm.tiles("10", 8, (2, 2)), r"m\[0\]='1' is no integer"), (lambda: ggemm.tiles(8, [4, 2.5], (2, 2)), r"n\[1\]=2.5 is no integer"),
    (lambda: ggemm.tiles(np.ones(3), 8, (2, 2)), r"m\[0\]=.*1.0.* is no integer"), (lambda: ggemm.tiles(8, 8, (2, 2), "2"), "raster='2' is no integer"),
    (lambda: ggemm.tiles(8, 8, (2, 2.5)), r"tile\[1\]=2.5 is no integer"), (lambda: ggemm.tiles(1 << 70, 8, (2, 2)), "m=.* is not between"),
    (lambda: ggemm.Config.parse(3), f"name=3 {NO_TEXT}"), (lambda: ggemm.has_feature(None), f"name=None {NO_TEXT}"),
    (lambda: ggemm.Matrix((1 << 70, 4), "f32"), r"shape\[0\]=.* is not between"), (lambda: ggemm.Matrix((-4, 4), "f32"), r"shape\[0\]=-4 is not between"),
    (lambda: ggemm.Matrix((4, 4), "f32", strides=(1,)), r"strides=.1,.: one for each size of shape=.4, 4. is wanted"),
    (lambda: ggemm.Matrix((4, 4), "f32", strides=()), "strides=.*: one for each size"), (lambda: ggemm.Matrix(4, "f32"), "shape=4: 3 sizes at most"),
    (lambda: ggemm.Matrix((2, 1 << 62, 1 << 62), "f32"), r"strides\[0\]=.* is not between"), (lambda: ggemm.Matrix((1,) * 4, "f32"), "3 sizes at most"),
    (lambda: ggemm.Context("cpu", cache_limit_bytes=-1), "cache_limit_bytes=-1 is not between 0"), (lambda: ggemm.Context("cpu", threads=1.5), "threads=1.5"),
    (lambda: ggemm.Context("cpu", cuda_context="x"), "cuda_context='x'"), (lambda: ggemm.Context("cpu", cache_dir="a\0b"), f"cache_dir=.* {NO_TEXT}"),
    (lambda: ggemm.Context("cpu", cache_dir=3), f"cache_dir=3 {NO_TEXT}"), (lambda: ggemm.Context("cpu", level=[]), r"level=\[\] is none of error, warning"),
    (lambda: ggemm.context("cpu").clear_cache(3), f"nvrtc=3 {NO_TEXT}"), (lambda: ggemm.Pointers(at(F), "f32", shape=(4, -3)), r"shape\[1\]=-3 is not between"),
    (lambda: ggemm.Pointers(at(F), "f32", shape=4), "shape=4: rows and columns"), (lambda: ggemm.Scale(F, []), r"kind=\[\] is none of tensor, vector"),
    (lambda: by_pointers(bias=ggemm.Pointers(at(F), "f32", axis=[])), r"bias's axis=\[\] is none of column, row"),
    (lambda: by_pointers(sizes=(1 << 70, 4, 4)), "m=.* is not between"), (lambda: by_pointers(row_stride=1 << 70), "a's row_stride=.* is not between"),
    (lambda: ggemm.Fault.read([99, 0, 0, 0]), r"status=.99, 0, 0, 0. is nothing that checked mode leaves"),
    (lambda: ggemm.Fault.read([1, 0, 99, 0]), "is nothing that checked mode leaves"),
    (lambda: ggemm.Fault.read(5), f"status=5: {STATUS}"), (lambda: ggemm.Fault.read("abcd"), r"status\[0\]='a'"), (lambda: ggemm.Fault.read([1, 2]), STATUS),
    (lambda: ggemm.tune(CALLS["problem"](), budget="1"), "budget='1' is no number"), (lambda: ggemm.tune(None), "tune takes problems"),
    (lambda: ggemm.tune(CALLS["problem"](), configs=5), "configs=5: a list"), (lambda: ggemm.tune(CALLS["problem"](), configs=["a\0"]), NO_TEXT),
    (lambda: ggemm.tune(CALLS["grouped_problem"](), sample_sizes=[("a", 1, 1)]), r"sample_sizes\[0\]\[0\]='a' is no integer"),
    (lambda: ggemm.Context("cpu", log=3), "log=3 cannot be called"), (lambda: ggemm.Context("cpu").set_log("x"), "log='x' cannot be called"),
    (lambda: ggemm.Context("cpu", allocate=len, deallocate=4), "deallocate=4 cannot"), (lambda: ggemm.prepare([CALLS["problem"]()], 3), "progress=3 cannot"),
    (lambda: ggemm.tune(CALLS["problem"](), progress=3), "progress=3 cannot be called"),
    (lambda: ggemm.configs(None), "configs takes problems"), (lambda: ggemm.prepare(5), "problems=5: a list is wanted"),
])
def test_other_arguments(call, message):
    with pytest.raises(ggemm.ArgumentError, match=message):
        call()


def by_pointers(sizes=(4, 4, 4), row_stride=None, **options):
    operands = ggemm.Pointers(at(F), "f32", row_stride, None if row_stride is None else 1), ggemm.Pointers(at(F), "f32")
    return ggemm.grouped_matmul(*operands, sizes=sizes, out=ggemm.Pointers(at(np.empty_like(F)), "f32"), **options)


def test_integers_of_other_libraries(tmp_path):
    four = np.int64(4)
    shape = collections.namedtuple("Shape", "rows columns")(four, four)
    assert ggemm.Matrix(shape, "f32") == ggemm.Matrix([4, 4], "f32", strides=[np.int32(4), 1]) and ggemm.Matrix((), "f32").strides == ()
    assert ggemm.tiles(np.int64(8), np.array([8, 8]), (np.int8(2), 2), np.int16(1))[np.int64(-1)] == ggemm.tiles(8, [8, 8], (2, 2))[31]
    assert TILES[np.int64(1)] == TILES[1] and [tile for tile in TILES][-1] == TILES[-1]
    assert np.array_equal(CALLS["matmul"](max_ctas=four), F @ F) and np.array_equal(CALLS["rows"](expected=np.array([4, 4, 4])), F @ F)
    assert ggemm.Context("cpu", cache_dir=tmp_path, threads=np.int8(1)).cache_entries() == []

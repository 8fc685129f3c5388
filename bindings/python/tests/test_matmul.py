# SPDX-License-Identifier: Apache-2.0
import ml_dtypes
import numpy as np
import pytest

import ggemm

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def integers(rng, *shape, dtype=np.float32):
    return rng.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_new_array(rng, dtype):
    a, b = integers(rng, 5, 7, dtype=dtype), integers(rng, 7, 6, dtype=dtype)
    d = ggemm.matmul(a, b)
    assert d.dtype == dtype and d.flags.c_contiguous
    assert np.array_equal(d.astype(np.float64), a.astype(np.float64) @ b.astype(np.float64))


VIEWS = {"rows": lambda x: x, "columns": np.asfortranarray, "no unit stride": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
         "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1]}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_any_strides_without_a_copy(rng, view):
    a, b, c = view(integers(rng, 5, 7)), view(integers(rng, 7, 6)), view(integers(rng, 5, 6))
    out = view(np.zeros((5, 6), np.float32))
    want = a @ b + c
    assert ggemm.matmul(a, b, c=c, out=out) is out
    assert np.array_equal(out, want)


def test_repeated_rows(rng):
    a, b = np.broadcast_to(integers(rng, 1, 7), (5, 7)), integers(rng, 7, 6)
    assert np.array_equal(ggemm.matmul(a, b), a @ b)


@pytest.mark.parametrize("m, n, k", [(0, 4, 3), (4, 0, 3), (4, 3, 0), (0, 0, 0), (1, 1, 1), (1, 9, 5), (9, 1, 5)])
def test_small_and_empty(rng, m, n, k):
    a, b, bias = integers(rng, m, k), integers(rng, k, n), integers(rng, n)
    assert np.array_equal(ggemm.matmul(a, b, bias=bias), a @ b + bias)
    assert np.array_equal(ggemm.matmul(a.T.copy().T, b.T.copy().T), a @ b)


def test_alpha_beta_c_bias_activation(rng):
    a, b, c, bias = integers(rng, 5, 7), integers(rng, 7, 6), integers(rng, 5, 6), integers(rng, 6)
    want = np.maximum(0.5 * (a @ b) - 2 * c + bias, 0)
    assert np.array_equal(ggemm.matmul(a, b, c=c, bias=bias, alpha=0.5, beta=-2, activation="relu"), want)
    assert np.array_equal(ggemm.matmul(a, b, alpha=np.float64(0.5), c=c, beta=np.int64(-2), bias=bias[None, :], activation="relu"), want)
    row = integers(rng, 5, 1)
    assert np.array_equal(ggemm.matmul(a, b, bias=row), a @ b + row)
    assert np.array_equal(ggemm.matmul(a, b, c=c), a @ b + c)  # beta is 1 beside a c
    assert np.array_equal(ggemm.matmul(a, b, activation=("clamp", -3, 9)), (a @ b).clip(-3, 9))
    x = a @ b
    assert np.allclose(ggemm.matmul(a, b, activation="leaky_relu"), np.where(x > 0, x, 0.01 * x), rtol=1e-6)


def test_c_may_be_out(rng):
    a, b, c = integers(rng, 5, 7), integers(rng, 7, 6), integers(rng, 5, 6)
    want = a @ b + 2 * c
    ggemm.matmul(a, b, c=c, beta=2, out=c)
    assert np.array_equal(c, want)


def test_scalars_in_memory(rng):
    a, b, c = integers(rng, 5, 7), integers(rng, 7, 6), integers(rng, 5, 6)
    alpha, beta = np.array([2.0], np.float32), np.array(-1.0, np.float32)
    assert np.array_equal(ggemm.matmul(a, b, alpha=alpha), 2 * (a @ b))
    assert np.array_equal(ggemm.matmul(a, b, c=c, alpha=alpha, beta=beta), 2 * (a @ b) - c)
    with pytest.raises(ggemm.ArgumentError, match="beta is a number, but alpha and beta are read from memory, as one of them is an array"):
        ggemm.matmul(a, b, c=c, alpha=alpha)
    grouped = ggemm.grouped_plan(a, b[None], ends=np.array([5]), device_scalars=True)
    for call in (lambda: ggemm.plan(a, b, device_scalars=True)(a, b, alpha=2), lambda: grouped(a, b[None], alpha=2)):
        with pytest.raises(ggemm.ArgumentError, match="alpha is a number, but .* or the plan was made with device_scalars: give both as arrays on the CPU"):
            call()
    with pytest.raises(ggemm.ArgumentError, match="alpha has 4 dimensions: 3 at most are taken"):  # the last would not have been looked at
        ggemm.matmul(a, b, alpha=np.zeros((1, 1, 1, 5), np.float32))
    with pytest.raises(ggemm.ArgumentError, match="alpha is an array of 1 on the CPU: it must have one element of float32"):
        ggemm.matmul(a, b, alpha=np.array([2.0]))
    with pytest.raises(ggemm.ArgumentError, match="made for numbers"):
        ggemm.plan(a, b)(a, b, alpha=alpha)


def test_output_dtypes(rng):
    f32, f64, bf16 = (integers(rng, 4, 4, dtype=t) for t in (np.float32, np.float64, ml_dtypes.bfloat16))
    i8, e4m3 = integers(rng, 4, 4, dtype=np.int8), integers(rng, 4, 4, dtype=ml_dtypes.float8_e4m3fn)
    for a, b, want in [(f32, f32, "float32"), (f32, f64, "float64"), (bf16, bf16, "bfloat16"), (bf16, f32, "float32"), (i8, i8, "int32"),
                       (e4m3, e4m3, "bfloat16")]:
        assert ggemm.matmul(a, b).dtype.name == want
    for spelling in ("bf16", "bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)):
        assert ggemm.matmul(f32, f32, dtype=spelling).dtype == ml_dtypes.bfloat16
    assert ggemm.matmul(i8, i8, dtype=np.int8).dtype == np.int8
    assert np.array_equal(ggemm.matmul(i8, i8, alpha=3), 3 * (i8.astype(np.int32) @ i8.astype(np.int32)))


def test_i8_products_take_whole_numbers(rng):
    """Whichever way a call goes: they would be cut to integers without a word."""
    a, b, c = integers(rng, 4, 4, dtype=np.int8), integers(rng, 4, 4, dtype=np.int8), integers(rng, 4, 4, dtype=np.int32)
    w, ends, status = np.stack([b, b]), np.array([1, 4]), np.zeros(4, np.int32)
    plan, grouped = ggemm.plan(a, b, c=c), ggemm.grouped_plan(a, w, ends=ends, c=c)
    calls = [lambda **numbers: ggemm.matmul(a, b, c=c, **numbers), lambda **numbers: plan(a, b, c=c, **numbers),
             lambda **numbers: plan(a[:2].copy(), b, c=c[:2].copy(), **numbers), lambda **numbers: ggemm.grouped_matmul([a], [b], c=[c], **numbers)[0],
             lambda **numbers: ggemm.grouped_matmul(a, w, ends=ends, c=c, **numbers), lambda **numbers: grouped(a, w, c=c, **numbers),
             lambda **numbers: ggemm.grouped_matmul(a, w, ends=ends, c=c, checked=status, **numbers)]
    wide = a.astype(np.int32) @ b.astype(np.int32)
    for call in calls:
        got = call(alpha=-3.0, beta=np.int64(2))
        assert np.array_equal(got, (-3 * wide + 2 * c)[: len(got)])
        for number in (0.5, 1.9, 1e12, 1 << 31, np.float32(0.5), float("nan"), float("inf")):
            for name in ("alpha", "beta"):
                with pytest.raises(ggemm.ArgumentError, match=f"{name}={float(number)}, but i8 products stored as i32 take 32-bit integers"):
                    call(**{name: number})


def test_tf32_rounds():
    a = np.full((1, 1), 1 + 2.0**-12, np.float32)
    one = np.ones((1, 1), np.float32)
    assert ggemm.matmul(a, one)[0, 0] == a[0, 0] and ggemm.matmul(a, one, compute="tf32")[0, 0] == 1


def test_plans(rng):
    a, b = integers(rng, 5, 7), integers(rng, 7, 6)
    plan = ggemm.plan(a, b, activation="relu")
    out = np.empty((5, 6), np.float32)
    assert plan(a, b, out=out, alpha=2) is out
    assert np.array_equal(out, np.maximum(2 * (a @ b), 0)) and np.array_equal(plan(-a, b), np.maximum(-a @ b, 0))
    assert plan.config.startswith("host_f32") and plan.config in plan.explain() and plan.context is ggemm.context("cpu")
    spec = ggemm.plan(ggemm.Matrix((5, 7), "f32"), ggemm.Matrix((7, 6), np.float32))
    assert np.array_equal(spec(a, b), a @ b)


def test_plans_take_other_sizes_of_packed_arrays(rng):
    plan = ggemm.plan(ggemm.Matrix((5, 7), "f32"), ggemm.Matrix((7, 6), "f32"))
    for m, n, k in [(5, 6, 7), (9, 6, 7), (3, 2, 1), (0, 2, 1), (8, 8, 0)]:
        a, b = integers(rng, m, k), integers(rng, k, n)
        assert np.array_equal(plan(a, b), a @ b)
    by_columns = ggemm.plan(ggemm.Matrix((5, 7), "f32"), ggemm.Matrix((7, 6), "f32", strides=(1, 7)))
    a, b = integers(rng, 11, 7), integers(rng, 9, 7).T
    assert np.array_equal(by_columns(a, b), a @ b)


def test_plans_refuse_a_bias_whose_elements_do_not_follow_each_other(rng):
    a, b = integers(rng, 4, 4), integers(rng, 4, 4)
    plan = ggemm.plan(a, b, bias=np.zeros(4, np.float32))
    assert np.array_equal(plan(a[:2], b, bias=np.arange(4, dtype=np.float32)), a[:2] @ b + np.arange(4))
    for bias in (np.arange(4, dtype=np.float32)[::-1], np.arange(8, dtype=np.float32)[::2], np.broadcast_to(np.float32(1), 4)):
        for rows in (4, 2):
            with pytest.raises(ggemm.ArgumentError, match="bias has strides .*: its elements must follow each other"):
                plan(a[:rows], b, bias=bias)


def test_the_arguments_of_plans(rng):
    a, b, d = integers(rng, 5, 7), integers(rng, 7, 6), np.empty((5, 6), np.float32)
    plan = ggemm.plan(a, b)
    out = "".join(["o", "ut"])  # not the object that stands in source
    assert plan(b=b, a=a, **{out: d}) is d and np.array_equal(d, a @ b)
    assert np.array_equal(plan(a, b=b), a @ b)
    for call, message in [(lambda: plan(a), "b is missing"), (lambda: plan(b=b), "a is missing"), (lambda: plan(a, b, d), "3 arguments were given"),
                          (lambda: plan(a, b, a=a), "'a' was given twice"), (lambda: plan(a, b, d=d), "takes no argument 'd'"),
                          (lambda: plan(a, b, ends=d), "takes no argument 'ends'"), (lambda: plan(a, b, watch=d), "takes no argument 'watch'")]:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(TypeError, match="never made"):
        ggemm.Plan.__new__(ggemm.Plan)(a, b)
    grouped = ggemm.grouped_plan(np.stack([a] * 2), np.stack([b] * 2))
    assert np.array_equal(grouped(b=np.stack([b] * 2), a=np.stack([a] * 2)), np.stack([a @ b] * 2))


def test_what_plans_refuse(rng):
    a, b, c = integers(rng, 5, 7), integers(rng, 7, 6), integers(rng, 5, 6)
    plan, with_c = ggemm.plan(a, b), ggemm.plan(a, b, c=c)
    for call, message in [
        (lambda: plan(a.astype(np.float64), b), "a is f64, the plan is for f32"),
        (lambda: plan(np.asfortranarray(a), b), r"a has strides \(1, 5\) at 5x7; the plan was made for \(7, 1\) at 5x7"),
        (lambda: plan(a, b, c=c), "c is given, but the plan was made without it"),
        (lambda: with_c(a, b), "c is missing, but the plan was made with it"),
        (lambda: plan(a, b[:5]), r"k differs: A is 5x7 \(k=7\), B is 5x6 \(k=5\)"),
        (lambda: plan(a, b, out=c.astype(np.float64)), "out is f64, the plan is for f32"),
        (lambda: plan(a, b, out=np.empty((6, 5), np.float32)), "out is 6x5, but D is 5x6"),
        (lambda: plan(a, ggemm.Matrix((7, 6), "f32")), "b is a Matrix without memory"),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=message):
            call()


def test_errors(rng):
    a, b = integers(rng, 5, 7), integers(rng, 7, 6)
    read_only = np.zeros((5, 6), np.float32)
    read_only.flags.writeable = False
    for call, message in [
        (lambda: ggemm.matmul(np.zeros((64, 128)), np.zeros((96, 32))), r"^k differs: A is 64x128 \(k=128\), B is 96x32 \(k=96\)$"),
        (lambda: ggemm.matmul(a[0], b), r"a has 1 dimensions, and 2 are needed: \[7\]"),
        (lambda: ggemm.matmul(a.astype(np.int16), b), "a has dtype int16, which is none of ggemm's: f64 f32 f16 bf16 e4m3 e5m2 i8 i32"),
        (lambda: ggemm.matmul(a.astype(np.int64), b), "a is int64"),
        (lambda: ggemm.matmul(a.tolist(), b), "a is a list, not an array"),
        (lambda: ggemm.matmul(a, b, out=read_only), "out is read-only"),
        (lambda: ggemm.matmul(a, b, out=np.zeros((6, 5), np.float32)), "out is 6x5, but D is 5x6"),
        (lambda: ggemm.matmul(a, b, c=np.zeros((5, 5), np.float32)), "c is 5x5, but D is 5x6"),
        (lambda: ggemm.matmul(a, b, bias=np.zeros(5, np.float32)), r"bias is 5: it must be \[n\] or \[1,n\] .* D is 5x6"),
        (lambda: ggemm.matmul(a, b, bias=np.zeros((), np.float32)), r"bias is a single number: it must be \[n\]"),
        (lambda: ggemm.matmul(a, b, c=np.zeros((), np.float32)), "c is a single number, but D is 5x6"),
        (lambda: ggemm.matmul(np.zeros((2, 3, 4, 5, 6, 7), np.float32), b), "a has 6 dimensions: 3 at most are taken"),
        (lambda: ggemm.matmul(a, b, bias=np.zeros((1, 1, 1, 6), np.float32)), "bias has 4 dimensions: 3 at most"),
        (lambda: ggemm.matmul(a, b, bias=np.zeros(12, np.float32)[::2]), "bias has strides .2,.: its elements must follow"),
        (lambda: ggemm.matmul(a, b, activation="swish"), "activation='swish' is none of none, relu"),
        (lambda: ggemm.matmul(a, b, activation="clamp"), "'clamp' takes 2 parameters, not 0"),
        (lambda: ggemm.matmul(a, b, compute="fast"), "compute='fast' is none of"),
        (lambda: ggemm.matmul(a, b, dtype="f8"), "dtype=f8 is none of ggemm's dtypes"),
        (lambda: ggemm.matmul(a, b, dtype=(int, -1)), "is none of ggemm's dtypes"),
        (lambda: ggemm.matmul(a, b, activation=()), "is none of none, relu"),
        (lambda: ggemm.matmul(a, b, activation=5), "activation=5 is none of"),
        (lambda: ggemm.matmul(a, b, activation=("leaky_relu", "x")), "parameter='x' is no number"),
        (lambda: ggemm.matmul(a, b, dtype="f16", out=np.zeros((5, 6), np.float32)), "dtype=f16, but out is f32"),
        (lambda: ggemm.matmul(a, b, config="no_such_name"), "no_such_name"),
        (lambda: ggemm.matmul(a, b, stream="seven"), "stream is a str"),
        (lambda: ggemm.matmul(np.frombuffer(bytearray(4 * 36 + 1), np.uint8)[1:].view(np.float32).reshape(6, 6), b[:6]),
         "a=0x[0-9a-f]+ is not a multiple of its element's 4 bytes"),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=message) as caught:
            call()
        assert isinstance(caught.value, ValueError) and caught.value.status == "GGEMM_ERROR_ARGUMENT"


def test_nothing_is_written_on_failure(rng):
    a, b, out = integers(rng, 5, 7), integers(rng, 7, 6), np.full((5, 6), 7, np.float32)
    with pytest.raises(ggemm.Error):
        ggemm.matmul(a, b, out=out, config="sm80_f32_f32_f32_tn_128x128x32_w2x2_s3_r8")
    assert (out == 7).all()


def test_a_cached_call_sees_the_new_settings(rng):
    a, b = integers(rng, 5, 7), integers(rng, 7, 6)
    own = ggemm.Context("cpu", threads=1, cblas_path="")
    for _ in range(2):
        assert np.array_equal(ggemm.matmul(a, b), a @ b)
        assert np.array_equal(ggemm.matmul(a, b, activation="relu"), np.maximum(a @ b, 0))
        assert np.array_equal(ggemm.matmul(a, b, context=own), a @ b)
        assert ggemm.matmul(a, b, dtype="f64").dtype == np.float64
        assert np.array_equal(ggemm.matmul(a.T.copy().T, b), a @ b)


def test_convert():
    x = np.array([1.0, 300.0, -1e9, np.nan, 2.5])
    assert ggemm.convert(x, "i8").tolist() == [1, 127, -128, 0, 2]
    assert ggemm.convert(x, "e4m3").astype(np.float32)[:3].tolist() == [1, 288, -448]
    assert ggemm.convert(x.reshape(5, 1)[::2], np.float32).shape == (3, 1)
    assert ggemm.convert(np.ones((1, 2, 3, 4, 5)), np.float32).shape == (1, 2, 3, 4, 5)


def test_what_cannot_be_converted_is_refused(monkeypatch):
    for array in ([[1.0, 2.0], [3.0]], ["one"], np.ones(3, np.complex64)):
        with pytest.raises(ggemm.ArgumentError, match="array"):
            ggemm.convert(array, "f32")
    with pytest.raises(ggemm.ArgumentError, match="array is int64, which is none of ggemm's dtypes"):
        ggemm.convert(np.arange(4), "f32")
    with pytest.raises(ggemm.ArgumentError, match="dtype"):
        ggemm.convert(np.ones(3), "f33")
    monkeypatch.delitem(ggemm._arrays.NUMPY_DTYPES, ggemm._arrays.BF16)  # as without ml_dtypes
    with pytest.raises(ggemm.UnsupportedError, match="ml_dtypes"):
        ggemm.convert(np.ones(3), "bf16")


def test_operands_that_are_not_there():
    x = np.ones((2, 2), np.float32)
    for call in (lambda: ggemm.matmul(None, x), lambda: ggemm.matmul(x, None), lambda: ggemm.plan(None, None), lambda: ggemm.grouped_matmul(None, x[None]), lambda: ggemm.grouped_matmul(x, None)):
        with pytest.raises(ggemm.ArgumentError, match="(a|b) is None"):
            call()
    for problem in (None, 3):
        with pytest.raises(ggemm.ArgumentError, match="prepare takes problems"):
            ggemm.prepare([problem])

# SPDX-License-Identifier: Apache-2.0
import ml_dtypes
import numpy as np
import pytest

import ggemm


def integers(rng, *shape, dtype=np.float32):
    return rng.integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_rows_by_group(rng, width, dtype):
    x, w = integers(rng, 12, 5, dtype=dtype), integers(rng, 4, 5, 6, dtype=dtype)
    ends = np.array([3, 3, 10, 12], width)
    y = ggemm.grouped_matmul(x, w, ends=ends)
    wide_x, wide_w = x.astype(float), w.astype(float)
    want = np.concatenate([wide_x[:3] @ wide_w[0], wide_x[3:10] @ wide_w[2], wide_x[10:] @ wide_w[3]])
    assert y.dtype == dtype and np.array_equal(y.astype(float), want)
    by_columns = np.ascontiguousarray(w.transpose(0, 2, 1)).transpose(0, 2, 1)
    assert np.array_equal(ggemm.grouped_matmul(np.asfortranarray(x), by_columns, ends=ends).astype(float), want)


def test_rows_past_the_last_end_are_not_written(rng):
    x, w, out = integers(rng, 6, 5), integers(rng, 2, 5, 4), np.full((6, 4), 9, np.float32)
    ggemm.grouped_matmul(x, w, ends=np.array([1, 4]), out=out)
    assert np.array_equal(out[:1], x[:1] @ w[0]) and np.array_equal(out[1:4], x[1:4] @ w[1]) and (out[4:] == 9).all()


def test_columns_by_group(rng):
    a, b = integers(rng, 3, 4, 5), integers(rng, 5, 11)
    want = np.concatenate([a[0] @ b[:, :2], a[2] @ b[:, 2:]], axis=1)
    for matrix in (b, np.asfortranarray(b)):
        assert np.array_equal(ggemm.grouped_matmul(a, matrix, ends=np.array([2, 2, 11], np.int32)), want)


def test_parts_of_k_by_group(rng):
    a, b, c = integers(rng, 4, 11), integers(rng, 11, 5), integers(rng, 3, 4, 5)
    ends = np.array([2, 2, 11], np.int32)
    want = np.stack([a[:, :2] @ b[:2], np.zeros((4, 5), np.float32), a[:, 2:] @ b[2:]])
    assert np.array_equal(ggemm.grouped_matmul(a, b, ends=ends), want)
    assert np.array_equal(ggemm.grouped_matmul(np.asfortranarray(a), b, ends=ends, c=c), want + c)
    assert ggemm.grouped_matmul(c[0], c[1].T, ends=np.empty(0, np.int32)).shape == (0, 4, 4)


def test_batch(rng):
    a, b = integers(rng, 3, 4, 5), integers(rng, 3, 5, 6)
    assert np.array_equal(ggemm.grouped_matmul(a, b), a @ b)
    assert np.array_equal(ggemm.grouped_matmul(np.broadcast_to(a[:1], (3, 4, 5)), b), a[0] @ b)
    assert np.array_equal(ggemm.grouped_matmul(a[::2], b[::-2]), a[::2] @ b[::-2])


def test_bias_of_arrays(rng):
    x, w, ends = integers(rng, 6, 5), integers(rng, 2, 5, 4), np.array([2, 6])
    shared, own = integers(rng, 4), integers(rng, 2, 4)
    plain = ggemm.grouped_matmul(x, w, ends=ends)
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends, bias=shared), plain + shared)
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends, bias=own, activation="relu"), np.maximum(plain + np.repeat(own, [2, 4], 0), 0))
    a, b, row = integers(rng, 3, 4, 5), integers(rng, 3, 5, 6), integers(rng, 3, 4, 1)
    assert np.array_equal(ggemm.grouped_matmul(a, b, bias=row), a @ b + row)
    beside = integers(rng, 6, 1)
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends, bias=beside), plain + beside)
    with pytest.raises(ggemm.ArgumentError, match=r"bias is 7x1: it must be one of \[4\], \[1, 4\], \[2, 4\], \[2, 1, 4\], \[6, 1\], for groups=2, m=6, n=4"):
        ggemm.grouped_matmul(x, w, ends=ends, bias=integers(rng, 7, 1))


def test_lists(rng):
    shapes = [(3, 4, 5), (0, 4, 2), (7, 1, 1), (2, 3, 0)]
    a, b = [integers(rng, m, k) for m, n, k in shapes], [integers(rng, k, n) for m, n, k in shapes]
    d = ggemm.grouped_matmul(a, b)
    assert isinstance(d, list) and all(np.array_equal(got, x @ y) for got, x, y in zip(d, a, b))
    c, bias = [integers(rng, m, n) for m, n, k in shapes], [integers(rng, n) for m, n, k in shapes]
    d = ggemm.grouped_matmul(tuple(a), b, c=c, bias=bias, alpha=2, beta=-1, activation="relu", dtype=np.float64)
    assert all(np.array_equal(got, np.maximum(2 * (x @ y) - z + v, 0)) for got, x, y, z, v in zip(d, a, b, c, bias))


def test_lists_of_mixed_layouts(rng):
    a = [integers(rng, 4, 5), integers(rng, 5, 6).T, integers(rng, 8, 10)[::2, ::2]]
    b = [integers(rng, 5, 3).copy("F"), integers(rng, 5, 3), integers(rng, 5, 3)]
    assert all(np.array_equal(got, x @ y) for got, x, y in zip(ggemm.grouped_matmul(a, b), a, b))


def test_lists_whose_outputs_share_memory(rng):
    """Which the one product refuses; the library cannot look into addresses on a device."""
    f, room = integers(rng, 4, 4), integers(rng, 8, 8)
    coinciding = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), (4, 4), (4, 4))
    skewed = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), (4, 4), (8, 12))
    same = np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), (4, 4), (0, 4))
    other = np.zeros((4, 4), np.float32)
    whole = room.reshape(16, 4)
    for a, out, more in [
        ([whole[:4], f], [whole[:4], other], {}), ([f, whole[2:6]], [whole[:4], other], {}), ([f, f], [whole[:4], whole[3:7]], {}), ([f, f], [other, other], {}),
        ([f, f], [other, other.T], {}), ([f, room[1:5, :4]], [whole[:4], other], {}), ([f, f], [room[:4, :4], whole[:4]], {}),
        ([f, f], [whole[:4], other], dict(c=[whole[1:5], other])), ([f, f], [whole[:4], other], dict(c=[other, whole[:4]])),
        ([f, f], [other, whole[:4]], dict(c=[other.T, f])), ([f, f], [whole[:4], other], dict(bias=[f[0], whole[3]])),
        ([f, f], [whole[:4], other], dict(scale_a=[f[:, :1].copy(), whole.reshape(-1)[:4]])),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=r"\w+\[\d\] and \w+\[\d\] share memory: D must overlap nothing else"):
            ggemm.grouped_matmul(a, [f, f], out=out, **more)
    for out in (coinciding, skewed, same):
        for outs in ([out, other], [other, out]):
            with pytest.raises(ggemm.ArgumentError, match=r"out\[\d\] has strides .* at 4x4: elements of D must not coincide"):
                ggemm.grouped_matmul([f, f], [f, f], out=outs)
    # What only lies side by side, and C that is D.
    halves = [room[:4, :4], room[:4, 4:]]
    ggemm.grouped_matmul([room[4:, :4], f], [f, room[4:, 4:]], out=halves)
    assert np.array_equal(halves[0], room[4:, :4] @ f) and np.array_equal(halves[1], f @ room[4:, 4:])
    want = [f @ f + halves[0], f.T @ f + halves[1].T]
    ggemm.grouped_matmul([f, f.T], [f, f], out=[halves[0], halves[1].T], c=[halves[0], halves[1].T])
    assert np.array_equal(halves[0], want[0]) and np.array_equal(halves[1].T, want[1])
    # One row is the same by any stride.
    d = integers(rng, 2, 4)
    want = [f[:1] @ f + d[:1], f[1:2] @ f + d[1:]]
    ggemm.grouped_matmul([f[:1], f[1:2]], [f, f], out=[d[:1], d[1:]], c=[d[0][None, :], d[1][None, :]])
    assert np.array_equal(d, np.concatenate(want))
    rows = [whole[8:9, ::2], whole[9:10, ::-1], np.zeros((0, 4), np.float32)]
    ggemm.grouped_matmul([f[:1], f[:1], f[:0]], [f[:, :2], f, f], out=rows)
    assert np.array_equal(rows[1], f[:1] @ f)


def test_pointers_and_plans(rng):
    a, b, d = integers(rng, 3, 4, 5), integers(rng, 3, 5, 6), np.zeros((3, 4, 6), np.float32)
    at = lambda x: np.array([y.ctypes.data for y in x], np.uint64)
    sizes = np.array([[4, 6, 5], [2, 6, 5], [4, 0, 5]], np.int32)
    lds = np.array([[5, 6, 6]] * 3, np.int32)
    A, B, D = ggemm.Pointers(at(a), "f32", lds[:, 0], 1), ggemm.Pointers(at(b), "f32", lds[:, 1], 1), ggemm.Pointers(at(d), "f32", lds[:, 2], 1)
    plan = ggemm.grouped_plan(A, B, sizes=sizes, out=D)
    want = a @ b
    assert plan(A, B, out=D) is D and np.array_equal(d[0], want[0]) and np.array_equal(d[1, :2], want[1, :2])
    assert (d[1, 2:] == 0).all() and (d[2] == 0).all()
    sizes[:] = [4, 6, 5]  # the plan looks at the array again
    plan(A.addresses, B.addresses, out=D.addresses, alpha=2)
    assert np.array_equal(d, 2 * want)
    assert ggemm.grouped_matmul(A, B, sizes=(sizes[:, 0], 6, 5), out=D) is D and np.array_equal(d, want)
    assert "grouped" in plan.explain()
    with pytest.raises(ggemm.ArgumentError, match=r"a has shape \[2\], the plan was made for \[3\]"):
        plan(A.addresses[:2], B, out=D)


def test_expected_sizes_change_nothing(rng):
    x, w, ends = integers(rng, 12, 5), integers(rng, 4, 5, 6), np.array([3, 3, 10, 12])
    want = ggemm.grouped_matmul(x, w, ends=ends)
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends, expected=(1000, 1, 9)), want)
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends, expected=(1000, 1, 9, 4000)), want)
    with pytest.raises(ggemm.ArgumentError, match="expected=.*must be"):
        ggemm.grouped_matmul(x, w, ends=ends, expected=(1000, 1))


def test_errors(rng):
    x, w, ends = integers(rng, 6, 5), integers(rng, 2, 5, 4), np.array([2, 6])
    nothing = ggemm.Pointers(np.zeros(2, np.int64), "f32")
    for call, message in [
        (lambda: ggemm.grouped_matmul(x, w), "ends is missing: it says where each group ends along m"),
        (lambda: ggemm.grouped_matmul(x, w, ends=[2, 6]), "ends is a list"),
        (lambda: ggemm.grouped_matmul(x, w, ends=np.array([2.0, 6.0])), r"ends is f64 of shape \[2\]: it must be int32 or int64 \[2\]"),
        (lambda: ggemm.grouped_matmul(x, w, ends=np.array([2, 5, 6])), "ends has 3 groups, b has 2"),
        (lambda: ggemm.grouped_matmul(x, w, ends=np.array([4, 3])), r"ends\[1\] = 3, after 4 and with m=6 in all"),
        (lambda: ggemm.grouped_matmul(x, w, ends=np.array([4, 7])), r"ends\[1\] = 7, after 4"),
        (lambda: ggemm.grouped_matmul(w, w.transpose(0, 2, 1), ends=ends), "ends is given, but both"),
        (lambda: ggemm.grouped_matmul(w[:1], w.transpose(0, 2, 1)), "b has 2 groups, a has 1"),
        (lambda: ggemm.grouped_matmul(x, w[:, :3], ends=ends), r"k differs: A is 6x5 \(k=5\), B is 3x4 \(k=3\)"),
        (lambda: ggemm.grouped_matmul(x[0], w, ends=ends), "a has 1 dimensions and b 3"),
        (lambda: ggemm.grouped_matmul([x], [w[0], w[1]]), "b is of 2 groups, a is of 1"),
        (lambda: ggemm.grouped_matmul([x, x], [w[0], w[1].T]), r"group 1: k differs: A is 6x5 \(k=5\), B is 4x5 \(k=4\)"),
        (lambda: ggemm.grouped_matmul([x, x.astype(np.float64)], [w[0], w[1]]), r"a\[1\] is f64, a\[0\] is f32: all groups have one dtype"),
        (lambda: ggemm.grouped_matmul([x], [w[0]], out=[np.zeros((6, 4))], dtype="f32"), "dtype=f32, but out is f64"),
        (lambda: ggemm.grouped_matmul(x, w, ends=ends, out=np.zeros((6, 4)), dtype="f32"), "dtype=f32, but out is f64"),
        (lambda: ggemm.grouped_matmul([], []), "a is an empty list"),
        (lambda: ggemm.grouped_matmul([x], [w[0]], bias=[x[0]]), "bias is 5: it must be"),
        (lambda: ggemm.grouped_matmul(nothing, nothing, out=nothing), "sizes is missing"),
        (lambda: ggemm.grouped_matmul(nothing, nothing, sizes=(1, 1, 1)), "out is a NoneType"),
        (lambda: ggemm.grouped_matmul(nothing, nothing, sizes=(np.zeros(3, np.int32), 1, 1), out=nothing),
         r"m is i32 of shape \[3\]: it must be int32 or int64 \[2\]"),
        (lambda: ggemm.grouped_matmul(nothing, nothing, sizes=np.zeros((2, 2), np.int32), out=nothing), r"sizes has shape \[2, 2\]"),
        (lambda: ggemm.grouped_matmul(nothing, nothing, sizes=(1, 1, 1), out=nothing), "null|NULL"),
        (lambda: ggemm.grouped_plan([x], [w[0]], out=[x]), "a is a list: a grouped plan takes arrays, or Pointers"),
        (lambda: ggemm.grouped_plan(x, w, sizes=(1, 1, 1), ends=ends), "sizes is given, but arrays say their own"),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=message):
            call()

# SPDX-License-Identifier: Apache-2.0
"""Scales of A and B, gated pairs, and what else came with them."""
import ml_dtypes
import numpy as np
import pytest

import ggemm

M, N, K = 130, 260, 300  # partial blocks in every direction


def powers(rng, *shape):
    return np.exp2(rng.integers(-1, 2, shape)).astype(np.float32)


def operands(rng, dtype=np.float32, m=M, n=N, k=K):
    return rng.integers(-2, 3, (m, k)).astype(dtype), rng.integers(-2, 3, (k, n)).astype(dtype)


def blocks(size):
    return -(-size // 128)


def spread(scale, *shape):
    """A scale for each element of the operand."""
    scale = np.asarray(scale)
    if scale.ndim < 2:
        return np.broadcast_to(scale, shape)
    for axis, size in enumerate(shape):
        if scale.shape[axis] not in (1, size):
            scale = np.repeat(scale, 128, axis)
        scale = scale[(slice(None),) * axis + (slice(size),)]
    return np.broadcast_to(scale, shape)


SHAPES_A = {"tensor": (), "vector": (M, 1), "1x128": (M, blocks(K)), "128x128": (blocks(M), blocks(K))}
SHAPES_B = {"tensor": (1, 1), "vector": (1, N), "1x128": (blocks(K), N), "128x128": (blocks(K), blocks(N))}


@pytest.mark.parametrize("kind_a", [None, *SHAPES_A])
@pytest.mark.parametrize("kind_b", [None, *SHAPES_B])
def test_scales(rng, kind_a, kind_b):
    a, b = operands(rng)
    scales = {}
    if kind_a:
        scales["scale_a"] = np.asfortranarray(powers(rng, *SHAPES_A[kind_a]))
    if kind_b:
        scales["scale_b"] = powers(rng, *SHAPES_B[kind_b])
    want = (a * spread(scales.get("scale_a", 1), M, K)) @ (b * spread(scales.get("scale_b", 1), K, N))
    assert np.array_equal(ggemm.matmul(a, b, **scales), want)
    said = {name: ggemm.Scale(scale, {"scale_a": kind_a, "scale_b": kind_b}[name]) for name, scale in scales.items()}
    assert np.array_equal(ggemm.matmul(a, b, **said), want)
    plan = ggemm.plan(a, b, **said)
    assert np.array_equal(plan(a, b, **scales), want)


def test_scales_of_fp8_and_i8(rng):
    a, b = operands(rng, ml_dtypes.float8_e4m3fn)
    scale_a, scale_b = powers(rng, M, blocks(K)), powers(rng, blocks(K), blocks(N))
    want = (a.astype(np.float32) * spread(scale_a, M, K)) @ (b.astype(np.float32) * spread(scale_b, K, N))
    assert np.array_equal(ggemm.matmul(a, b, scale_a=scale_a, scale_b=scale_b, dtype="f32"), want)
    plain = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(ggemm.matmul(a, b, compute="fp8_fast", dtype="f32"), plain)
    a, b = operands(rng, np.int8)
    got = ggemm.matmul(a, b, scale_a=powers(rng, M))
    assert got.dtype == np.float32


def test_scales_refused(rng):
    a, b = operands(rng)
    for options, message in [
        (dict(scale_a=np.ones((7, 3), np.float32)), r"scale_a is 7x3, which is no scale of this problem \(vector: 130x1, 1x128: 130x3, 128x128: 2x3\)"),
        (dict(scale_b=np.ones((7, 3), np.float32)), r"scale_b is 7x3, .*vector: 1x260, 1x128: 3x260, 128x128: 3x3"),
        (dict(scale_a=np.ones(M)), "scale_a is f64: scales are f32"),
        (dict(scale_a=0.5), "scale_a is a float, not an array"),
        (dict(scale_a=ggemm.Scale(np.ones(M, np.float32), "tensor")), "scale_a is 130: of a tensor it is one number"),
        (dict(gate="thirds"), "gate='thirds' is none of"),
        (dict(gate="halves", c=np.ones((M, N // 2), np.float32)), "gated pairs have no C"),
        (dict(compute="fp8_slow"), "compute='fp8_slow' is none of"),
        (dict(max_ctas=-1), "max_ctas=-1"),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=message):
            ggemm.matmul(a, b, **options)
    with pytest.raises(ggemm.ArgumentError, match="kind='row' is none of"):
        ggemm.Scale(a, "row")
    plan = ggemm.plan(a, b, scale_a=powers(rng, M))
    with pytest.raises(ggemm.ArgumentError, match="scale_a is missing, but the plan was made with it"):
        plan(a, b)


def test_plans_refuse_scales_of_another_kind(rng):
    """Whose shapes are alike: k has one block, and one row is a tensor."""
    a, b = operands(rng, m=4, n=4, k=4)
    vector, one = powers(rng, 4, 1), powers(rng, 1, 1)
    plan, w, ends = ggemm.plan(a, b, scale_a=vector), np.stack([b, b]), np.array([1, 4])
    by_rows, by_columns = ggemm.grouped_plan(a, w, ends=ends, scale_a=vector), ggemm.grouped_plan(w, b, ends=ends, scale_b=vector.T)
    calls = [(lambda scale: plan(a, b, scale_a=scale), "scale_a", vector), (lambda scale: plan(a[:2], b, scale_a=scale), "scale_a", vector[:2]),
             (lambda scale: by_rows(a, w, scale_a=scale), "scale_a", vector), (lambda scale: by_columns(w, b, scale_b=scale), "scale_b", vector.T)]
    for call, name, scale in calls:
        assert np.array_equal(call(ggemm.Scale(scale, "vector")), call(scale)) and np.array_equal(call(ggemm.Scale(scale)), call(scale))
        with pytest.raises(ggemm.ArgumentError, match=f"{name} is of kind '1x128', but the plan was made for scales of kind 'vector'"):
            call(ggemm.Scale(scale, "1x128"))
    with pytest.raises(ggemm.ArgumentError, match="scale_b is of kind 'tensor', but the plan was made for no scales"):
        plan(a, b, scale_a=vector, scale_b=ggemm.Scale(one, "tensor"))


@pytest.mark.parametrize("gate", ["halves", "interleaved"])
def test_gated_pairs(rng, gate):
    a, b = operands(rng, m=7, n=6, k=5)
    bias = rng.integers(-3, 4, 6).astype(np.float32)
    x = a @ b + bias
    first, second = (x[:, :3], x[:, 3:]) if gate == "halves" else (x[:, ::2], x[:, 1::2])
    want = np.maximum(first, 0) * second
    assert np.array_equal(ggemm.matmul(a, b, bias=bias, activation="relu", gate=gate), want)
    plan = ggemm.plan(a, b, bias=bias, activation="relu", gate=gate)
    assert np.array_equal(plan(a, b, bias=bias), want)
    assert np.array_equal(plan(a[:3], b, bias=bias), want[:3])  # other sizes
    w = np.stack([b, -b])
    got = ggemm.grouped_matmul(a, w, ends=np.array([7, 7]), bias=bias, activation="relu", gate=gate)
    assert np.array_equal(got, want)
    (got,) = ggemm.grouped_matmul([a], [b], bias=[bias], activation="relu", gate=gate)
    assert np.array_equal(got, want)


# -------------------------------------------------------------------------------------------------------------------------- grouped
ENDS = np.array([100, 100, 300], np.int32)
GROUPS, ROWS = 3, 300
STARTS = np.array([0, 100, 100])
OWNERS = np.repeat(np.arange(GROUPS), np.diff(ENDS, prepend=0))


def each(rng, kind):
    """Scales of each group's B [K, N], and as one for each element."""
    scale = powers(rng, GROUPS) if kind == "tensor" else powers(rng, GROUPS, *SHAPES_B[kind])
    return scale, np.stack([spread(scale[g], K, N) for g in range(GROUPS)])


@pytest.mark.parametrize("kind_a", SHAPES_A)
@pytest.mark.parametrize("kind_b", SHAPES_B)
def test_scales_of_rows_by_group(rng, kind_a, kind_b):
    x, w = rng.integers(-2, 3, (ROWS, K)).astype(np.float32), rng.integers(-2, 3, (GROUPS, K, N)).astype(np.float32)
    own = {"tensor": (GROUPS,), "vector": (ROWS, 1), "1x128": (ROWS, blocks(K)), "128x128": (ROWS // 128 + GROUPS, blocks(K))}
    scale_a, (scale_b, wide_b) = powers(rng, *own[kind_a]), each(rng, kind_b)
    if kind_a == "tensor":
        wide_a = np.broadcast_to(scale_a[OWNERS, None], x.shape)
    elif kind_a == "128x128":  # a group's blocks begin with it
        local = np.arange(ROWS) - STARTS[OWNERS]
        wide_a = np.repeat(scale_a, 128, 1)[:, :K][STARTS[OWNERS] // 128 + OWNERS + local // 128]
    else:
        wide_a = spread(scale_a, ROWS, K)
    want = np.concatenate([(x * wide_a)[OWNERS == g] @ (w * wide_b)[g] for g in range(GROUPS)])
    got = ggemm.grouped_matmul(x, w, ends=ENDS, scale_a=scale_a, scale_b=scale_b)
    assert np.array_equal(got, want)
    plan = ggemm.grouped_plan(x, w, ends=ENDS, scale_a=scale_a, scale_b=scale_b)
    assert np.array_equal(plan(x, w, scale_a=scale_a, scale_b=scale_b), want)
    # The same by columns, as the transposed product.
    got = ggemm.grouped_matmul(w.transpose(0, 2, 1), x.T, ends=ENDS, scale_a=scale_b.transpose(0, 2, 1) if scale_b.ndim == 3 else scale_b,
                               scale_b=scale_a.T)
    assert np.array_equal(got, want.T)


def test_aligned_blocks_of_rows_by_group(rng):
    x, w, ends = rng.integers(-2, 3, (300, K)).astype(np.float32), rng.integers(-2, 3, (2, K, 4)).astype(np.float32), np.array([256, 300])
    scale = powers(rng, blocks(300), blocks(K))
    scaled = x * spread(scale, 300, K)
    got = ggemm.grouped_matmul(x, w, ends=ends, scale_a=ggemm.Scale(scale, "128x128", aligned=True))
    assert np.array_equal(got, np.concatenate([scaled[:256] @ w[0], scaled[256:] @ w[1]]))


@pytest.mark.parametrize("kind", ["1x128", "128x128"])
def test_scales_of_parts_of_k(rng, kind):
    a, b = rng.integers(-2, 3, (M, ROWS)).astype(np.float32), rng.integers(-2, 3, (ROWS, N)).astype(np.float32)
    deep = ROWS // 128 + GROUPS
    scale_a = powers(rng, M if kind == "1x128" else blocks(M), deep)
    scale_b = powers(rng, deep, N if kind == "1x128" else blocks(N))
    at = STARTS[OWNERS] // 128 + OWNERS + (np.arange(ROWS) - STARTS[OWNERS]) // 128  # each k's block
    along = lambda scale, size: scale if kind == "1x128" else np.repeat(scale, 128, 0)[:size]
    p, q = a * along(scale_a, M)[:, at], b * along(scale_b.T, N)[:, at].T
    want = np.stack([p[:, OWNERS == g] @ q[OWNERS == g] for g in range(GROUPS)])
    assert np.array_equal(ggemm.grouped_matmul(a, b, ends=ENDS, scale_a=scale_a, scale_b=scale_b), want)


@pytest.mark.parametrize("kind", SHAPES_A)
def test_scales_of_batches_lists_and_pointers(rng, kind):
    a, b = rng.integers(-2, 3, (GROUPS, M, K)).astype(np.float32), rng.integers(-2, 3, (GROUPS, K, N)).astype(np.float32)
    scale_a = powers(rng, GROUPS) if kind == "tensor" else powers(rng, GROUPS, *SHAPES_A[kind])
    scale_b, wide_b = each(rng, kind)
    wide_a = np.stack([spread(scale_a[g], M, K) for g in range(GROUPS)])
    want = (a * wide_a) @ (b * wide_b)
    assert np.array_equal(ggemm.grouped_matmul(a, b, scale_a=scale_a, scale_b=scale_b), want)
    shared = ggemm.grouped_matmul(a, b, scale_a=scale_a[:1].reshape(scale_a.shape[1:]))
    assert np.array_equal(shared, (a * wide_a[0]) @ b)
    lists = ggemm.grouped_matmul(list(a), list(b), scale_a=list(scale_a.reshape(GROUPS, -1, 1) if kind == "tensor" else scale_a), scale_b=[
        scale if kind != "tensor" else scale.reshape(1) for scale in scale_b])
    assert all(np.array_equal(got, one) for got, one in zip(lists, want))
    at = lambda matrices: np.array([matrix.ctypes.data for matrix in matrices], np.int64)
    out = np.zeros_like(want)
    A, B, D = (ggemm.Pointers(at(x), "f32") for x in (a, b, out))
    held_a, held_b = [np.ascontiguousarray(scale_a[g]) for g in range(GROUPS)], [np.ascontiguousarray(scale_b[g]) for g in range(GROUPS)]
    ggemm.grouped_matmul(A, B, out=D, sizes=(M, N, K), scale_a=ggemm.Scale(ggemm.Pointers(at(held_a), "f32"), kind),
                         scale_b=ggemm.Scale(ggemm.Pointers(at(held_b), "f32"), kind))
    assert np.array_equal(out, want)


def test_grouped_scales_refused(rng):
    x, w = rng.integers(-2, 3, (ROWS, K)).astype(np.float32), rng.integers(-2, 3, (GROUPS, K, N)).astype(np.float32)
    for options, message in [
        (dict(scale_a=powers(rng, 4, 3)), r"scale_a is 4x3, which is no scale of this problem \(vector: 300x1, 1x128: 300x3, 128x128: 5x3\)"),
        (dict(scale_a=powers(rng, GROUPS, ROWS, 1)), "scale_a has 3 dimensions: along what is ragged"),
        (dict(scale_b=powers(rng, 2, 1, N)), "scale_b has 2 groups, and there are 3"),
        (dict(scale_b=powers(rng, 5)), r"scale_b is 5: of arrays it is one number, \[3\]"),
        (dict(scale_b=ggemm.Scale(ggemm.Pointers(np.zeros(3, np.int64), "f32"))), "scale_b is Pointers, which do not say of which kind"),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=message):
            ggemm.grouped_matmul(x, w, ends=ENDS, **options)

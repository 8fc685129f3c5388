# SPDX-License-Identifier: Apache-2.0
"""Every form of grouped products with what goes with it: counts, rows by index, numbers of each group, checked mode, plans."""
import numpy as np
import pytest

import ggemm

ROWS, GROUPS, N, K = 12, 4, 6, 5
ENDS = np.array([3, 3, 10, 12], np.int32)
OWNERS = np.repeat(np.arange(GROUPS), np.diff(ENDS, prepend=0))  # the group of each row


def integers(rng, *shape, dtype=np.float32):
    return rng.integers(-4, 5, shape).astype(dtype)


@pytest.fixture
def x(rng):
    return integers(rng, ROWS, K)


@pytest.fixture
def w(rng):
    return integers(rng, GROUPS, K, N)


def by_rows(x, w, owners=OWNERS):
    return np.einsum("ik,ikn->in", x, w[owners])


def addresses(matrices):
    return np.array([matrix.ctypes.data for matrix in matrices], np.int64)


# ---------------------------------------------------------------------------------------------------------------------------- forms
@pytest.mark.parametrize("width", [np.int32, np.int64])
def test_masked(rng, width):
    a, b, out = integers(rng, 3, 5, 4), integers(rng, 3, 4, 6), np.full((3, 5, 6), 9, np.float32)
    counts = np.array([2, 0, 5], width)
    got = ggemm.grouped_matmul(a, b, counts=counts, out=out, bias=integers(rng, 6) * 0 + 1)
    for g, count in enumerate(counts):
        assert np.array_equal(got[g, :count], a[g, :count] @ b[g] + 1) and (got[g, count:] == 9).all()
    counts[:] = 1
    plan = ggemm.grouped_plan(a, b, counts=counts)
    assert np.array_equal(plan(a, b)[:, 0], (a @ b)[:, 0])
    counts[1] = 5  # the plan looks at the array again
    assert np.array_equal(plan(a, b)[1], a[1] @ b[1])


def test_plans_of_each_form(rng, x, w):
    a, b = integers(rng, GROUPS, 3, K), integers(rng, K, ROWS)
    for p, q, ends in ((x, w, ENDS), (a, b, ENDS), (b.T.copy().T, integers(rng, ROWS, N), ENDS), (a, w, None)):
        want = ggemm.grouped_matmul(p, q, ends=ends)
        plan = ggemm.grouped_plan(p, q, ends=ends)
        assert np.array_equal(plan(p, q), want) and "grouped" in plan.explain()
        out = np.zeros_like(want)
        assert plan(p * 2, q, out=out, alpha=0.5) is out and np.array_equal(out, want)
    with pytest.raises(ggemm.ArgumentError, match=r"b has shape \[4, 4, 6\], the plan was made for \[4, 5, 6\]"):
        plan(a, w[:, :4])
    with pytest.raises(ggemm.ArgumentError, match="c is given, but the plan was made without it"):
        plan(a, w, c=want)
    with pytest.raises(ggemm.ArgumentError, match="out is read-only"):
        plan(a, w, out=_read_only(want))


@pytest.mark.parametrize("rows, groups, n, k", [(0, GROUPS, N, K), (ROWS, GROUPS, 0, K), (0, GROUPS, 0, K), (ROWS, GROUPS, N, 0), (0, 0, N, K)])
def test_plans_of_nothing(rows, groups, n, k):
    """What is empty has any strides: numpy says (0, 0) since 2.4, and others say others."""
    x, w, ends = np.ones((rows, k), np.float32), np.ones((groups, k, n), np.float32), np.full(groups, rows, np.int32)
    batch = np.ones((groups, rows, k), np.float32)
    for a, plan in ((x, ggemm.grouped_plan(x, w, ends=ends)), (batch, ggemm.grouped_plan(batch, w))):
        shape = (*a.shape[:-1], n)
        for out in (None, np.ones(shape, np.float32), np.ones(shape[::-1], np.float32).T):
            if out is None or 0 in shape or out.flags.c_contiguous:
                d = plan(a, w, out=out)
                assert d.shape == shape and (d == 0).all() and (out is None or d is out)


def _read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def test_pointers_among_arrays(rng, x, w):
    apart = [np.asfortranarray(matrix) for matrix in w]
    pointers = ggemm.Pointers(addresses(apart), "f32", 1, K, shape=(K, N))
    want = by_rows(x, w)
    assert np.array_equal(ggemm.grouped_matmul(x, pointers, ends=ENDS), want)
    plan = ggemm.grouped_plan(x, pointers, ends=ENDS)
    assert np.array_equal(plan(x, pointers), want)
    bias = integers(rng, GROUPS, N)
    given = ggemm.Pointers(addresses(bias), "f32")
    assert np.array_equal(ggemm.grouped_matmul(x, pointers, ends=ENDS, bias=given), want + bias[OWNERS])
    out = np.zeros((GROUPS, 3, N), np.float32)
    a = integers(rng, GROUPS, 3, K)
    to = ggemm.Pointers(addresses(out), "f32", shape=(3, N))
    assert ggemm.grouped_matmul(a, pointers, out=to) is to and np.array_equal(out, a @ w)
    with pytest.raises(ggemm.ArgumentError, match="b is Pointers without a shape among arrays"):
        ggemm.grouped_matmul(x, ggemm.Pointers(addresses(apart), "f32"), ends=ENDS)


def test_bias_of_ragged_columns(rng):
    a, b = integers(rng, GROUPS, 3, K), integers(rng, K, ROWS)
    plain = ggemm.grouped_matmul(a, b, ends=ENDS)
    by_column, by_row = integers(rng, ROWS), integers(rng, GROUPS, 3, 1)
    assert np.array_equal(ggemm.grouped_matmul(a, b, ends=ENDS, bias=by_column), plain + by_column)
    assert np.array_equal(ggemm.grouped_matmul(a, b, ends=ENDS, bias=by_row), plain + by_row[OWNERS, :, 0].T)


# ------------------------------------------------------------------------------------------------------------------ rows by index
def test_rows_by_index(rng, w):
    tokens, top = 5, 2
    x = integers(rng, tokens, K)
    experts = np.array([[0, 2], [2, 3], [0, 2], [2, 3], [0, 2]])
    order = np.argsort(experts.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(experts.ravel(), minlength=GROUPS)).astype(np.int32)
    index = (order // top).astype(np.int32)
    owners = experts.ravel()[order]
    rows = by_rows(x[index], w, owners)
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends, a_index=index), rows)
    weights = integers(rng, tokens * top)
    want = np.zeros((tokens, N), np.float32)
    np.add.at(want, index, rows * weights[:, None])
    got = ggemm.grouped_matmul(x, w, ends=ends, a_index=index, d_index=index.astype(np.int64), row_weights=weights)
    assert got.shape == (tokens, N) and np.array_equal(got, want)
    # To other places, each once: back from the groups' order.
    back = np.zeros((tokens * top, N), np.float32)
    ggemm.grouped_matmul(x[index], w, ends=ends, d_index=order, d_index_unique=True, out=back)
    assert np.array_equal(back[order], rows)
    plan = ggemm.grouped_plan(x, w, ends=ends, a_index=index, d_index=index, row_weights=weights)
    assert np.array_equal(plan(x, w, row_weights=weights), want)
    index[:] = -1  # nothing is read, and nothing is written
    assert not plan(x, w, row_weights=weights).any()


def test_rows_by_index_refused(x, w):
    index = np.zeros(ROWS, np.int32)
    for options, message in [
        (dict(d_index=index), "out is missing: without a_index, nothing says how many rows D has"),
        (dict(row_weights=np.ones(ROWS, np.float32)), "row_weights is given, but no d_index"),
        (dict(a_index=index, row_weights=np.ones(3, np.float32), d_index=index), r"row_weights is f32 of shape \[3\]: it must be f32 \[12\]"),
        (dict(a_index=index, d_index=index[:3]), r"d_index is i32 of shape \[3\]: it must be int32 or int64 \[12\]"),
        (dict(a_index=index + ROWS), rf"a_index\[0\] = {ROWS} with a_rows={ROWS}"),
    ]:
        with pytest.raises(ggemm.ArgumentError, match=message):
            ggemm.grouped_matmul(x, w, ends=ENDS, **options)
    with pytest.raises(ggemm.ArgumentError, match="a_index is given: it goes with rows by group"):
        ggemm.grouped_matmul(w, w.transpose(0, 2, 1), a_index=index)


# --------------------------------------------------------------------------------------------------------- numbers of each group
def test_alpha_and_beta_of_each_group(rng, x, w):
    alpha, beta, c = np.array([1, 2, -1, 0.5], np.float32), np.array([0, 1, 2, -1], np.float32), integers(rng, ROWS, N)
    want = alpha[OWNERS, None] * by_rows(x, w) + beta[OWNERS, None] * c
    assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ENDS, c=c, alpha=alpha, beta=beta), want)
    plan = ggemm.grouped_plan(x, w, ends=ENDS, c=c, device_scalars=True)
    assert np.array_equal(plan(x, w, c=c, alpha=alpha, beta=beta), want)
    assert np.array_equal(plan(x, w, c=c, alpha=alpha[:1], beta=beta[:1]), alpha[0] * by_rows(x, w))
    with pytest.raises(ggemm.ArgumentError, match=r"alpha is an array of 3 on the CPU: it must have one element, or 4 \(one a group\), of float32"):
        ggemm.grouped_matmul(x, w, ends=ENDS, alpha=alpha[:3])


# ------------------------------------------------------------------------------------------------------------------ checked mode
def test_checked_mode(x, w):
    falling = np.array([3, 2, 10, 12], np.int32)
    out = np.full((ROWS, N), 9, np.float32)
    for call in (lambda: ggemm.grouped_matmul(x, w, ends=falling, out=out), lambda: ggemm.grouped_matmul(x, w, ends=falling, out=out, checked=True),
                 lambda: ggemm.grouped_plan(x, w, ends=falling, checked=True)(x, w, out=out), lambda: ggemm.grouped_plan(x, w, ends=falling)(x, w, out=out),
                 lambda: ggemm.grouped_plan(x, w, ends=falling)(x, w)):
        with pytest.raises(ggemm.ArgumentError, match=r"ends\[1\] = 2, after 3"):
            call()
        assert (out == 9).all()
    ggemm.grouped_plan(x, w, ends=falling, checked=False)(x, w, out=out.copy())
    ggemm.grouped_matmul(x, w, ends=falling, out=out, checked=False)  # whatever the ends are, nothing else is touched
    status = np.full(4, 7, np.int32)
    ggemm.grouped_matmul(x, w, ends=ENDS, out=out, checked=status)
    assert ggemm.Fault.read(status) is None and np.array_equal(out, by_rows(x, w))
    with pytest.raises(ggemm.ArgumentError):
        ggemm.grouped_matmul(x, w, ends=falling, out=out, checked=status)
    fault = ggemm.Fault.read(status)
    assert fault == ("end", 1, "m", 0) and str(fault) == "m of group 1: it ends before it begins, or above the size in all"
    with pytest.raises(ggemm.ArgumentError, match=r"checked is f32 of shape \[4\]"):
        ggemm.grouped_matmul(x, w, ends=ENDS, checked=np.zeros(4, np.float32))


def test_checked_indices(x, w):
    status = np.zeros(4, np.int32)
    index = np.arange(ROWS)
    index[7] = ROWS
    with pytest.raises(ggemm.ArgumentError, match=r"a_index\[7\] = 12"):
        ggemm.grouped_matmul(x, w, ends=ENDS, a_index=index, checked=status)
    assert str(ggemm.Fault.read(status)) == "a_index[7], group 2: an index is not below the number of rows"


def test_calls_alike_but_for_their_memory(rng, w):
    """What is kept of a call is how its arrays look: numbers of groups come anew with each."""
    for ends in (ENDS, ENDS // 2, np.array([0, 0, 0, ROWS], np.int32), ENDS[::-1].copy()[::-1]):
        x, out = integers(rng, ROWS, K), np.full((ROWS, N), 9, np.float32)
        owners = np.repeat(np.arange(GROUPS), np.diff(ends, prepend=0))
        want = np.concatenate([by_rows(x[: len(owners)], w, owners), out[len(owners):]])
        assert ggemm.grouped_matmul(x, w, ends=ends.copy(), out=out) is out and np.array_equal(out, want)
        index = rng.permutation(ROWS)[: len(owners)]
        assert np.array_equal(ggemm.grouped_matmul(x, w, ends=ends.copy(), a_index=np.resize(index, ROWS))[: len(owners)], by_rows(x[index], w, owners))
    read_only = _read_only(out)
    with pytest.raises(ggemm.ArgumentError, match="out is read-only"):
        ggemm.grouped_matmul(x, w, ends=ends, out=read_only)
    with pytest.raises(ggemm.ArgumentError, match="b is a Matrix without memory"):
        ggemm.grouped_matmul(x, ggemm.Matrix(w.shape, "f32"), ends=ends)


def test_problems_of_each_form(x, w):
    for options in (dict(ends=ENDS), dict(ends=ENDS, a_index=np.arange(ROWS)), dict(ends=ENDS, gate="halves", activation="silu")):
        assert ggemm.configs(ggemm.grouped_problem(x, w, max_ctas=7, **options))
    with pytest.raises(ggemm.ArgumentError, match="max_ctas=-2"):
        ggemm.grouped_matmul(x, w, ends=ENDS, max_ctas=-2)
    assert ggemm.configs(ggemm.grouped_problem(w, w.transpose(0, 2, 1), counts=np.zeros(GROUPS, np.int32)))
    with pytest.raises(ggemm.ArgumentError, match="counts is given: it goes with"):
        ggemm.grouped_problem(x, w, ends=ENDS, counts=ENDS)

# SPDX-License-Identifier: Apache-2.0
"""Whose arrays are taken, and how."""
import array
import gc
import weakref

import ml_dtypes
import numpy as np
import pytest

import ggemm


class OnlyDlpack:
    def __init__(self, inner):
        self.inner = inner

    def __dlpack__(self, **options):
        return self.inner.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()


def test_dlpack(rng):
    a, b = rng.integers(-4, 5, (5, 7)).astype(np.float32), rng.integers(-4, 5, (6, 7)).astype(np.float32).T
    out = np.empty((5, 6), np.float32)
    d = ggemm.matmul(OnlyDlpack(a), OnlyDlpack(b))
    assert isinstance(d, np.ndarray) and np.array_equal(d, a @ b)
    target = OnlyDlpack(out)
    assert ggemm.matmul(a, b, out=target) is target and np.array_equal(out, a @ b)


class Lazy:
    """Makes its memory when it is asked for, and keeps it no longer than the one who asked does."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.copy().__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0


def test_memory_is_kept_until_the_product_is_done(rng):
    """Each has the bytes that the one before would have left free."""
    a, w = rng.integers(-4, 5, (64, 64)).astype(np.float32), rng.integers(-4, 5, (64, 64)).astype(np.float32)
    many = [i * a for i in range(1, 4)]
    lazy = [Lazy(x) for x in many]
    for got, x in zip(ggemm.grouped_matmul(lazy, [Lazy(w)] * 3, c=[Lazy(x) for x in many]), many):
        assert np.array_equal(got, x @ w + x)
    assert np.array_equal(ggemm.plan(a, w, c=a)(Lazy(a[:50]), Lazy(w), c=Lazy(a[:50])), a[:50] @ w + a[:50])
    alpha, beta = np.array([2], np.float32), np.array([3], np.float32)
    assert np.array_equal(ggemm.matmul(a, w, c=a, alpha=Lazy(alpha), beta=Lazy(beta)), 2 * (a @ w) + 3 * a)
    groups = [np.array([i, 2 * i], np.float32) for i in (2, 3)]
    want = np.stack([2 * (a @ w) + 3 * a, 4 * (a @ a) + 6 * w])
    assert np.array_equal(ggemm.grouped_matmul(np.stack([a, a]), np.stack([w, a]), c=np.stack([a, w]), alpha=Lazy(groups[0]), beta=Lazy(groups[1])), want)
    ends = np.array([10, 64], np.int64)
    plan = ggemm.grouped_plan(a, np.stack([w, a]), ends=Lazy(ends))
    others = [np.zeros_like(ends) for _ in range(100)]
    assert np.array_equal(plan(a, np.stack([w, a])), np.concatenate([a[:10] @ w, a[10:] @ a])) and others


def test_arrays_of_many_dimensions_are_refused():
    """Of which three are read, from any library."""
    for wrap in (lambda array: array, OnlyDlpack, memoryview):
        with pytest.raises(ggemm.ArgumentError, match="a has 4 dimensions: 3 at most"):
            ggemm.grouped_matmul(wrap(np.ones((2, 3, 4, 5), np.float32)), np.ones((2, 4, 5), np.float32))


def test_what_a_library_shows_instead_of_an_array():
    class Broken:
        def __dlpack_device__(self):
            return 1, 0

        def __dlpack__(self, **options):
            raise KeyError("x")

    class Other(Broken):
        def __dlpack__(self, **options):
            return 5

    half = CudaObject()
    del half.__cuda_array_interface__["data"]
    for array in (Broken(), Other(), half, CudaObject(typestr="zz"), CudaObject((1 << 70, 4))):
        for call in (lambda: ggemm.matmul(array, np.ones((4, 4), np.float32)), lambda: ggemm.grouped_matmul([array], [array])):
            with pytest.raises(ggemm.ArgumentError, match="^a"):
                call()


def test_plans_keep_no_memory():
    class Owned(np.ndarray):
        pass

    held = np.ones((3, 3), np.float32).view(Owned)
    gone = weakref.ref(held)
    plan = ggemm.plan(memoryview(held), held)
    ggemm.matmul(memoryview(held), held)
    del held
    gc.collect()
    assert gone() is None and plan


def test_sizes_of_any_array_library(rng):
    a, b = rng.integers(-4, 5, (4, 5)).astype(np.float32), rng.integers(-4, 5, (5, 6)).astype(np.float32)
    at = lambda x: ggemm.Pointers(np.array([x.ctypes.data], np.int64), "f32")
    for dtype in (np.int32, np.int64):
        sizes = np.array([[4, 6, 5]], dtype)
        for given in (sizes, np.asfortranarray(sizes), memoryview(sizes), OnlyDlpack(sizes), Lazy(sizes)):
            out = np.zeros((4, 6), np.float32)
            ggemm.grouped_matmul(at(a), at(b), out=at(out), sizes=given)
            assert np.array_equal(out, a @ b)


def test_buffers():
    a = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
    b = memoryview(array.array("f", range(12))).cast("B").cast("f", (3, 4))
    assert np.array_equal(ggemm.matmul(a, b), np.asarray(a) @ np.asarray(b))
    out = memoryview(bytearray(32)).cast("f", (2, 4))
    ggemm.matmul(a, b, out=out)
    assert np.array_equal(np.asarray(out), np.asarray(a) @ np.asarray(b))
    with pytest.raises(ggemm.ArgumentError, match="out is read-only"):
        ggemm.matmul(a, b, out=memoryview(bytes(32)).cast("f", (2, 4)))


def test_subclasses_of_ndarray(rng):
    a = rng.integers(-4, 5, (3, 3)).astype(np.float64)
    assert np.array_equal(ggemm.matmul(a.view(np.matrix) if hasattr(np, "matrix") else a, a), a @ a)


def test_low_precision_arrays_through_numpy(rng):
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        a = rng.integers(-2, 3, (5, 7)).astype(dtype)
        assert np.array_equal(ggemm.matmul(a, a.T, dtype="f32"), a.astype(np.float32) @ a.T.astype(np.float32))


def test_other_float8_dtypes_are_refused():
    a = np.zeros((2, 2), ml_dtypes.float8_e4m3b11fnuz)
    with pytest.raises(ggemm.ArgumentError, match="a has dtype float8_e4m3b11fnuz"):
        ggemm.matmul(a, a)


def test_swapped_bytes_and_odd_strides_are_refused():
    a = np.zeros((4, 4), np.dtype(np.float32).newbyteorder())
    with pytest.raises(ggemm.ArgumentError, match="a has dtype >f4|a has dtype <f4"):
        ggemm.matmul(a, a)
    fields = np.zeros((4, 4), np.dtype([("x", np.float32), ("y", np.int16)]))["x"]
    with pytest.raises(ggemm.ArgumentError, match="no multiple of its elements"):
        ggemm.matmul(fields, fields)


def test_masked_arrays_are_refused():
    a = np.ma.masked_array(np.ones((2, 2), np.float32), [[True, False]] * 2)
    with pytest.raises(ggemm.ArgumentError, match="b has a mask"):
        ggemm.matmul(np.ones((2, 2), np.float32), a)


class CudaObject:
    """What numba and others show."""

    def __init__(self, shape=(4, 4), **changes):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (0, False), "version": 3, "strides": None, **changes}


def test_cuda_arrays_are_not_taken_for_host_memory():
    if ggemm.context().device.kind == "cuda":
        pytest.skip("this machine has a GPU")
    host = np.zeros((4, 4), np.float32)
    with pytest.raises(ggemm.ArgumentError, match="b is on cuda:0, a is on the CPU"):
        ggemm.matmul(host, CudaObject())
    with pytest.raises(ggemm.DeviceError, match="libcuda"):
        ggemm.matmul(CudaObject(), CudaObject(), out=CudaObject())
    with pytest.raises(ggemm.ArgumentError, match="a has a mask"):
        ggemm.matmul(CudaObject(mask=object()), host)


def test_streams():
    from ggemm._arrays import stream_address

    class Protocol:
        def __cuda_stream__(self):
            return 0, 77

    class Torch:
        cuda_stream = 78

    class Cupy:
        ptr = 79

    assert [stream_address(x) for x in (None, 5, Protocol(), Torch(), Cupy())] == [None, 5, 77, 78, 79]


def test_jax(jax):
    jnp = jax.numpy
    cpu = jax.local_devices(backend="cpu")[0]
    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8):
        a, b = (jax.device_put(jnp.arange(12).astype(dtype).reshape(shape), cpu) for shape in ((3, 4), (4, 3)))
        d = ggemm.matmul(a, b)
        assert isinstance(d, jax.Array) and d.devices() == {cpu}
        assert d.dtype == (jnp.int32 if dtype == jnp.int8 else dtype)
        assert np.array_equal(np.asarray(d).astype(float), np.asarray(a).astype(float) @ np.asarray(b).astype(float))
    y = ggemm.grouped_matmul(jnp.ones((4, 3)), jnp.ones((2, 3, 5)), ends=jnp.array([1, 4]))
    assert isinstance(y, jax.Array) and (np.asarray(y) == 3).all()
    with pytest.raises(ggemm.ArgumentError, match="out is read-only"):
        ggemm.matmul(a, b, out=jax.device_put(jnp.zeros((3, 3), jnp.int32), cpu))
    with pytest.raises(ggemm.ArgumentError, match="a is a jax tracer"):
        jax.jit(lambda x: ggemm.matmul(x, x))(jnp.ones((2, 2)))

# SPDX-License-Identifier: Apache-2.0
"""cupy arrays, and others that show __cuda_array_interface__, on a GPU. What needs none is in test_cuda.py."""
import numpy as np
import pytest

import ggemm

cupy = pytest.importorskip("cupy", reason="needs cupy: pip install cupy-cuda13x")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("needs a GPU", allow_module_level=True)


def integers(rng, *shape, dtype=np.float32):
    return cupy.asarray(rng.integers(-4, 5, shape).astype(dtype))


def product(a, b):
    """Exact, and not by a BLAS."""
    return cupy.asarray(cupy.asnumpy(a).astype(np.float64) @ cupy.asnumpy(b).astype(np.float64))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8])
def test_matmul(rng, dtype):
    a, b = integers(rng, 33, 40, dtype=dtype), integers(rng, 17, 40, dtype=dtype).T
    d = ggemm.matmul(a, b)
    assert isinstance(d, cupy.ndarray) and d.dtype == (np.int32 if dtype == np.int8 else dtype) and (d == product(a, b)).all()
    plan, out = ggemm.plan(a, b), cupy.empty_like(d)
    assert plan(a, b, out=out) is out and (out == d).all()
    wide = cupy.full((33, 40), 7, d.dtype)
    ggemm.matmul(a, b, out=wide[:, 5:22])
    assert (wide[:, 5:22] == d).all() and (wide[:, :5] == 7).all() and (wide[:, 22:] == 7).all()


def test_epilogue_and_scalars(rng):
    a, b, c, bias = integers(rng, 9, 8), integers(rng, 8, 7), integers(rng, 9, 7), integers(rng, 7)
    want = cupy.maximum(2 * product(a, b) - c + bias, 0)
    assert (ggemm.matmul(a, b, c=c, bias=bias, alpha=2, beta=-1, activation="relu") == want).all()
    two, minus_one = cupy.array([2], np.float32), cupy.array([-1], np.float32)
    assert (ggemm.matmul(a, b, c=c, bias=bias, alpha=two, beta=minus_one, activation="relu") == want).all()


def test_the_current_stream_is_taken(rng):
    a, b = integers(rng, 512, 512, dtype=np.float16), integers(rng, 512, 512, dtype=np.float16)
    ggemm.matmul(a, b)
    stream = cupy.cuda.Stream(non_blocking=True)
    slow = cupy.ones((4096, 4096), np.float32)
    x = cupy.zeros_like(a)
    cupy.cuda.Device().synchronize()
    with stream:
        for _ in range(20):
            slow = slow * 1.0
        x[...] = a  # not there yet for anybody who does not wait for this stream
        d = ggemm.matmul(x, b)
    stream.synchronize()
    assert (d == product(a, b).astype(np.float16)).all()


def test_grouped(rng):
    x, w, ends = integers(rng, 50, 24), integers(rng, 3, 24, 20), cupy.array([10, 10, 50], np.int32)
    y = ggemm.grouped_matmul(x, w, ends=ends)
    assert (y[:10] == product(x[:10], w[0])).all() and (y[10:] == product(x[10:], w[2])).all()
    assert all((d == product(*ab)).all() for d, ab in zip(ggemm.grouped_matmul([x, x[:3]], [w[0], w[1][:, :5]]), [(x, w[0]), (x[:3], w[1][:, :5])]))
    at = lambda arrays: cupy.array([z.data.ptr for z in arrays], np.int64)
    out = cupy.zeros((3, 50, 20), np.float32)
    sizes = cupy.array([[50, 20, 24], [0, 20, 24], [7, 20, 24]], np.int32)
    A, B, D = (ggemm.Pointers(at(z), "f32") for z in ([x] * 3, w, out))
    plan = ggemm.grouped_plan(A, B, sizes=sizes, out=D)
    plan(A, B, out=D)
    assert (out[0] == product(x, w[0])).all() and (out[1] == 0).all() and (out[2, :7] == product(x[:7], w[2])).all() and (out[2, 7:] == 0).all()


def test_other_libraries_arrays(rng):
    class Shown:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__
            self.keep = array

    a, b = integers(rng, 9, 8), integers(rng, 8, 7)
    out = cupy.empty((9, 7), np.float32)
    cupy.cuda.Device().synchronize()
    ggemm.matmul(Shown(a), Shown(b), out=Shown(out))
    cupy.cuda.Device().synchronize()
    assert (out == product(a, b)).all()


def test_mixed_devices(rng):
    a = integers(rng, 4, 4)
    with pytest.raises(ggemm.ArgumentError, match="b is on the CPU, a is on cuda:0"):
        ggemm.matmul(a, np.ones((4, 4), np.float32))

# SPDX-License-Identifier: Apache-2.0
"""What the package does with CUDA arrays, on the fake driver of tests/fake_driver: run by test_cuda.py in a process of its own.

Device memory is the host's there and kernels do nothing, so it shows which stream, device and pointers come through, and no arithmetic."""
import ctypes
import os
import pathlib
import re
import sys
import types

import numpy as np

import ggemm

fake = ctypes.CDLL(os.environ["GGEMM_LIBCUDA"])
fake.fake_launches.restype = ctypes.c_long


def struct_of(header, name):
    """The ctypes.Structure of a struct that a header declares."""
    kinds = {"const char*": ctypes.c_char_p, "const void*": ctypes.c_void_p, "void*": ctypes.c_void_p, "int32_t": ctypes.c_int32,
             "uint32_t": ctypes.c_uint32, "size_t": ctypes.c_size_t}
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
    numbers = dict(re.findall(r"#define (\w+) (\d+)$", text, re.MULTILINE))
    fields = []
    for line in re.search(rf"struct {name} {{(.*?)}} {name};", text, re.DOTALL)[1].split(";")[:-1]:
        kind, names = re.fullmatch(r"\s*((?:const )?\w+\*?) (.*)", line).groups()
        for declared in names.split(", "):
            field, count = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", declared).groups()
            fields.append((field, kinds[kind] * int(numbers.get(count, count)) if count else kinds[kind]))
    return type(name, (ctypes.Structure,), {"_fields_": fields})


SOURCE = pathlib.Path(os.environ.get("GGEMM_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[3])
Launch = struct_of(SOURCE / "tests/fake_driver/fake_driver.h", "fake_launch")


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t))
def parameter_sizes(_, kernel, sizes):
    """At least so many bytes, GemmParams of kernels/params.cuh or GroupedParams of kernels/grouped_call.cuh, are the one parameter of these kernels."""
    sizes[0] = 864 if b"_grouped" in kernel or b"_batch" in kernel else 232
    return 1


fake.fake_set_parameter_sizes(parameter_sizes, None)


def launched(call):
    """(stream, bytes of the parameters) of the launches that a call makes."""
    before = fake.fake_launches()
    call()
    found = []
    for index in range(before, fake.fake_launches()):
        launch = Launch()
        assert fake.fake_launch_get(ctypes.c_long(index), ctypes.byref(launch))
        parameters = [ctypes.string_at(launch.parameters[i], launch.parameter_bytes[i]) for i in range(launch.parameter_count)]
        found.append((launch.stream or 0, b"".join(parameters)))
    return found


def launches(call):
    """The streams of the launches that a call makes."""
    return [stream for stream, _ in launched(call)]


def check_no_copies(call, *arrays):
    """One launch, which is given the arrays' own addresses."""
    ((_, parameters),) = launched(call)
    for array in arrays:
        assert array.ctypes.data.to_bytes(8, sys.byteorder) in parameters, "an array was copied"


def new_stream(ordinal=0):
    device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    fake.cuDeviceGet(ctypes.byref(device), ordinal)
    fake.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    fake.cuCtxPushCurrent_v2(context)
    assert fake.cuStreamCreate(ctypes.byref(stream), 0) == 0
    fake.cuCtxPopCurrent_v2(ctypes.byref(context))
    return stream.value


class CudaArray:
    """An array of a library that ggemm does not know."""

    ordinal = 0

    def __init__(self, host, stream=None):
        self.host = host
        self.__cuda_array_interface__ = {"shape": host.shape, "typestr": host.dtype.str, "strides": host.strides, "version": 3, "stream": stream,
                                         "data": (host.ctypes.data, False)}

    def __dlpack_device__(self):
        return 2, self.ordinal


# A cupy of the test's own: the attributes that are read of the real one.
current = types.SimpleNamespace(ptr=0)


class ndarray:
    def __init__(self, host, ordinal=0):
        self.host = host
        self.shape, self.strides, self.dtype = host.shape, host.strides, host.dtype
        self.data = types.SimpleNamespace(ptr=host.ctypes.data, device_id=ordinal)
        self.tolist = host.tolist

    @property
    def _c_contiguous(self):
        return self.host.flags.c_contiguous


ndarray.__module__ = "cupy"
device_stack = [0]


class Device:
    def __init__(self, ordinal):
        self.ordinal = ordinal

    def __enter__(self):
        device_stack.append(self.ordinal)

    def __exit__(self, *_):
        device_stack.pop()


cupy = types.ModuleType("cupy")
cupy.ndarray = ndarray
cupy.empty = lambda shape, dtype: ndarray(np.empty(shape, dtype), device_stack[-1])
cupy.zeros = lambda shape, dtype: ndarray(np.zeros(shape, dtype), device_stack[-1])
cupy.cuda = types.ModuleType("cupy.cuda")
cupy.cuda.get_current_stream = lambda device: current
cupy.cuda.Device = Device
cupy.cuda.runtime = types.SimpleNamespace(getDevice=lambda: device_stack[-1])
sys.modules.update({"cupy": cupy, "cupy.cuda": cupy.cuda})

a, b, d = np.ones((64, 32), np.float32), np.ones((32, 48), np.float32), np.empty((64, 48), np.float32)
context = ggemm.context("cuda:0")
assert context.device.kind == "cuda" and context.device.arch == "sm_90a", context.device
assert ggemm.context() is context

# ------------------------------------------------------------------------------------------------ arrays of unknown libraries
A, B, D = CudaArray(a), CudaArray(b), CudaArray(d)
assert launches(lambda: ggemm.matmul(A, B, out=D)) == [0]
stream = new_stream()
assert launches(lambda: ggemm.matmul(A, B, out=D, stream=stream)) == [stream]
assert launches(lambda: ggemm.matmul(CudaArray(a, stream), B, out=D)) == [stream], "the stream of the interface"
assert launches(lambda: ggemm.matmul(A, B, out=D, stream=types.SimpleNamespace(__cuda_stream__=lambda: (0, stream)))) == [stream]
plan = ggemm.plan(A, B, out=D)
assert launches(lambda: plan(A, B, out=D, stream=stream)) == [stream]
for call in (lambda: ggemm.matmul(A, B, out=D), lambda: plan(A, B, out=D)):
    check_no_copies(call, a, b, d)
assert ggemm.configs(ggemm.problem(A, B)) and ggemm.plan(A, B).config, "which make no array"
try:
    ggemm.matmul(A, B)
except ggemm.ArgumentError as error:
    assert str(error) == "a new CudaArray cannot be made on cuda:0: give out=", error
else:
    raise AssertionError("a new array was made")

# ------------------------------------------------------------------------------------------------------------------------ cupy
A, B, D = ndarray(a), ndarray(b), ndarray(d)
for call in (lambda: ggemm.matmul(A, B, out=D), lambda: ggemm.matmul(A, B), lambda: plan(A, B, out=D),
             lambda: ggemm.matmul(ndarray(a.T.copy().T), B, c=D, out=D, beta=2, bias=ndarray(d[0]), activation="gelu")):
    for current.ptr in (0, stream):
        assert launches(call) == [current.ptr], "cupy's current stream"
current.ptr = 0
assert isinstance(ggemm.matmul(A, B), ndarray)

# Pointers, sizes and strides in device memory.
addresses = lambda x: ndarray(np.array([x.ctypes.data] * 3, np.int64))
operands = [ggemm.Pointers(addresses(x), "f32") for x in (a, b, d)]
sizes = ndarray(np.array([64, 0, 5], np.int32))
run = lambda: ggemm.grouped_matmul(operands[0], operands[1], out=operands[2], sizes=(sizes, 48, 32), stream=stream)
check_no_copies(run, sizes.host, *(operand.addresses.host for operand in operands))
assert launches(run) == [stream]
grouped = ggemm.grouped_plan(operands[0], operands[1], out=operands[2], sizes=(sizes, 48, 32))
current.ptr = stream
assert launches(lambda: grouped(operands[0], operands[1], out=operands[2])) == [stream]
assert launches(lambda: grouped(operands[0], operands[1], out=operands[2], stream=0)) == [0]

# Every form hands the arrays over as they are, on the current stream.
current.ptr = stream
device = lambda *shape, dtype=np.float32: ndarray(np.ones(shape, dtype))
ends, index, weights = device(4, dtype=np.int32), device(16, dtype=np.int64), device(16)
for p, q, out, options in [
    (device(16, 32), device(4, 32, 48), device(16, 48), dict(ends=ends)),
    (device(16, 32), device(4, 32, 48), device(9, 48), dict(ends=ends, a_index=index, d_index=index, d_index_unique=True, row_weights=weights)),
    (device(4, 16, 32), device(32, 48), device(16, 48), dict(ends=ends)),
    (device(16, 32), device(32, 48), device(4, 16, 48), dict(ends=ends)),
    (device(4, 16, 32), device(4, 32, 48), device(4, 16, 48), dict()),
    (device(4, 16, 32), device(4, 32, 48), device(4, 16, 48), dict(counts=ends)),
    (device(4, 16, 32), device(4, 32, 48), device(4, 16, 24), dict(gate="halves", scale_a=device(4, 16, 1), scale_b=device(4))),
    (device(4, 16, 32), device(4, 32, 48), device(4, 16, 48), dict(alpha=device(4), beta=device(1), c=device(4, 16, 48))),
]:
    arrays = [value for value in (p, q, out, *options.values()) if isinstance(value, ndarray)]
    run = lambda: ggemm.grouped_matmul(p, q, out=out, **options)
    check_no_copies(run, *(array.host for array in arrays))
    assert launches(run) == [current.ptr], options
    assert len(launches(lambda: ggemm.grouped_matmul(p, q, out=out, checked=device(4, dtype=np.int32), **options))) == 2, "a launch that looks at the numbers"
    scalars = {name: options.pop(name) for name in ("alpha", "beta") if name in options}
    form = ggemm.grouped_plan(p, q, out=out, device_scalars=bool(scalars), **options)
    given = {name: options[name] for name in ("c", "scale_a", "scale_b", "row_weights") if name in options}
    check_no_copies(lambda: form(p, q, out=out, **given, **scalars), *(array.host for array in arrays))
# What the check finds is raised; kernels do nothing here, so it is what lies there already.
rows, experts = device(16, 32), device(4, 32, 48)
for found, message in (((0, 0, 0, 0), None), ((2, 1, 1, 0), "m of group 1: it ends before it begins"), ((7, 3, 4, 9), r"a_index[9], group 3: an index")):
    cupy.empty = lambda shape, dtype: ndarray(np.resize(np.array(found), shape).astype(dtype), device_stack[-1])
    try:
        ggemm.grouped_matmul(rows, experts, ends=ends, checked=True)
    except ggemm.ArgumentError as error:
        assert message and str(error).startswith(message), error
    else:
        assert message is None
current.ptr = 0

# ------------------------------------------------------------------------------------------------------------- several devices
for call, message in [
    (lambda: ggemm.matmul(A, ndarray(b, 1), out=D), "b is on cuda:1, a is on cuda:0"),
    (lambda: ggemm.matmul(A, b, out=D), "b is on the CPU, a is on cuda:0"),
    (lambda: plan(ndarray(a, 1), ndarray(b, 1), out=ndarray(d, 1)), "a is on cuda:1, the plan is for cuda:0"),
    (lambda: ggemm.grouped_matmul(operands[0], operands[1], out=operands[2], sizes=(sizes.host, 48, 32)), "m is on the CPU, the products are on cuda:0"),
]:
    try:
        call()
    except ggemm.ArgumentError as error:
        assert str(error) == message, (str(error), message)
    else:
        raise AssertionError(message)
A1, B1, D1 = (ndarray(x, 1) for x in (a, b, d))
on_one = new_stream(1)
assert launches(lambda: ggemm.matmul(A1, B1, out=D1, stream=on_one)) == [on_one]
assert ggemm.matmul(A1, B1, stream=on_one).data.device_id == 1 and device_stack == [0], "a new array where the operands are"
assert ggemm.context("cuda:1").device.ordinal == 1 and "cuda:1" in repr(ggemm.context("cuda:1"))

# --------------------------------------------------------------------------------------------------------------------- failures
fake.fake_fail(b"cuLaunchKernelEx", ctypes.c_long(1), 719, ctypes.c_long(1))
try:
    plan(A, B, out=D, stream=0)
except ggemm.LaunchError as error:
    assert "719" in str(error) or "LAUNCH_FAILED" in str(error), error
else:
    raise AssertionError("a launch that failed raised nothing")
fake.fake_wait()
print("ok")

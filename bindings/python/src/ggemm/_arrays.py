# SPDX-License-Identifier: Apache-2.0
"""What ggemm needs to know of an array, whatever library it comes from; and new arrays of the same library."""
from __future__ import annotations

import ctypes
import dataclasses
import functools
import importlib
import importlib.util
import os
import sys
from typing import Any, Callable, NamedTuple

import numpy as np

from . import _native
from ._arguments import SIZE, UINT64, integer, integer_tuple
from ._errors import ArgumentError, DeviceError, UnsupportedError, from_status

# numpy has no bf16 or fp8 of its own.
ml_dtypes = importlib.import_module("ml_dtypes") if importlib.util.find_spec("ml_dtypes") else None

HOST = -1
_MAX_NDIM = 3
READ_ONLY, NEEDS_GRAD, NO_DATA, PART_STRIDE = (_native.FLAG_READ_ONLY, _native.FLAG_NEEDS_GRAD, _native.FLAG_NO_DATA, _native.FLAG_PART_STRIDE)
I64 = _native.DTYPE_I64

F64, F32, F16, BF16, E4M3, E5M2, I8, I32 = range(1, 9)
NAMES = {F64: "f64", F32: "f32", F16: "f16", BF16: "bf16", E4M3: "e4m3", E5M2: "e5m2", I8: "i8", I32: "i32", I64: "i64"}
LONG_NAMES = {F64: "float64", F32: "float32", F16: "float16", BF16: "bfloat16", E4M3: "float8_e4m3fn", E5M2: "float8_e5m2", I8: "int8", I32: "int32",
              I64: "int64"}
ALL = " ".join(NAMES[number] for number in range(F64, I32 + 1))  # for sentences
_NUMBERS = {name: number for table in (NAMES, LONG_NAMES) for number, name in table.items()}


def _numpy_dtypes() -> dict[int, Any]:
    known = {number: np.dtype(name) for number, name in LONG_NAMES.items() if number not in (BF16, E4M3, E5M2)}
    if ml_dtypes is not None:
        known.update({number: np.dtype(getattr(ml_dtypes, LONG_NAMES[number])) for number in (BF16, E4M3, E5M2)})
    return known


NUMPY_DTYPES = _numpy_dtypes()


def numpy_dtype(number: int) -> Any:
    """numpy's dtype of this number."""
    if number not in NUMPY_DTYPES:
        raise UnsupportedError(f"numpy has no {NAMES[number]} of its own: pip install ml_dtypes")
    return NUMPY_DTYPES[number]


class Array(NamedTuple):
    """An array as the C side reads it; strides in elements.

    owner: what keeps the memory, which may be a copy that was made to be read: an address is good for as long as it is held.
    """

    data: int
    dtype: int
    device: int
    flags: int
    ndim: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any = None

    def looks(self) -> Array:
        """It without its memory, to be compared with others."""
        return self._replace(data=0, owner=None)


@dataclasses.dataclass(frozen=True)
class Matrix:
    """A matrix without memory, where only its form matters: for `problem`, `plan`, `prepare`, `configs` and `tune`.

    shape: (rows, columns), or (groups, rows, columns). dtype: as everywhere, a name such as "bf16" or a dtype of numpy or torch.
    strides: in elements; None for packed row-major. device: "cpu" or "cuda:<ordinal>".
    """

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        shape = integer_tuple("shape", self.shape, range(_MAX_NDIM + 1), f"{_MAX_NDIM} sizes at most are wanted", SIZE)
        strides = packed_strides(shape) if self.strides is None else self.strides
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "strides", integer_tuple("strides", strides, (len(shape),), f"one for each size of shape={shape} is wanted"))


# --------------------------------------------------------------------------------------------------------------- dtypes and devices
def dtype_number(dtype: Any, name: str = "dtype") -> int:
    """The number of a dtype given by name ("bf16", "bfloat16") or as numpy's, torch's, jax's or ml_dtypes' object."""
    if isinstance(dtype, str):
        text = dtype
    elif str(dtype).startswith("torch."):
        text = str(dtype).removeprefix("torch.")
    else:
        try:
            text = np.dtype(dtype).name
        except (TypeError, ValueError):
            text = str(dtype)
    number = _NUMBERS.get(text, I64)
    if number == I64:
        raise ArgumentError(f"{name}={text} is none of ggemm's dtypes: {ALL}")
    return number


def device_number(device: Any) -> int:
    """HOST or a CUDA ordinal, of a text such as "cpu", "cuda" or "cuda:1", or of a torch.device."""
    kind, _, ordinal = str(device).partition(":")
    if kind in ("cpu", "host") and not ordinal:
        return HOST
    if kind == "cuda" and (not ordinal or (ordinal.isdecimal() and int(ordinal) < 1 << 31)):
        return int(ordinal or 0)
    raise ArgumentError(f"device={str(device)!r} is neither 'cpu' nor 'cuda:<ordinal>'")


def device_name(device: int) -> str:
    return "the CPU" if device == HOST else f"cuda:{device}"


def extents(shape: tuple[int, ...]) -> str:
    """A shape for a sentence."""
    return "x".join(map(str, shape)) or "a single number"


def packed_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


# ---------------------------------------------------------------------------------------------------------------------------- reading
def read(name: str, array: Any) -> Array:
    """What an argument is made of, checked to be something that ggemm can take."""
    try:
        read = Array(*_native.read_array(array))
    except ArgumentError as error:
        raise ArgumentError(f"{name} {error}") from None
    except UNREADABLE as error:
        raise ArgumentError(f"{name}: {error}") from error
    if not read.dtype:
        raise ArgumentError(f"{name} has dtype {getattr(array, 'dtype', 'unknown')}, which is none of ggemm's: {ALL}")
    if read.flags & PART_STRIDE:
        raise ArgumentError(f"{name} has strides that are no multiple of its elements: copy it first")
    if read.ndim > len(read.shape):  # of which not all were read
        raise ArgumentError(f"{name} has {read.ndim} dimensions: {_MAX_NDIM} at most are taken")
    return read


# What arrays' own libraries raise where they cannot show their memory (on other devices, sparse, without storage), and what comes of those that show
# something else.
UNREADABLE = (TypeError, ValueError, LookupError, AttributeError, BufferError, RuntimeError, OverflowError)


def need_operands(**arrays: Any) -> None:
    """Raises if one of them is not given."""
    for name, array in arrays.items():
        if array is None:
            raise ArgumentError(f"{name} is None: it must be an array")


def read_all(**arrays: Any) -> dict[str, Array]:
    """`read` of those that are given, as a and b must be."""
    need_operands(**{name: arrays[name] for name in ("a", "b") if name in arrays})
    return {name: read(name, array) for name, array in arrays.items() if array is not None}


_Parts = tuple[Array, "int | None"]


def read_other(array: Any) -> _Parts:
    """What the C side does not read itself, and its stream."""
    if isinstance(array, Matrix):
        number = I64 if array.dtype == NAMES[I64] else dtype_number(array.dtype)
        return Array(0, number, device_number(array.device), NO_DATA, len(array.shape), array.shape, array.strides or ()), None
    if isinstance(array, JaxBuffer):
        return array.parts(0)
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError("has a mask")
    kind = framework(array)
    if kind == "jax":
        return JaxBuffer(array).parts(READ_ONLY)
    if hasattr(array, "__cuda_array_interface__") and not (kind == "torch" and array.device.type == "cpu"):
        return _cuda_interface(array)
    if hasattr(array, "__dlpack__"):
        return _dlpack(array)
    try:
        view = np.asarray(memoryview(array))
    except TypeError:
        raise ArgumentError(f"is a {type(array).__name__}, not an array: it has neither __dlpack__ nor __cuda_array_interface__ nor a buffer") from None
    return Array(*_native.read_array(view)), None


def _dlpack(array: Any) -> _Parts:
    kind, ordinal = array.__dlpack_device__()
    # For CUDA: 1 is the legacy default stream, on which the product will run.
    capsule = array.__dlpack__(stream=1) if kind == 2 else array.__dlpack__()
    return Array(*_native.read_capsule(capsule)), None


def _cuda_interface(array: Any) -> _Parts:
    face = array.__cuda_array_interface__
    if face.get("mask") is not None:
        raise ArgumentError("has a mask")
    shape, (data, read_only) = tuple(face["shape"]), face["data"]
    dtype = np.dtype(face["typestr"])
    if dtype.kind == "V":  # bf16 and fp8 have no type string
        dtype = np.dtype(array.dtype)
    number = _NUMBERS.get(dtype.name, 0)
    in_bytes = face.get("strides") or tuple(s * dtype.itemsize for s in packed_strides(shape))
    flags = (READ_ONLY if read_only else 0) | (PART_STRIDE if any(s % dtype.itemsize for s in in_bytes) else 0)
    strides = tuple(s // dtype.itemsize for s in in_bytes)
    return Array(data, number, _ordinal_of(array, data), flags, len(shape), shape, strides, array), face.get("stream")


def _ordinal_of(array: Any, data: int) -> int:
    """The device that a pointer belongs to; the interface does not say it."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[1])
    ordinal = ctypes.c_int()
    attribute_device_ordinal = 9
    if data and _driver().cuPointerGetAttribute(ctypes.byref(ordinal), attribute_device_ordinal, ctypes.c_uint64(data)):
        raise ArgumentError("has a pointer that CUDA does not know")
    return ordinal.value


@functools.lru_cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(os.environ.get("GGEMM_LIBCUDA") or "libcuda.so.1")  # as the library does
    except OSError as error:
        raise DeviceError(f"an array lies in CUDA memory, but the driver cannot be loaded: {error}") from None


class JaxBuffer:
    """A jax array as memory: jax has no writable arrays, so new ones are filled before anybody else sees them."""

    def __init__(self, array: Any) -> None:
        try:
            self.array = array.block_until_ready()
        except AttributeError:
            raise ArgumentError("is a jax tracer: ggemm works on arrays with memory, outside jit") from None

    def parts(self, flags: int) -> _Parts:
        device = next(iter(self.array.devices()))
        ordinal = HOST if device.platform == "cpu" else device.local_hardware_id
        shape = tuple(self.array.shape)
        number = _NUMBERS.get(self.array.dtype.name, 0)
        return Array(self.array.unsafe_buffer_pointer(), number, ordinal, flags, len(shape), shape, packed_strides(shape), self.array), None


# ------------------------------------------------------------------------------------------------------------------------- frameworks
def framework(array: Any) -> str:
    """Whose array it is: "torch", "cupy", "jax", "numpy" or "other"."""
    if isinstance(array, np.ndarray):
        return "numpy"
    for name, attribute in (("torch", "Tensor"), ("cupy", "ndarray"), ("jax", "Array")):
        module = sys.modules.get(name)
        kind = getattr(module, attribute, None)
        if kind is not None and isinstance(array, kind):
            return name
    return "other"


def allocator(like: Any, shape: tuple[int, ...], dtype: int, device: int, zero: bool = False) -> Callable[[], Any]:
    """Makes new packed arrays of the library that `like` is of; of zeros, or of anything."""
    kind = framework(like)
    maker = "zeros" if zero else "empty"
    if kind == "torch":
        import torch

        # By a tensor like the new ones, and of separate sizes: torch takes twice as long to make sense of a dtype, a device and a tuple.
        one = torch.empty(0, dtype=getattr(torch, LONG_NAMES[dtype]), device="cpu" if device == HOST else f"cuda:{device}")
        return functools.partial(getattr(one, f"new_{maker}"), *shape)
    if kind == "jax":
        import jax

        where = next(iter(like.devices()))
        return lambda: JaxBuffer(jax.device_put(getattr(jax.numpy, maker)(shape, NUMPY_DTYPES[dtype]), where))
    if device != HOST and kind != "cupy":
        raise ArgumentError(f"a new {type(like).__name__} cannot be made on {device_name(device)}: give out=")
    if kind == "cupy":
        return _cupy_allocator(maker, shape, numpy_dtype(dtype), device)
    return functools.partial(getattr(np, maker), shape, numpy_dtype(dtype))


def _cupy_allocator(maker: str, shape: tuple[int, ...], dtype: Any, device: int) -> Callable[[], Any]:
    import cupy

    current, make = cupy.cuda.runtime.getDevice, getattr(cupy, maker)

    def empty() -> Any:
        if current() == device:  # as nearly always, and to enter it takes as long as all the rest
            return make(shape, dtype)
        with cupy.cuda.Device(device):
            return make(shape, dtype)

    return empty


def direct_allocator(like: Any, shape: tuple[int, ...], dtype: int, device: int, zero: bool = False) -> Callable[[], Any] | None:
    """`allocator`, where there is one and what it makes is what the caller gets: a new array of jax is not, before the product is done."""
    try:
        return None if framework(like) == "jax" else allocator(like, shape, dtype, device, zero)
    except (ArgumentError, UnsupportedError):
        return None


def finished(out: Any) -> Any:
    """What the caller gets of a new array, once the call that fills it has been made."""
    if not isinstance(out, JaxBuffer):
        return out
    if out.parts(0)[0].device != HOST:  # jax orders its own work only
        _driver().cuStreamSynchronize(ctypes.c_void_p(0))
    return out.array


def integers(like: Any, values: list[int], device: int) -> Any:
    """An int64 array of these values beside `like`."""
    kind = framework(like)
    if device == HOST:
        return np.array(values, np.int64)
    if kind == "torch":
        import torch

        return torch.tensor(values, dtype=torch.int64, device=f"cuda:{device}")
    if kind == "cupy":
        import cupy

        with cupy.cuda.Device(device):
            return cupy.array(values, np.int64)
    raise UnsupportedError(f"grouped products of {type(like).__name__} on {device_name(device)}: use torch or cupy arrays, or Pointers to device arrays")


def stream_address(stream: Any) -> int | None:
    """A stream as an address: of an int, a `__cuda_stream__` object, torch's or cupy's stream; None stays None."""
    if stream is None or isinstance(stream, int):
        return None if stream is None else integer("stream", stream, UINT64)
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for attribute in ("cuda_stream", "ptr"):
        if hasattr(stream, attribute):
            return int(getattr(stream, attribute))
    raise ArgumentError(f"stream is a {type(stream).__name__}: give an address, or an object with __cuda_stream__")


_native.setup(from_status, stream_address, read_other, np.ndarray, {dtype: number for number, dtype in NUMPY_DTYPES.items()} | {np.dtype(np.uint64): I64})

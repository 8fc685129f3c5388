# SPDX-License-Identifier: Apache-2.0
"""From arrays to the C description of a plain product."""
from __future__ import annotations

from typing import Any, Literal, NamedTuple, Union

from . import native
from ._arguments import INT32, integer, one_of, real, text
from ._arrays import (ALL, BF16, E4M3, E5M2, F32, F64, I8, I32, I64, NAMES, Array, Matrix, device_name, direct_allocator, dtype_number, extents,
                      packed_strides, read_all)
from ._context import Context, context_for
from ._errors import ArgumentError
from ._scales import Scale, Scales, plain_scale, unwrapped

Activation = Union[str, "tuple[str, float]", "tuple[str, float, float]", None]
PACKED = native.packed_stride()

# Number, number of parameters, and what they are when they are not given.
_ACTIVATIONS: dict[str, tuple[int, int, tuple[float, ...]]] = {
    "none": (native.ACTIVATION_NONE, 0, ()),
    "relu": (native.ACTIVATION_RELU, 0, ()),
    "leaky_relu": (native.ACTIVATION_LEAKY_RELU, 1, (0.01,)),
    "gelu": (native.ACTIVATION_GELU, 0, ()),
    "gelu_tanh": (native.ACTIVATION_GELU_TANH, 0, ()),
    "silu": (native.ACTIVATION_SILU, 0, ()),
    "sigmoid": (native.ACTIVATION_SIGMOID, 0, ()),
    "tanh": (native.ACTIVATION_TANH, 0, ()),
    "clamp": (native.ACTIVATION_CLAMP, 2, ()),
}
Gate = Union[Literal["halves", "interleaved"], None]
Compute = Union[Literal["default", "tf32", "f32x3", "fp8_fast"], None]
_COMPUTE = {None: native.COMPUTE_DEFAULT, "default": native.COMPUTE_DEFAULT, "tf32": native.COMPUTE_TF32,
            "f32x3": native.COMPUTE_F32_ACCURATE, "fp8_fast": native.COMPUTE_FP8_FAST}
_GATES = {None: native.GATE_NONE, "halves": native.GATE_HALVES, "interleaved": native.GATE_INTERLEAVED}


class Settings(NamedTuple):
    """What a product has besides its arrays; hashable, so that it is a part of cache keys."""

    activation: Activation = None
    gate: Gate = None
    dtype: Any = None
    compute: Compute = None
    config: Any = None
    tune_key: str | None = None
    device_scalars: bool = False
    context: Context | None = None
    max_ctas: int = 0


def apply_settings(desc: Any, s: Settings, bias_dtype: int, bias_kind: int) -> None:
    """The settings into a plain or grouped description."""
    name, *parameters = s.activation if isinstance(s.activation, (tuple, list)) and s.activation else (s.activation,)
    if name is None or (isinstance(name, str) and not name):
        name = "none"
    number, count, defaults = one_of("activation", name, _ACTIVATIONS)
    values = tuple(parameters) or defaults
    if len(values) != count:
        raise ArgumentError(f"activation {name!r} takes {count} parameters, not {len(values)}: {name!r} or ({name!r}, ...)")
    epilogue = desc.epilogue
    epilogue.activation = number
    for field, value in zip(("activation_p0", "activation_p1"), values):
        setattr(epilogue, field, real("activation's parameter", value))
    epilogue.bias, epilogue.bias_dtype = bias_kind, bias_dtype
    epilogue.scalars_on_device = int(bool(s.device_scalars))
    epilogue.gate = one_of("gate", s.gate, _GATES)
    desc.compute = one_of("compute", s.compute, _COMPUTE)
    desc.max_ctas = integer("max_ctas", s.max_ctas, INT32)
    if s.config is not None:
        desc.config = text("config", str(s.config))
    if s.tune_key is not None:
        desc.tune_key = text("tune_key", s.tune_key)


def output_dtype(a: int, b: int, given: Any, out: Array | None = None, in_f32: bool = False) -> int:
    """D's dtype: out's or the one given, else that of the operands; f32 where they differ, i32 for i8 (f32 if `in_f32`: with scales or a gate), bf16 for
    fp8."""
    if given is not None and out is not None and dtype_number(given) != out.dtype:
        raise ArgumentError(f"dtype={NAMES[dtype_number(given)]}, but out is {NAMES[out.dtype]}")
    if out is not None:
        return out.dtype
    if given is not None:
        return dtype_number(given)
    if F64 in (a, b):
        return F64
    if a in (E4M3, E5M2) and b in (E4M3, E5M2):
        return BF16
    if a == b:
        return a if a != I8 else F32 if in_f32 else I32
    return F32


def output_columns(n: int, gate: Gate) -> int:
    """D's columns, of B's."""
    return n // 2 if gate else n


def scalar_dtype(a: int, b: int, d: int) -> int:
    """The dtype of alpha and beta."""
    return F64 if F64 in (a, b) else I32 if a == b == I8 and d == I32 else F32


def sizes_of(a: Array, b: Array) -> tuple[int, int, int]:
    """(m, n, k) of A [m,k] and B [k,n]."""
    for name, array in (("a", a), ("b", b)):
        if array.ndim != 2:
            raise ArgumentError(f"{name} has {array.ndim} dimensions, and 2 are needed: {list(array.shape)}")
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b:
        raise ArgumentError(f"k differs: A is {m}x{k} (k={k}), B is {k_of_b}x{n} (k={k_of_b})")
    return m, n, k


def check_shape(name: str, array: Array, shape: tuple[int, ...], why: str) -> None:
    if array.ndim != len(shape) or array.shape != shape:
        raise ArgumentError(f"{name} is {extents(array.shape)}, but {why} is {extents(shape)}")


def same_device(arrays: dict[str, Array]) -> int:
    """The device that all operands lie on."""
    (first, array), *others = arrays.items()
    for name, other in others:
        if other.device != array.device:
            raise ArgumentError(f"{name} is on {device_name(other.device)}, {first} is on {device_name(array.device)}")
    return array.device


def check_element_types(arrays: dict[str, Array]) -> None:
    for name, array in arrays.items():
        if array.dtype == I64:
            raise ArgumentError(f"{name} is int64, which is none of ggemm's dtypes: {ALL}")


def strides_of(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """(row stride, column stride) as the C interface wants them: PACKED where they are; without what a dimension of one element leaves open."""
    rows, cols = shape
    row, col = strides
    if rows == 0 or cols == 0:
        return PACKED, PACKED
    if cols == 1 and row != 1:
        col = 1
    if rows == 1 and col == 1:
        row = cols
    return (PACKED, PACKED) if (row, col) == packed_strides((rows, cols)) else (row, col)


def set_matrix(matrix: Any, array: Array) -> None:
    matrix.dtype = array.dtype
    matrix.row_stride, matrix.col_stride = strides_of(array.shape, array.strides)


def check_vector(name: str, array: Array, axis: int = 0) -> None:
    """Raises if elements of one group, whose dimensions begin with `axis`, do not follow each other: the C interface knows no stride of a vector."""
    if any(size > 1 and stride != 1 for size, stride in zip(array.shape[axis:], array.strides[axis:])):
        raise ArgumentError(f"{name} has strides {array.strides}: its elements must follow each other")


def bias_kind(members: list[tuple[Array, int, int]]) -> int:
    """By column for [n] and [1,n], by row for [m,1], of (bias, m, n) of each group; [1,1] is either."""
    kinds = {native.BIAS_PER_COLUMN, native.BIAS_PER_ROW}
    for bias, m, n in members:
        possible = {kind for kind, shapes in ((native.BIAS_PER_COLUMN, ((n,), (1, n))), (native.BIAS_PER_ROW, ((m, 1),))) if bias.shape in shapes}
        if bias.ndim > 2 or not possible:
            raise ArgumentError(f"bias is {extents(bias.shape)}: it must be [n] or [1,n] (one a column) or [m,1] (one a row), and D is {m}x{n}")
        check_vector("bias", bias)
        kinds &= possible
    if not kinds:
        raise ArgumentError("bias is by row in some groups and by column in others")
    return min(kinds)


class Problem:
    """A product described, ready to be planned, prepared or tuned. Made by `problem` and `grouped_problem`."""

    def __init__(self, context: Context, desc: Any, grouped: bool, keep: Any, flipped: bool = False) -> None:
        self.context = context
        self._flipped = flipped  # described as the transposed product
        self._desc = desc
        self._grouped = grouped
        self._keep = keep  # what the description points to
        self._native = native.problem(None, desc) if grouped else native.problem(desc, None)


class PlainProblem(Problem):
    """A plain problem with what a plan needs to know: how the arrays look, and what a new D is."""

    def __init__(self, a: Any, b: Any, c: Any, bias: Any, out: Any, scale_a: Scales, scale_b: Scales, settings: Settings) -> None:
        scales = {"scale_a": unwrapped(scale_a), "scale_b": unwrapped(scale_b)}
        given = read_all(a=a, b=b, c=c, bias=bias, out=out, **scales)
        device = same_device(given)
        check_element_types(given)
        m, n, k = sizes_of(given["a"], given["b"])
        scaled = scale_a is not None or scale_b is not None
        dtype = output_dtype(given["a"].dtype, given["b"].dtype, settings.dtype, given.get("out"), scaled or settings.gate is not None)
        shape = (m, output_columns(n, settings.gate))
        for name in ("c", "out"):
            if name in given:
                check_shape(name, given[name], shape, "D")
        desc = native.gemm_desc()
        desc.m, desc.n, desc.k = m, n, k
        for name, field in (("a", desc.a), ("b", desc.b), ("c", desc.c), ("out", desc.d)):
            if name in given:
                set_matrix(field, given[name])
        desc.d.dtype = dtype
        biased = given.get("bias")
        apply_settings(desc, settings, biased.dtype if biased else 0, bias_kind([(biased, m, n)]) if biased else native.BIAS_NONE)
        kinds = self.scale_kinds = {name: scale.kind if isinstance(scale, Scale) else None for name, scale in (("scale_a", scale_a), ("scale_b", scale_b))}
        for name, size in (("scale_a", m), ("scale_b", n)):
            if name in given:
                field = getattr(desc, name)
                field.kind, field.row_stride, field.col_stride = plain_scale(name, given[name], kinds[name], size, k)
        super().__init__(context_for(device, settings.context), desc, False, None)
        self.settings = settings
        self.device = device
        self.shape = shape
        self.dtype = dtype
        self.value_dtype = scalar_dtype(given["a"].dtype, given["b"].dtype, dtype)
        self.operands = {name: array.looks() for name, array in given.items()}
        self.empty = direct_allocator(a, self.shape, dtype, device) if out is None and not isinstance(a, Matrix) else None


def problem(a: Any, b: Any, *, c: Any = None, bias: Any = None, out: Any = None, activation: Activation = None, gate: Gate = None,
            scale_a: Scales = None, scale_b: Scales = None, dtype: Any = None, compute: Compute = None, config: Any = None, tune_key: str | None = None,
            max_ctas: int = 0, context: Context | None = None) -> Problem:
    """Describes D = act(alpha scale A B + beta C + bias) without computing it, for `prepare`, `configs` and `tune`.

    Arguments as of `matmul`; any array may be a `Matrix`, which has no memory. Raises ArgumentError.
    """
    return PlainProblem(a, b, c, bias, out, scale_a, scale_b, Settings(activation, gate, dtype, compute, config, tune_key, False, context, max_ctas))


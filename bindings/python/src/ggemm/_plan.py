# SPDX-License-Identifier: Apache-2.0
"""Plain products: one call, and plans."""
from __future__ import annotations

import numbers
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native, native
from ._arguments import real
from ._arrays import (HOST, I32, NAMES, NEEDS_GRAD, NO_DATA, NUMPY_DTYPES, READ_ONLY, Array, Matrix, allocator, device_name, extents, finished,
                      packed_strides, read, read_all, stream_address)
from ._context import Context, Handle, own
from ._errors import ArgumentError
from ._problem import (Activation, Compute, Gate, PlainProblem, Problem, Settings, check_shape, check_vector, output_columns, same_device, sizes_of,
                       strides_of)
from ._scales import Scale, Scales, of_kind, plain_scale

_NUMBERS = (type(None), float, int)


def number(name: str, value: Any) -> Any:
    """A number of another type, numpy's for instance, as Python's; an array as it is."""
    value = value.item() if isinstance(value, np.generic) else value
    return real(name, value) if isinstance(value, numbers.Real) else value


def _destroy(plan: Any, context: Handle) -> None:
    native.plan_destroy(plan)


class PlanBase(_native.Plan):
    """A problem bound to a configuration and its compiled kernel. Immutable and thread-safe."""

    def __init__(self, problem: Problem) -> None:
        create = native.plan_create_grouped if problem._grouped else native.plan_create
        self._problem = problem
        self._handle = create(problem.context._handle.pointer, problem._desc)
        weakref.finalize(self, _destroy, self._handle, problem.context._handle).atexit = False

    def explain(self) -> str:
        """Why the plan is as it is: problem, configuration and where it came from, kernel, its registers and shared memory. For people."""
        return str(native.plan_explain(self._handle))

    @property
    def config(self) -> str:
        """The name of the configuration that the plan is bound to."""
        config = native.config()
        native.plan_config(self._handle, config)
        return str(config.name)

    @property
    def context(self) -> Context:
        """The context whose device runs the plan."""
        return self._problem.context

    def __repr__(self) -> str:
        return f"<ggemm plan: {self.config}>"


def watched(arrays: dict[str, Array], watch: bool = True) -> None:
    """Refuses tensors whose gradient would silently be lost."""
    if watch and any(array.flags & NEEDS_GRAD for array in arrays.values()):
        name = next(name for name, array in arrays.items() if array.flags & NEEDS_GRAD)
        if sys.modules["torch"].is_grad_enabled():
            raise ArgumentError(f"{name} requires grad, which ggemm.matmul does not record: use ggemm.torch, torch.no_grad() or detach()")


def scalar_address(name: str, value: Any, dtype: int, on_device: bool, device: int, groups: int = 1) -> tuple[int | None, int, Any]:
    """The address of alpha or beta, the bytes from one group's to the next one's (0: one for all), and what keeps it."""
    if value is None:
        return None, 0, None
    if on_device and type(value) in _NUMBERS:
        raise ArgumentError(f"{name} is a number, but alpha and beta are read from memory, as one of them is an array or the plan was made with "
                            f"device_scalars: give both as arrays on {device_name(device)}")
    if not on_device:
        if dtype == I32 and not (-1 << 31 <= value < 1 << 31 and value == int(value)):
            raise ArgumentError(f"{name}={value}, but i8 products stored as i32 take 32-bit integers for alpha and beta")
        held = np.array([value], NUMPY_DTYPES[dtype])
        return int(held.ctypes.data), 0, held
    array = read(name, value)
    one, each = all(size == 1 for size in array.shape), array.shape == (groups,)
    if array.device != device or array.dtype != dtype or not (one or each):
        wanted = "one element" if groups == 1 else f"one element, or {groups} (one a group),"
        raise ArgumentError(f"{name} is an array of {extents(array.shape)} on {device_name(array.device)}: it must have "
                            f"{wanted} of {NUMPY_DTYPES[dtype]} on {device_name(device)}")
    return array.data or None, 0 if one else array.strides[0] * NUMPY_DTYPES[dtype].itemsize, array


OPERANDS = ("a", "b", "c", "bias", "out", "scale_a", "scale_b")  # in the order of a runner


def like(array: Array | None) -> Matrix | None:
    """What calls_runner takes to know the arrays of its calls by."""
    if array is None:
        return None
    return Matrix(array.shape, NAMES[array.dtype], array.strides, "cpu" if array.device == HOST else f"cuda:{array.device}")


class Plan(PlanBase):
    """A plain product bound to a configuration and its kernel. Immutable and thread-safe. Made by `plan`.

    `p(a, b, *, c=None, bias=None, scale_a=None, scale_b=None, out=None, alpha=None, beta=None, stream=None)` computes
    D = act(alpha scale A B + beta C + bias), as `matmul` would. Compiles nothing, unless an operand is less aligned than the plan expects.
    Shapes: those of the plan; or, where all operands are packed row-major as the plan's are, any others that fit each other.
    Returns `out`, or a new array. Raises ArgumentError if an array is not as the plan takes it.
    """

    def __init__(self, problem: PlainProblem) -> None:
        super().__init__(problem)
        p = self._plain = problem
        self._beta = 1 if "c" in p.operands else None
        self._scalar_arrays = p.settings.device_scalars
        out = p.operands.get("out") or Array(0, p.dtype, p.device, 0, 2, p.shape, packed_strides(p.shape))
        expected = {**p.operands, "out": out}
        arrays = tuple(like(expected.get(name)) for name in OPERANDS)
        self._runner = _native.calls_runner(self._handle, arrays, 0, p.value_dtype, p.empty, 0, int(p.settings.device_scalars))
        self._run = _native.calls_bind(self._runner)
        self._bind(self._runner)

    if TYPE_CHECKING:  # it is the base's, in C

        def __call__(self, a: Any, b: Any, *, c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None, out: Any = None,
                     alpha: Any = None, beta: Any = None, stream: Any = None) -> Any: ...

    def _long_way(self, arrays: tuple[Any, ...], alpha: Any, beta: Any, stream: Any, watch: bool) -> Any:
        """A call that is not as the runner expects it."""
        a, b, c, bias, out, *scales = arrays
        scale_a, scale_b = (of_kind(name, scale, getattr(self._plain._desc, name).kind) for name, scale in zip(("scale_a", "scale_b"), scales))
        alpha, beta = self._numbers(alpha, beta)
        stream = stream_address(stream)
        target = out
        if target is None:
            read_all(a=a)
            target = allocator(a, self._plain.shape, self._plain.dtype, self._plain.device)()
        if self._run(a, b, c, bias, target, scale_a, scale_b, alpha, beta, stream, watch) is NotImplemented:
            given = {"a": a, "b": b, "c": c, "bias": bias, "out": out, "scale_a": scale_a, "scale_b": scale_b}
            target = self._general(given, target, alpha, self._beta if beta is None else beta, stream, watch)
        return target if out is not None else finished(target)

    def _numbers(self, alpha: Any, beta: Any) -> tuple[Any, Any]:
        alpha, beta = number("alpha", alpha), number("beta", beta)
        if not self._scalar_arrays and (type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS):
            raise ArgumentError("alpha and beta are arrays, but the plan was made for numbers: plan(..., device_scalars=True)")
        return alpha, beta

    def _general(self, arrays: dict[str, Any], target: Any, alpha: Any, beta: Any, stream: int | None, watch: bool) -> Any:
        """A call that is not just like the plan's: says what is wrong with it, or does it with its own sizes."""
        p = self._plain
        given = read_all(**arrays)
        watched(given, watch)
        if same_device(given) != p.device:
            raise ArgumentError(f"a is on {device_name(given['a'].device)}, the plan is for {device_name(p.device)}")
        m, n, k = sizes_of(given["a"], given["b"])
        shape = (m, output_columns(n, p.settings.gate))
        if arrays["out"] is None:
            if p.shape != shape:
                target = allocator(arrays["a"], shape, p.dtype, p.device)()
            given["out"] = read("out", target)
        for name in ("c", "out"):
            if name in given:
                check_shape(name, given[name], shape, "D")
        self._check_alike(given, m, n, k)
        alpha_at, _, keep_alpha = scalar_address("alpha", alpha, p.value_dtype, self._scalar_arrays, p.device)
        beta_at, _, keep_beta = scalar_address("beta", beta, p.value_dtype, self._scalar_arrays, p.device)
        args = native.gemm_args()
        for name in OPERANDS:
            setattr(args, {"out": "d"}.get(name, name), given[name].data if name in given else None)
        args.alpha, args.beta, args.m, args.n, args.k = alpha_at, beta_at, m, n, k
        if stream is None:
            stream = _native.calls_stream(tuple({**arrays, "out": target}.values()))
        native.plan_run(self._handle, args, stream)
        del keep_alpha, keep_beta
        return target

    def _check_alike(self, given: dict[str, Array], m: int, n: int, k: int) -> None:
        """The arrays against what the plan was made for."""
        p = self._plain
        expected = {name: array for name, array in p.operands.items() if name != "out"}
        for name in expected.keys() ^ (given.keys() - {"out"}):
            raise ArgumentError(f"{name} is missing, but the plan was made with it" if name in expected else
                                f"{name} is given, but the plan was made without it")
        for name, array in given.items():
            if array.flags & NO_DATA:
                raise ArgumentError(f"{name} is a Matrix without memory")
            if name == "out" and array.flags & READ_ONLY:
                raise ArgumentError("out is read-only")
            plans = p.operands.get(name)
            dtype = plans.dtype if plans else p.dtype
            if array.dtype != dtype:
                raise ArgumentError(f"{name} is {NAMES[array.dtype]}, the plan is for {NAMES[dtype]}")
            if name == "bias":
                length = n if p._desc.epilogue.bias == native.BIAS_PER_COLUMN else m
                if array.shape not in ((length,), (1, length), (length, 1)):
                    raise ArgumentError(f"bias is {extents(array.shape)}, the plan needs {length} elements")
                check_vector("bias", array)
                continue
            if name in ("scale_a", "scale_b"):
                planned = getattr(p._desc, name)
                found = plain_scale(name, array, p.scale_kinds[name], m if name == "scale_a" else n, k)
                if found != (planned.kind, planned.row_stride, planned.col_stride):
                    raise ArgumentError(f"{name} has strides {array.strides} at {extents(array.shape)}, or is of another kind than the plan's")
                continue
            matrix = getattr(p._desc, {"out": "d"}.get(name, name))
            strides = strides_of(array.shape, array.strides)
            if strides != (matrix.row_stride, matrix.col_stride) and 0 not in array.shape:
                raise ArgumentError(f"{name} has strides {array.strides} at {extents(array.shape)}; the plan was made for "
                                    f"{plans.strides if plans else 'packed rows'} at {extents(plans.shape if plans else p.shape)}")


def plan(a: Any, b: Any, *, c: Any = None, bias: Any = None, out: Any = None, activation: Activation = None, gate: Gate = None, scale_a: Scales = None,
         scale_b: Scales = None, dtype: Any = None, compute: Compute = None, config: Any = None, tune_key: str | None = None,
         device_scalars: bool = False, max_ctas: int = 0, context: Context | None = None) -> Plan:
    """Binds D = act(alpha scale A B + beta C + bias) to a configuration and its compiled kernel: `p = plan(a, b); p(a, b, out=d)`.

    Arguments as of `matmul`; the arrays say how those of the calls will look, and may be `Matrix`, which has no memory.
    device_scalars: alpha and beta of the calls are arrays of one element on the device. Raises ArgumentError, UnsupportedError, CompileError.
    """
    settings = Settings(activation, gate, dtype, compute, config, tune_key, device_scalars, context, max_ctas)
    return Plan(PlainProblem(a, b, c, bias, out, scale_a, scale_b, settings))


default_plans: dict[Any, Any] = {}  # of all default contexts
_PLANS_KEPT = 4096


def _make(arrays: tuple[Any, ...], settings: tuple[Any, ...]) -> tuple[Any, Plan]:
    kind_a, kind_b, *rest = settings
    a, b, c, bias, out, scale_a, scale_b = arrays
    made = Plan(PlainProblem(a, b, c, bias, out, Scale(scale_a, kind_a) if kind_a else scale_a, Scale(scale_b, kind_b) if kind_b else scale_b, Settings(*rest)))
    return made._runner, made


_call, _find = _native.calls_table(_make, len(OPERANDS), _PLANS_KEPT)


def matmul(a: Any, b: Any, *, c: Any = None, bias: Any = None, activation: Activation = None, gate: Gate = None, scale_a: Scales = None,
           scale_b: Scales = None, alpha: Any = None, beta: Any = None, out: Any = None, dtype: Any = None, compute: Compute = None, config: Any = None,
           tune_key: str | None = None, max_ctas: int = 0, stream: Any = None, context: Context | None = None) -> Any:
    """D = act(alpha scale A B + beta C + bias); with a gate D = act(x_gate) x_up, of pairs of columns of x = alpha scale A B + bias.

    a, b: [m, k] and [k, n], of any strides: numpy arrays run on the CPU, torch, cupy and jax arrays where they lie; nothing is copied.
    c: [m, n], added with the factor beta (1 if c is given). bias: [n] or [1, n], one a column, or [m, 1], one a row.
    activation: "relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", or ("leaky_relu", slope), ("clamp", low, high).
    gate: "halves" (columns j and j + n/2, gate first) or "interleaved" (2j and 2j + 1): D is [m, n/2]. No c then.
    scale_a: f32, one number, [m] or [m, 1] (one a row), [m, ceil(k/128)] (one for each 128 of k of a row) or [ceil(m/128), ceil(k/128)] (one a square
      block). scale_b: likewise one number, [n] or [1, n], [ceil(k/128), n] or [ceil(k/128), ceil(n/128)]. Any strides. `Scale` says the kind.
    alpha, beta: numbers; or arrays of one element on the device, read when the product runs (then no number beside them).
    out: [m, n], written and returned; may be c. Else a new array of `dtype` (of a's, if b is alike; f32 if not; i32 for i8, f32 if scaled; bf16 for fp8).
    compute: "tf32" to round f32 operands to the nearest tf32 (which of two that are as near depends on the kernel); "f32x3" for f32
      accuracy on tensor cores; "fp8_fast" to sum fp8 products as fast as the GPU can, in fewer bits.
    config: forces a configuration by name. tune_key: uses records tuned under this name only.
    max_ctas: CTAs at most that multiply at once, so that other work may run beside; 0: as many as the GPU holds.
    stream: an address or a stream object; None: the current stream of torch or cupy, else the default stream.
    context: another than the device's default one.

    Raises ArgumentError for shapes, dtypes, devices and strides that do not fit; UnsupportedError, CompileError, LaunchError, NotPreparedError.
    """
    kind_a = kind_b = None
    if scale_a is not None and isinstance(scale_a, Scale):
        scale_a, kind_a = scale_a.values, scale_a.kind
    if scale_b is not None and isinstance(scale_b, Scale):
        scale_b, kind_b = scale_b.values, scale_b.kind
    done = _call(default_plans if context is None else own(context)._plans, a, b, c, bias, out, scale_a, scale_b, alpha, beta, stream, True, kind_a,
                 kind_b, activation, gate, dtype, compute, config, tune_key, False, context, max_ctas)
    if done is not NotImplemented:
        return done
    settings = Settings(activation, gate, dtype, compute, config, tune_key, False, context, max_ctas)
    return matmul_watched((a, b, c, bias, out, scale_a, scale_b), (kind_a, kind_b), alpha, beta, settings, stream, True)


def matmul_watched(arrays: tuple[Any, ...], kinds: tuple[Any, Any], alpha: Any, beta: Any, settings: Settings, stream: Any, watch: bool) -> Any:
    """matmul of whatever it takes; watch=False for callers that record gradients themselves."""
    alpha, beta = number("alpha", alpha), number("beta", beta)
    settings = settings._replace(device_scalars=type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS)
    found = _find(default_plans if settings.context is None else settings.context._plans, arrays, (*kinds, *settings))
    if found is NotImplemented:  # an array cannot be read, or a setting cannot be a key: this says which one it is, or does without the table
        _, found = _make(arrays, (*kinds, *settings))
    return found._long_way(arrays, alpha, beta, stream, watch)

# SPDX-License-Identifier: Apache-2.0
"""Plain products: one call, and plans."""
from __future__ import annotations

import numbers
import sys
import weakref
from typing import Any

import numpy as np

from . import _native, native
from ._arrays import (HOST, NAMES, NEEDS_GRAD, NO_DATA, NUMPY_DTYPES, READ_ONLY, UNREADABLE, Array, Matrix, allocator, device_name, finished,
                      packed_strides, read, read_all, stream_address)
from ._context import Context, Handle
from ._errors import ArgumentError
from ._problem import Activation, PlainProblem, Problem, Settings, check_shape, same_device, sizes_of, strides_of

_run = _native.calls_run
_signature = _native.calls_signature
_NUMBERS = (type(None), float, int)


def number(value: Any) -> Any:
    """A number of another type, numpy's for instance, as Python's; an array as it is."""
    return value.item() if isinstance(value, np.generic) else float(value) if isinstance(value, numbers.Real) else value


def _destroy(plan: Any, context: Handle) -> None:
    native.plan_destroy(plan)


class PlanBase:
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


def scalar_address(name: str, value: Any, dtype: int, on_device: bool, device: int) -> tuple[int | None, Any]:
    """The address of alpha or beta, and what keeps it."""
    if value is None:
        return None, None
    if on_device and type(value) in _NUMBERS:
        raise ArgumentError(f"{name} is a number, but the other of alpha and beta is an array: give both as arrays on {device_name(device)}")
    if not on_device:
        held = np.array([value], NUMPY_DTYPES[dtype])
        return int(held.ctypes.data), held
    array = read(name, value)
    if array.device != device or array.dtype != dtype or any(size != 1 for size in array.shape):
        raise ArgumentError(f"{name} is an array of {'x'.join(map(str, array.shape)) or 'one element'} on {device_name(array.device)}: it must have "
                            f"one element of {NUMPY_DTYPES[dtype]} on {device_name(device)}")
    return array.data, value


class Plan(PlanBase):
    """A plain product bound to a configuration and its kernel: `plan(a, b, out=c)`. Immutable and thread-safe. Made by `plan`."""

    def __init__(self, problem: PlainProblem) -> None:
        super().__init__(problem)
        p = self._plain = problem
        self._beta = 1 if "c" in p.operands else None
        self._scalar_arrays = p.settings.device_scalars
        arrays = [self._expected(p.operands.get(name)) for name in ("a", "b", "c", "bias")]
        out = p.operands.get("out") or Array(0, p.dtype, p.device, 0, 2, p.shape, packed_strides(p.shape))
        self._runner = _native.calls_runner(self._handle, (*arrays, self._expected(out)), 0, p.value_dtype)

    @staticmethod
    def _expected(array: Array | None) -> Matrix | None:
        if array is None:
            return None
        return Matrix(array.shape, NAMES[array.dtype], array.strides, "cpu" if array.device == HOST else f"cuda:{array.device}")

    def __call__(self, a: Any, b: Any, *, c: Any = None, bias: Any = None, out: Any = None, alpha: Any = None, beta: Any = None,
                 stream: Any = None) -> Any:
        """D = act(alpha A B + beta C + bias), as `matmul` would. Never compiles.

        Shapes: those of the plan; or, where all operands are packed row-major as the plan's are, any others that fit each other.
        Returns `out`, or a new array. Raises ArgumentError if an array is not as the plan takes it.
        """
        return self._call(a, b, c, bias, out, alpha, beta, stream, 1)

    def _call(self, a: Any, b: Any, c: Any, bias: Any, out: Any, alpha: Any, beta: Any, stream: Any, watch: int) -> Any:
        if beta is None:
            beta = self._beta
        if type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS:
            alpha, beta = self._numbers(alpha, beta)
        if stream is not None:
            stream = stream_address(stream)
        target = out
        if target is None:
            target = (self._plain.empty or allocator(a, self._plain.shape, self._plain.dtype, self._plain.device))()
        try:
            done = not self._scalar_arrays and _run(self._runner, a, b, c, bias, target, alpha, beta, stream, watch)
        except (ArgumentError, *UNREADABLE):
            read_all(a=a, b=b, c=c, bias=bias, out=out)  # says which one it is, if it is one of them
            raise
        if not done:
            target = self._general(a, b, c, bias, out, target, alpha, beta, stream, watch)
        return target if out is not None else finished(target)

    def _numbers(self, alpha: Any, beta: Any) -> tuple[Any, Any]:
        alpha, beta = number(alpha), number(beta)
        if not self._scalar_arrays and (type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS):
            raise ArgumentError("alpha and beta are arrays, but the plan was made for numbers: plan(..., device_scalars=True)")
        return alpha, beta

    def _general(self, a: Any, b: Any, c: Any, bias: Any, out: Any, target: Any, alpha: Any, beta: Any, stream: int | None, watch: int) -> Any:
        """A call that is not just like the plan: says what is wrong with it, or does it with its own sizes."""
        p = self._plain
        given = read_all(a=a, b=b, c=c, bias=bias, out=out)
        watched(given, bool(watch))
        if same_device(given) != p.device:
            raise ArgumentError(f"a is on {device_name(given['a'].device)}, the plan is for {device_name(p.device)}")
        m, n, k = sizes_of(given["a"], given["b"])
        if out is None:
            if p.shape != (m, n):
                target = allocator(a, (m, n), p.dtype, p.device)()
            given["out"] = read("out", target)
        for name in ("c", "out"):
            if name in given:
                check_shape(name, given[name], (m, n), "D")
        self._check_alike(given, m, n)
        alpha_at, keep_alpha = scalar_address("alpha", alpha, p.value_dtype, self._scalar_arrays, p.device)
        beta_at, keep_beta = scalar_address("beta", beta, p.value_dtype, self._scalar_arrays, p.device)
        args = native.gemm_args()
        for field, name in (("a", "a"), ("b", "b"), ("c", "c"), ("d", "out"), ("bias", "bias")):
            setattr(args, field, given[name].data if name in given else None)
        args.alpha, args.beta, args.m, args.n, args.k = alpha_at, beta_at, m, n, k
        if stream is None:
            stream = _native.calls_stream((a, b, c, bias, target))
        native.plan_run(self._handle, args, stream)
        del keep_alpha, keep_beta
        return target

    def _check_alike(self, given: dict[str, Array], m: int, n: int) -> None:
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
                    raise ArgumentError(f"bias is {'x'.join(map(str, array.shape))}, the plan needs {length} elements")
                continue
            matrix = getattr(p._desc, {"out": "d"}.get(name, name))
            strides = strides_of(array.shape, array.strides)
            if strides != (matrix.row_stride, matrix.col_stride) and 0 not in array.shape:
                raise ArgumentError(f"{name} has strides {array.strides} at {'x'.join(map(str, array.shape))}; the plan was made for "
                                    f"{plans.strides if plans else 'packed rows'} at {'x'.join(map(str, plans.shape if plans else p.shape))}")


def plan(a: Any, b: Any, *, c: Any = None, bias: Any = None, out: Any = None, activation: Activation = None, dtype: Any = None,
         compute: str | None = None, config: Any = None, tune_key: str | None = None, device_scalars: bool = False,
         context: Context | None = None) -> Plan:
    """Binds D = act(alpha A B + beta C + bias) to a configuration and its compiled kernel: `p = plan(a, b); p(a, b, out=d)`.

    Arguments as of `matmul`; the arrays say how those of the calls will look, and may be `Matrix`, which has no memory.
    device_scalars: alpha and beta of the calls are arrays of one element on the device. Raises ArgumentError, UnsupportedError, CompileError.
    """
    return Plan(PlainProblem(a, b, c, bias, out, Settings(activation, dtype, compute, config, tune_key, device_scalars, context)))


_default_plans: dict[Any, Plan] = {}  # of all default contexts
_PLANS_KEPT = 4096


def _plan_for(key: Any, a: Any, b: Any, c: Any, bias: Any, out: Any, settings: Settings) -> Plan:
    made = Plan(PlainProblem(a, b, c, bias, out, settings))
    plans = _default_plans if settings.context is None else settings.context._plans
    if len(plans) >= _PLANS_KEPT:  # sizes that never repeat must not fill memory
        plans.clear()
    plans[key] = made
    return made


def matmul(a: Any, b: Any, *, c: Any = None, bias: Any = None, activation: Activation = None, alpha: Any = None, beta: Any = None, out: Any = None,
           dtype: Any = None, compute: str | None = None, config: Any = None, tune_key: str | None = None, stream: Any = None,
           context: Context | None = None) -> Any:
    """D = act(alpha A B + beta C + bias).

    a, b: [m, k] and [k, n], of any strides: numpy arrays run on the CPU, torch, cupy and jax arrays where they lie; nothing is copied.
    c: [m, n], added with the factor beta (1 if c is given). bias: [n] or [1, n], one a column, or [m, 1], one a row.
    activation: "relu", "leaky_relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", or ("leaky_relu", slope), ("clamp", low, high).
    alpha, beta: numbers; or arrays of one element on the device, read when the product runs (then no number beside them).
    out: [m, n], written and returned; may be c. Else a new array of `dtype` (of a's, if b is alike; f32 if not; i32 for i8; bf16 for fp8).
    compute: "tf32" to round f32 operands to tf32, "f32x3" for f32 accuracy on tensor cores. config: forces a configuration by name. tune_key: uses records tuned under this name only.
    stream: an address or a stream object; None: the current stream of torch or cupy, else the default stream.
    context: another than the device's default one.

    Raises ArgumentError for shapes, dtypes, devices and strides that do not fit; UnsupportedError, CompileError, LaunchError, NotPreparedError.
    """
    return matmul_watched(a, b, c, bias, activation, alpha, beta, out, dtype, compute, config, tune_key, stream, context, 1)


def matmul_watched(a: Any, b: Any, c: Any, bias: Any, activation: Activation, alpha: Any, beta: Any, out: Any, dtype: Any, compute: str | None, config: Any,
                   tune_key: str | None, stream: Any, context: Context | None, watch: int) -> Any:
    """matmul; watch=0 for callers that record gradients themselves."""
    device_scalars = False
    if type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS:
        alpha, beta = number(alpha), number(beta)
        device_scalars = type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS
    try:
        key = (_signature((a, b, c, bias, out)), activation, dtype, compute, config, tune_key, device_scalars)
    except (ArgumentError, *UNREADABLE):
        read_all(a=a, b=b, c=c, bias=bias, out=out)  # says which one it is
        raise
    found = (_default_plans if context is None else context._plans).get(key)
    if found is None:
        found = _plan_for(key, a, b, c, bias, out, Settings(activation, dtype, compute, config, tune_key, device_scalars, context))
    return found._call(a, b, c, bias, out, alpha, beta, stream, watch)

# SPDX-License-Identifier: Apache-2.0
"""Grouped products: one call, and plans."""
from __future__ import annotations

from typing import Any, Sequence

from . import _native, native
from ._arrays import HOST, I64, NAMES, NO_DATA, READ_ONLY, Matrix, finished, read, stream_address
from ._context import Context
from ._errors import ArgumentError
from ._groups import Call, Pointers, describe
from ._plan import _NUMBERS, PlanBase, number, scalar_address, watched
from ._problem import Activation, Problem, Settings, scalar_dtype


def grouped_problem(a: Any, b: Any, *, ends: Any = None, sizes: Any = None, c: Any = None, bias: Any = None, out: Any = None,
                    activation: Activation = None, dtype: Any = None, compute: str | None = None, config: Any = None, tune_key: str | None = None,
                    expected: tuple[int, int, int] | None = None, context: Context | None = None) -> Problem:
    """Describes a grouped product without computing it, for `prepare`, `configs` and `tune`. Arguments as of `grouped_matmul`. Raises ArgumentError."""
    settings = Settings(activation, dtype, compute, config, tune_key, False, context)
    return describe(a, b, c, bias, out, ends, sizes, expected, settings, allocate=False)[1]


def grouped_matmul(a: Any, b: Any, *, ends: Any = None, sizes: Any = None, c: Any = None, bias: Any = None, activation: Activation = None,
                   alpha: Any = None, beta: Any = None, out: Any = None, dtype: Any = None, compute: str | None = None, config: Any = None,
                   tune_key: str | None = None, expected: tuple[int, int, int] | None = None, stream: Any = None, context: Context | None = None) -> Any:
    """For every group D_g = act(alpha A_g B_g + beta C_g + bias_g), in one launch.

    The groups are given in one of these ways; what is not m, n or k of a group is as in `matmul`.

    - Lists: a[g] [m_g, k_g], b[g] [k_g, n_g], and lists of c, bias and out. Returns a list.
    - Rows by group, `ends` given: a [rows, k], b [groups, k, n]; group g is the rows from ends[g-1] to ends[g]. Returns [rows, n], where rows past
      the last end are not written. `ends` is int32 or int64 [groups], on the device: the host does not wait for it. Equal ends are an empty group.
    - Columns by group: a [groups, m, k], b [k, columns], `ends` along the columns. Returns [m, columns].
    - Parts of k by group: a [m, k], b [k, n], `ends` along k. Returns [groups, m, n]; D of an empty group is act(beta C + bias).
    - A batch: a [groups, m, k], b [groups, k, n]. Returns [groups, m, n].
    - Pointers: a, b, c, bias and out are `Pointers`; `sizes` is an int32 or int64 array [groups, 3] of m, n, k, or (m, n, k), each a number or an
      array [groups]. All arrays are on the device and read when the product runs. Returns out.

    bias of arrays: [n] for all groups, [groups, n], or [groups, m, 1] for one a row.
    expected: mean m, n and k of a group, which help the choice of a configuration and never change a result beyond rounding.
    stream: as in `matmul`; but pointers to parts of arrays are computed on the framework's current stream, so only Pointers may go elsewhere.

    Raises ArgumentError, UnsupportedError, CompileError, LaunchError, NotPreparedError. What lies in arrays on a GPU is not checked.
    """
    return grouped_matmul_watched(a, b, ends=ends, sizes=sizes, c=c, bias=bias, activation=activation, alpha=alpha, beta=beta, out=out, dtype=dtype,
                                  compute=compute, config=config, tune_key=tune_key, expected=expected, stream=stream, context=context, watch=True)


def grouped_matmul_watched(a: Any, b: Any, *, ends: Any = None, sizes: Any = None, c: Any = None, bias: Any = None, activation: Activation = None,
                           alpha: Any = None, beta: Any = None, out: Any = None, dtype: Any = None, compute: str | None = None, config: Any = None,
                           tune_key: str | None = None, expected: tuple[int, int, int] | None = None, stream: Any = None, context: Context | None = None,
                           watch: bool) -> Any:
    """grouped_matmul; watch=False for callers that record gradients themselves."""
    alpha, beta = number(alpha), number(beta)
    device_scalars = type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS
    settings = Settings(activation, dtype, compute, config, tune_key, device_scalars, context)
    call, problem = describe(a, b, c, bias, out, ends, sizes, expected, settings)
    _run(call, problem, (a, b, c, bias, out), alpha, beta, stream, watch)
    if isinstance(call.out, list) and out is None:
        return [finished(array) for array in call.out]
    return finished(call.out)


def _each(operands: Sequence[Any]) -> list[tuple[str, Any]]:
    """All arrays of the call, with their names."""
    named: list[tuple[str, Any]] = []
    for name, operand in zip(("a", "b", "c", "bias", "out"), operands):
        if isinstance(operand, (list, tuple)):
            named += [(f"{name}[{g}]", array) for g, array in enumerate(operand)]
        elif operand is not None and not isinstance(operand, Pointers):
            named.append((name, operand))
    return named


def _run(call: Call, problem: Problem, operands: Sequence[Any], alpha: Any, beta: Any, stream: Any, watch: bool) -> None:
    for name, array in _each(operands):
        parts = read(name, array)
        if parts.flags & NO_DATA:
            raise ArgumentError(f"{name} is a Matrix without memory")
        if name.startswith("out") and parts.flags & READ_ONLY:
            raise ArgumentError(f"{name} is read-only")
        watched({name: parts}, watch)
    value_dtype = scalar_dtype(call.dtypes["a"], call.dtypes["b"], call.dtypes["out"])
    if beta is None and "c" in call.dtypes:
        beta = 1
    on_device = bool(call.desc.epilogue.scalars_on_device)
    call.args.alpha, keep_alpha = scalar_address("alpha", alpha, value_dtype, on_device, call.device)
    call.args.beta, keep_beta = scalar_address("beta", beta, value_dtype, on_device, call.device)
    address = stream_address(stream)
    if call.device != HOST:
        current = _native.calls_stream((call.like,))
        if address is not None and address != current and not isinstance(operands[0], Pointers):
            raise ArgumentError("stream is not the current one: pointers are computed on the framework's current stream, so enter the stream instead")
        address = current if address is None else address
    native.grouped_gemm(problem.context._handle.pointer, call.desc, call.args, address)
    del keep_alpha, keep_beta


class GroupedPlan(PlanBase):
    """A grouped product of `Pointers` bound to a configuration and its kernel: `plan(a, b, out=d)`. Made by `grouped_plan`."""

    def __init__(self, call: Call, problem: Problem) -> None:
        super().__init__(problem)
        device = "cpu" if call.device == HOST else f"cuda:{call.device}"
        addresses = Matrix((call.groups,), NAMES[I64], (1,), device)
        expected = [addresses if name in call.dtypes else None for name in ("a", "b", "c", "bias", "out")]
        self._beta = 1 if "c" in call.dtypes else None
        value_dtype = scalar_dtype(call.dtypes["a"], call.dtypes["b"], call.dtypes["out"])
        self._runner = _native.calls_runner(self._handle, tuple(expected), 1, value_dtype)
        self._groups = call.groups

    def __call__(self, a: Any, b: Any, *, out: Any, c: Any = None, bias: Any = None, alpha: float | None = None, beta: float | None = None,
                 stream: Any = None) -> Any:
        """Runs the products on arrays of addresses, int64 [groups] on the device, or `Pointers`, of which only the addresses count. Returns out.

        Sizes and strides are read from the arrays that the plan was made with. Never compiles. Raises ArgumentError.
        """
        at_a, at_b, at_c, at_bias, at_out = (x.addresses if isinstance(x, Pointers) else x for x in (a, b, c, bias, out))
        beta = self._beta if beta is None else beta
        if not _native.calls_run(self._runner, at_a, at_b, at_c, at_bias, at_out, number(alpha), number(beta), stream_address(stream), 1):
            raise ArgumentError(f"a, b{', c' if self._beta else ''} and out must be int64 arrays of {self._groups} addresses on the plan's device, "
                                "with bias as in the plan")
        return out


def grouped_plan(a: Pointers, b: Pointers, *, sizes: Any, out: Pointers, c: Pointers | None = None, bias: Pointers | None = None,
                 activation: Activation = None, compute: str | None = None, config: Any = None, tune_key: str | None = None,
                 expected: tuple[int, int, int] | None = None, context: Context | None = None) -> GroupedPlan:
    """Binds a grouped product of `Pointers` to a configuration and its compiled kernel. Arguments as of `grouped_matmul`.

    The arrays of sizes and strides are looked at by every run, and the plan keeps them; addresses are given anew with each call. Capture a call in a
    CUDA graph and change the arrays in place: a replay takes the new sizes. Raises ArgumentError, UnsupportedError, CompileError.
    """
    if not isinstance(a, Pointers):
        raise ArgumentError(f"a is a {type(a).__name__}: a grouped plan takes Pointers")
    call, problem = describe(a, b, c, bias, out, None, sizes, expected, Settings(activation, None, compute, config, tune_key, False, context))
    return GroupedPlan(call, problem)

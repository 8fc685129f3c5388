# SPDX-License-Identifier: Apache-2.0
"""Grouped products: one call, and plans."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _native, native
from ._arguments import integer_tuple
from ._arrays import HOST, I32, NAMES, NO_DATA, READ_ONLY, Array, Matrix, allocator, direct_allocator, finished, read, read_all, stream_address
from ._context import Context, own
from ._errors import ArgumentError
from ._faults import found_fault
from ._forms import from_arrays
from ._groups import Call, Operands, Pointers
from ._lists import from_lists, from_pointers
from ._plan import _NUMBERS, OPERANDS, PlanBase, like, number, scalar_address, watched
from ._problem import Activation, Compute, Gate, Problem, Settings, scalar_dtype
from ._scales import Scales, of_kind

_RUNNER = (*OPERANDS, "row_weights", "status")  # in the order of a plan's runner
_NUMBERS_OF_GROUPS = ("ends", "counts", "a_index", "d_index")  # and by the one-call form


def describe(o: Operands, settings: Settings, allocate: bool = True) -> tuple[Call, Problem]:
    if isinstance(o.a, Pointers) and o.a.shape is None:
        call = from_pointers(o, settings, allocate)
    elif isinstance(o.a, (list, tuple)):
        call = from_lists(o, settings, allocate)
    else:
        call = from_arrays(o, settings, allocate)
    if o.expected is not None:
        wanted = "it must be the mean m, n and k of a group, and perhaps the largest group's m"
        m, n, k, *largest = integer_tuple("expected", o.expected, (3, 4), wanted)
        call.desc.expected_m, call.desc.expected_n, call.desc.expected_k = (n, m, k) if call.flipped else (m, n, k)
        if largest and not call.flipped:
            call.desc.expected_largest_m = largest[0]
    return call, call.problem(settings)


def grouped_problem(a: Any, b: Any, *, ends: Any = None, counts: Any = None, sizes: Any = None, a_index: Any = None, d_index: Any = None,
                    d_index_unique: bool = False, c: Any = None, bias: Any = None, out: Any = None, activation: Activation = None, gate: Gate = None,
                    scale_a: Scales = None, scale_b: Scales = None, dtype: Any = None, compute: Compute = None, config: Any = None,
                    tune_key: str | None = None, expected: Sequence[int] | None = None, checked: bool | None = None,
                    max_ctas: int = 0, context: Context | None = None) -> Problem:
    """Describes a grouped product without computing it, for `prepare`, `configs` and `tune`. Arguments as of `grouped_matmul`. Raises ArgumentError."""
    settings = Settings(activation, gate, dtype, compute, config, tune_key, False, context, max_ctas)
    operands = Operands(a, b, c, bias, out, scale_a, scale_b, ends, counts, sizes, a_index, d_index, d_index_unique, None, expected, checked)
    return describe(operands, settings, allocate=False)[1]


def grouped_matmul(a: Any, b: Any, *, ends: Any = None, counts: Any = None, sizes: Any = None, a_index: Any = None, d_index: Any = None,
                   d_index_unique: bool = False, row_weights: Any = None, c: Any = None, bias: Any = None, activation: Activation = None,
                   gate: Gate = None, scale_a: Scales = None, scale_b: Scales = None, alpha: Any = None, beta: Any = None, out: Any = None,
                   dtype: Any = None, compute: Compute = None, config: Any = None, tune_key: str | None = None,
                   expected: Sequence[int] | None = None, checked: Any = None, max_ctas: int = 0, stream: Any = None,
                   context: Context | None = None) -> Any:
    """For every group D_g = act(alpha_g scale_g A_g B_g + beta_g C_g + bias_g), in one call; what is not said here is as in `matmul`.

    The groups are given in one of these ways. All numbers of groups are arrays on the device, int32 or int64, which the host does not wait for.

    - Rows by group, `ends` given: a [rows, k], b [groups, k, n]; group g is the rows from ends[g-1] to ends[g]. Returns [rows, n], where rows past
      the last end are not written. Equal ends are an empty group.
    - Columns by group: a [groups, m, k], b [k, columns], `ends` along the columns. Returns [m, columns].
    - Parts of k by group: a [m, k], b [k, n], `ends` along k. Returns [groups, m, n]; D of an empty group is act(alpha 0 + beta C + bias).
    - A batch: a [groups, m, k], b [groups, k, n]. Returns [groups, m, n]. With `counts`, of group g the first counts[g] rows only: masked.
    - Lists: a[g] [m_g, k_g], b[g] [k_g, n_g], and lists of c, bias, scales and out; an out overlaps nothing but its own c. Returns a list.
    - Pointers: a, b, c, bias and out are `Pointers`; `sizes` is an array [groups, 3] of m, n, k, or (m, n, k), each a number or an array [groups].
      Returns out. Among arrays, operands with a dimension of groups may be Pointers with a shape.

    a_index, d_index (rows by group): row i of the groups' order is row a_index[i] of a; its result goes to row d_index[i] of the result, times
      row_weights[i] (f32). Indices below 0 stand for a row of zeros, and for none. Rows that go to one row are added up, in their order;
      d_index_unique says that there are none. A new result begins with zeros, and has as many rows as a.
    bias: [n] for all groups, [groups, n], or one a row: [groups, m, 1], or [rows, 1] where rows go by group.
    scale_a, scale_b: as in `matmul`, with the groups first where the operand has them; or [groups], one number a group. Along what is ragged there is one
      matrix: a row of it (a column) for each of the operand's; blocks of group g begin at ends[g-1] // 128 + g, so it has size // 128 + groups of them. `Scale`
      says the kind and, with aligned, that blocks lie as in one matrix.
    alpha, beta: numbers; arrays of one element, or of one a group, on the device.
    expected: mean m, n and k of a group, and where known the largest group's m, which help the choice of a configuration and never change a result beyond
        rounding. With `ends` and the largest the mean of groups that have rows is the better hint.
    checked: True: sizes, ends, counts, indices and pointers on the device are looked at before anything is computed; what is wrong raises ArgumentError,
      and nothing is written. It waits for the device. On the CPU that is the default, and False does without. An int32 array [4] on the device receives what is
      found instead (`Fault.read`), and nothing is waited for.
    stream: as in `matmul`; but lists go to the device on the framework's current stream, so with them it must be that one.

    Raises ArgumentError, UnsupportedError, CompileError, LaunchError, NotPreparedError.
    """
    if sizes is None and (checked is None or type(checked) is bool):  # what arrays alone say
        done = _call(default_calls if context is None else own(context)._calls, a, b, c, bias, out, scale_a, scale_b, row_weights, None, ends, counts,
                     a_index, d_index, alpha, beta, stream, True, d_index_unique, expected, checked, activation, gate, dtype, compute, config, tune_key, False,
                     context, max_ctas)
        if done is not NotImplemented:
            return done
    operands = Operands(a, b, c, bias, out, scale_a, scale_b, ends, counts, sizes, a_index, d_index, d_index_unique, row_weights, expected, checked)
    return grouped_matmul_watched(operands, alpha, beta, Settings(activation, gate, dtype, compute, config, tune_key, False, context, max_ctas), stream, True)


def _make(arrays: tuple[Any, ...], settings: tuple[Any, ...]) -> tuple[Any, Context]:
    """What a call of arrays that look like these starts from: what differs is memory, that of the numbers of groups included."""
    unique, mean_sizes, checked, *rest = settings
    a, b, c, bias, out, scale_a, scale_b, row_weights, _, ends, counts, a_index, d_index = arrays
    o = Operands(a, b, c, bias, out, scale_a, scale_b, ends, counts, None, a_index, d_index, unique, row_weights, mean_sizes, checked)
    call, problem = describe(o, Settings(*rest), allocate=False)
    expected = {**_expected(call), **read_all(**{name: getattr(o, name) for name in _NUMBERS_OF_GROUPS})}
    made = expected["out"]
    empty = direct_allocator(a, made.shape, made.dtype, call.device, zero=d_index is not None) if out is None else None
    looks = tuple(like(expected.get(name)) for name in (*_RUNNER, *_NUMBERS_OF_GROUPS))
    return _native.calls_group_runner(problem.context._handle.pointer, call.desc, looks, _value_dtype(call), empty, call.flipped), problem.context


def _expected(call: Call) -> dict[str, Array]:
    """How the arrays of calls look."""
    return {**call.arrays, **({"status": Array(0, I32, call.device, 0, 1, (4,), (1,))} if call.desc.checked == 1 else {})}


def _value_dtype(call: Call) -> int:
    return scalar_dtype(call.dtypes["a"], call.dtypes["b"], call.dtypes["out"])


default_calls: dict[Any, Any] = {}  # of all default contexts
_CALLS_KEPT = 4096
_call, _ = _native.calls_table(_make, len(_RUNNER) + len(_NUMBERS_OF_GROUPS), _CALLS_KEPT)


def grouped_matmul_watched(o: Operands, alpha: Any, beta: Any, settings: Settings, stream: Any, watch: bool) -> Any:
    """grouped_matmul of whatever it takes; watch=False for callers that record gradients themselves."""
    alpha, beta = number("alpha", alpha), number("beta", beta)
    device_scalars = type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS
    if not device_scalars and o.sizes is None and (o.checked is None or type(o.checked) is bool):
        done = _call(default_calls if settings.context is None else settings.context._calls, o.a, o.b, o.c, o.bias, o.out, o.scale_a, o.scale_b, o.row_weights,
                     None, o.ends, o.counts, o.a_index, o.d_index, alpha, beta, stream, watch, o.d_index_unique, o.expected, o.checked, *settings)
        if done is not NotImplemented:
            return done
    call, problem = describe(o, settings._replace(device_scalars=device_scalars))
    _run(call, problem, o, alpha, beta, stream, watch)
    if isinstance(call.out, list) and o.out is None:
        return [finished(array) for array in call.out]
    return finished(call.out)


def _check_memory(call: Call, watch: bool) -> None:
    for name, array in call.memory:
        if array.flags & NO_DATA:
            raise ArgumentError(f"{name} is a Matrix without memory")
        if name.startswith(("out", "status")) and array.flags & READ_ONLY:
            raise ArgumentError(f"{name} is read-only")
        watched({name: array}, watch)


def _scalars(call: Call, args: Any, alpha: Any, beta: Any) -> list[Any]:
    """Alpha and beta into the arguments; returns what keeps them."""
    if beta is None and "c" in call.dtypes:
        beta = 1
    dtype = scalar_dtype(call.dtypes["a"], call.dtypes["b"], call.dtypes["out"])
    on_device = bool(call.desc.epilogue.scalars_on_device)
    args.alpha, args.alpha_byte_stride, keep_alpha = scalar_address("alpha", alpha, dtype, on_device, call.device, call.groups)
    args.beta, args.beta_byte_stride, keep_beta = scalar_address("beta", beta, dtype, on_device, call.device, call.groups)
    return [keep_alpha, keep_beta]


def _raise_fault(status: Any, call: Call) -> None:
    """What checked mode found on a GPU; on the CPU the library has said it."""
    if status is None or call.device == HOST:
        return
    fault = found_fault(finished(status), call.flipped)
    if fault is not None:
        raise ArgumentError(str(fault))


def _run(call: Call, problem: Problem, o: Operands, alpha: Any, beta: Any, stream: Any, watch: bool) -> None:
    _check_memory(call, watch)
    keep = _scalars(call, call.args, alpha, beta)
    address = stream_address(stream)
    if call.device != HOST:
        current = _native.calls_stream((call.like,))
        if address is not None and address != current and isinstance(o.a, (list, tuple)):
            raise ArgumentError("stream is not the current one: lists go to the device on the framework's current stream, so enter the stream instead")
        address = current if address is None else address
    native.grouped_gemm(problem.context._handle.pointer, call.desc, call.args, address)
    del keep
    _raise_fault(call.status, call)


class GroupedPlan(PlanBase):
    """A grouped product bound to a configuration and its kernel. Immutable and thread-safe. Made by `grouped_plan`.

    `p(a, b, *, out=None, c=None, bias=None, scale_a=None, scale_b=None, row_weights=None, alpha=None, beta=None, status=None, stream=None)` runs the
    products on arrays like those that the plan was made for; of `Pointers` only the addresses count. Returns out, or a new array.
    Ends, counts, sizes, indices and strides are read from the arrays that the plan was made with. status: of a plan that checks, an int32
    array [4] on the device that receives what is found, and nothing is raised; else as `checked=True` of `grouped_matmul`. Never compiles.
    Raises ArgumentError.
    """

    def __init__(self, call: Call, problem: Problem) -> None:
        super().__init__(problem)
        self._call = call
        expected = self._expected = _expected(call)
        self._status = "status" in expected
        self._scalar_arrays = bool(call.desc.epilogue.scalars_on_device)
        made = expected["out"] if "out" in expected and not call.desc.d.pointers and not isinstance(call.like, Matrix) else None
        empty = direct_allocator(call.like, made.shape, made.dtype, call.device, zero=call.desc.d_rows != 0) if made else None
        looks = tuple(like(expected.get(name)) for name in _RUNNER)
        runner = _native.calls_runner(self._handle, looks, 1, _value_dtype(call), empty, call.flipped, int(self._scalar_arrays))
        self._run = _native.calls_bind(runner)
        self._bind(runner)

    if TYPE_CHECKING:  # it is the base's, in C

        def __call__(self, a: Any, b: Any, *, out: Any = None, c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None,
                     row_weights: Any = None, alpha: Any = None, beta: Any = None, status: Any = None, stream: Any = None) -> Any: ...

    def _long_way(self, given: tuple[Any, ...], alpha: Any, beta: Any, stream: Any, watch: bool) -> Any:
        """A call that is not as the runner expects it."""
        arrays = {name: self._memory(name, value) for name, value in zip(_RUNNER, given)}
        out, own = given[_RUNNER.index("out")], None
        if out is None:
            arrays["out"] = self._new_out(given[0])
        if self._status and arrays["status"] is None:
            own = arrays["status"] = self._new_status(arrays["a"])
        alpha, beta = number("alpha", alpha), number("beta", beta)
        if self._scalar_arrays:
            self._run_with_scalars(arrays, alpha, beta, stream)
        elif type(alpha) not in _NUMBERS or type(beta) not in _NUMBERS:
            raise ArgumentError("alpha and beta are arrays, but the plan was made for numbers: grouped_plan(..., device_scalars=True)")
        elif self._run(*arrays.values(), alpha, beta, stream, watch) is NotImplemented:
            self._explain_misfit(arrays)
            _scalars(self._call, native.grouped_args(), alpha, beta)
            raise ArgumentError("the arrays are not as the plan takes them")
        if own is not None:
            _raise_fault(own, self._call)
        return finished(arrays["out"]) if out is None else out

    def _memory(self, name: str, value: Any) -> Any:
        """The array that is handed over: of Pointers their addresses."""
        if name in ("scale_a", "scale_b"):
            value = of_kind(name, value, getattr(self._call.desc, self._call.field(name)).kind)
        return value.addresses if isinstance(value, Pointers) else value

    def _new_out(self, a: Any) -> Any:
        call, planned = self._call, self._expected["out"]
        if isinstance(a, Pointers) or call.desc.d.pointers:
            raise ArgumentError("out is missing: of Pointers there is no new one")
        return allocator(a, planned.shape, planned.dtype, call.device, zero=call.desc.d_rows != 0)()

    def _new_status(self, a: Any) -> Any:
        return np.empty(4, np.int32) if self._call.device == HOST else allocator(a, (4,), I32, self._call.device)()

    def _run_with_scalars(self, arrays: dict[str, Any], alpha: Any, beta: Any, stream: Any) -> None:
        parts = self._explain_misfit(arrays)
        args = native.grouped_args()
        for name, array in parts.items():
            setattr(args, self._call.field(name), array.data or None)
        keep = _scalars(self._call, args, alpha, beta)
        address = stream_address(stream)
        if address is None:
            address = _native.calls_stream(tuple(arrays.values()))
        native.plan_run_grouped(self._handle, args, address)
        del keep

    def _explain_misfit(self, arrays: dict[str, Any]) -> dict[str, Array]:
        """Raises what of the arrays is not as the plan takes it; else returns what they are made of."""
        parts = {name: read(name, array) for name, array in arrays.items() if array is not None}
        watched(parts)
        for name in parts.keys() ^ self._expected.keys():
            raise ArgumentError(f"{name} is missing, but the plan was made with it" if name in self._expected else
                                f"{name} is given, but the plan was made without it")
        for name, array in parts.items():
            plans = self._expected[name]
            if array.flags & NO_DATA:
                raise ArgumentError(f"{name} is a Matrix without memory")
            if name in ("out", "status") and array.flags & READ_ONLY:
                raise ArgumentError(f"{name} is read-only")
            for what, has, wants in (("is", NAMES[array.dtype], NAMES[plans.dtype]), ("has shape", list(array.shape), list(plans.shape)),
                                     ("has strides", list(array.strides), list(plans.strides)), ("is on device", array.device, plans.device)):
                if has != wants:
                    raise ArgumentError(f"{name} {what} {has}, the plan was made for {wants}")
        return parts


def grouped_plan(a: Any, b: Any, *, ends: Any = None, counts: Any = None, sizes: Any = None, a_index: Any = None, d_index: Any = None,
                 d_index_unique: bool = False, row_weights: Any = None, out: Any = None, c: Any = None, bias: Any = None, activation: Activation = None,
                 gate: Gate = None, scale_a: Scales = None, scale_b: Scales = None, dtype: Any = None, compute: Compute = None, config: Any = None,
                 tune_key: str | None = None, expected: Sequence[int] | None = None, checked: bool | None = None, device_scalars: bool = False,
                 max_ctas: int = 0, context: Context | None = None) -> GroupedPlan:
    """Binds a grouped product to a configuration and its compiled kernel: `p = grouped_plan(x, w, ends=ends); p(x, w, out=d)`.

    Arguments as of `grouped_matmul`, but no lists; the arrays say how those of the calls will look. Numbers of groups (ends, counts, sizes, indices,
    strides) are looked at by every run, and the plan keeps them; memory is given anew with each call. Capture a call in a CUDA graph and change the
    arrays in place: a replay takes the new ones. checked: every run looks at them first, as on the CPU by default; False does without.
    device_scalars: alpha and beta of the calls are arrays on the device.
    Raises ArgumentError, UnsupportedError, CompileError.
    """
    if isinstance(a, (list, tuple)):
        raise ArgumentError("a is a list: a grouped plan takes arrays, or Pointers")
    settings = Settings(activation, gate, dtype, compute, config, tune_key, device_scalars, context, max_ctas)
    operands = Operands(a, b, c, bias, out, scale_a, scale_b, ends, counts, sizes, a_index, d_index, d_index_unique, row_weights, expected, checked)
    return GroupedPlan(*describe(operands, settings, allocate=False))

# SPDX-License-Identifier: Apache-2.0
"""ggemm's products as differentiable torch operators, for eager mode and torch.compile.

    d = ggemm.torch.matmul(a, b, bias, activation="gelu")
    y = ggemm.torch.grouped_mm(x, w, offs)                  # takes torch._grouped_mm's arguments

They run on CPU tensors and on CUDA tensors, on torch's current stream. Unlike torch._grouped_mm they take any strides and all float dtypes.
"""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor, library

from ._arguments import real
from ._grouped import grouped_matmul_watched
from ._groups import Operands
from ._plan import matmul_watched
from ._problem import Activation, Settings

_FROM_OUTPUT = ("relu", "leaky_relu", "sigmoid", "tanh", "clamp")  # whose derivative can be had from their output
_NO_TYPE_CHANGE = (torch.int8, torch.float8_e4m3fn, torch.float8_e5m2)


def _output_dtype(a: Tensor, b: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    if dtype is not None:
        return dtype
    if a.dtype == b.dtype and a.dtype not in _NO_TYPE_CHANGE:
        return a.dtype
    if torch.float64 in (a.dtype, b.dtype):
        return torch.float64
    if a.dtype == b.dtype == torch.int8:
        return torch.int32
    fp8 = (torch.float8_e4m3fn, torch.float8_e5m2)
    return torch.bfloat16 if a.dtype in fp8 and b.dtype in fp8 else torch.float32


# ----------------------------------------------------------------------------------------------------------------------------- matmul
@library.custom_op("ggemm::matmul", mutates_args=())
def _matmul(a: Tensor, b: Tensor, bias: Optional[Tensor], activation: str, p0: float, p1: float, alpha: float, compute: str,
            dtype: Optional[torch.dtype]) -> Tensor:
    name: Activation = (activation, p0) if activation == "leaky_relu" else (activation, p0, p1) if activation == "clamp" else activation
    return matmul_watched((a, b, None, bias, None, None, None), (None, None), alpha, None, Settings(name, dtype=dtype, compute=compute), None, False)


@_matmul.register_fake
def _(a: Tensor, b: Tensor, bias: Optional[Tensor], activation: str, p0: float, p1: float, alpha: float, compute: str,
      dtype: Optional[torch.dtype]) -> Tensor:
    torch._check(a.dim() == 2 and b.dim() == 2, lambda: f"a has {a.dim()} dimensions and b {b.dim()}, and 2 are needed")
    torch._check(a.shape[1] == b.shape[0], lambda: f"k differs: A is {tuple(a.shape)}, B is {tuple(b.shape)}")
    return a.new_empty((a.shape[0], b.shape[1]), dtype=_output_dtype(a, b, dtype))


def _matmul_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, bias, activation, p0, p1, alpha, compute, dtype = inputs
    ctx.settings = (activation, p0, p1, alpha, compute)
    ctx.save_for_backward(a, b, bias, output if activation in _FROM_OUTPUT else None)


def _activation_backward(grad: Tensor, z: Tensor | None, y: Tensor | None, activation: str, p0: float, p1: float) -> Tensor:
    """The gradient before the activation, from its input z or its output y."""
    if y is not None:
        if activation == "relu":
            return grad * (y > 0)
        if activation == "leaky_relu":
            return torch.where(y > 0, grad, grad * p0)
        if activation == "clamp":
            return grad * ((y > p0) & (y < p1))
        return grad * (y * (1 - y) if activation == "sigmoid" else 1 - y * y)
    assert z is not None
    if activation == "silu":
        s = torch.sigmoid(z)
        return grad * (s * (1 + z * (1 - s)))
    return torch.ops.aten.gelu_backward(grad, z, approximate="tanh" if activation == "gelu_tanh" else "none")


def _matmul_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, b, bias, y = ctx.saved_tensors
    activation, p0, p1, alpha, compute = ctx.settings
    if activation != "none":
        # Where the derivative needs the sums they are made again: cheaper than keeping them between forward and backward.
        z = None if y is not None else _matmul(a, b, bias, "none", 0.0, 0.0, alpha, compute, grad.dtype)
        grad = _activation_backward(grad, z, y, activation, p0, p1)
    plain = ("none", 0.0, 0.0, alpha, compute)
    needs_a, needs_b, needs_bias = ctx.needs_input_grad[:3]
    grad_a = _matmul(grad.to(b.dtype), b.t(), None, *plain, a.dtype) if needs_a else None
    grad_b = _matmul(a.t(), grad.to(a.dtype), None, *plain, b.dtype) if needs_b else None
    grad_bias = grad.sum_to_size(bias.shape).to(bias.dtype) if needs_bias else None
    return grad_a, grad_b, grad_bias, None, None, None, None, None, None


_matmul.register_autograd(_matmul_backward, setup_context=_matmul_setup)


def matmul(a: Tensor, b: Tensor, bias: Tensor | None = None, *, activation: Activation = None, alpha: float = 1.0, compute: str = "default",
           dtype: torch.dtype | None = None) -> Tensor:
    """D = act(alpha A B + bias), differentiable (twice, too) in a, b and bias.

    a: [m, k]; b: [k, n]; bias: [n] or [1, n], or [m, 1]; any strides. activation, compute and dtype as in `ggemm.matmul`.
    Raises ggemm.ArgumentError and the other errors of `ggemm.matmul`.
    """
    name, *parameters = (activation or "none",) if activation is None or isinstance(activation, str) else activation
    if name == "leaky_relu" and not parameters:
        parameters = [0.01]
    p0, p1 = (*(real("activation's parameter", parameter) for parameter in parameters), 0.0, 0.0)[:2]
    return _matmul(a, b, bias, name, p0, p1, real("alpha", alpha), compute, dtype)


# ------------------------------------------------------------------------------------------------------------------------- grouped_mm
@library.custom_op("ggemm::grouped_mm", mutates_args=())
def _grouped_mm(a: Tensor, b: Tensor, offs: Optional[Tensor], bias: Optional[Tensor], dtype: Optional[torch.dtype], zero_rest: bool) -> Tensor:
    out = None
    if zero_rest:  # what no group covers
        out = torch.zeros(_grouped_shape(a, b, offs), dtype=_output_dtype(a, b, dtype), device=a.device)
    return grouped_matmul_watched(Operands(a, b, bias=bias, out=out, ends=offs), None, None, Settings(dtype=dtype), None, False)


def _grouped_shape(a: Tensor, b: Tensor, offs: Tensor | None) -> tuple[int, ...]:
    m, n = a.shape[-2], b.shape[-1]
    if a.dim() != b.dim():
        return m, n
    return (a.shape[0] if a.dim() == 3 else offs.shape[0] if offs is not None else 0, m, n)


@_grouped_mm.register_fake
def _(a: Tensor, b: Tensor, offs: Optional[Tensor], bias: Optional[Tensor], dtype: Optional[torch.dtype], zero_rest: bool) -> Tensor:
    torch._check(a.dim() in (2, 3) and b.dim() in (2, 3), lambda: f"a has {a.dim()} dimensions and b {b.dim()}: each has 2, or 3")
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"k differs: A is {tuple(a.shape)}, B is {tuple(b.shape)}")
    torch._check((offs is None) == (a.dim() == b.dim() == 3), lambda: "offs goes with a or b of 2 dimensions")
    return a.new_empty(_grouped_shape(a, b, offs), dtype=_output_dtype(a, b, dtype))


def _grouped_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, offs, bias, dtype, zero_rest = inputs
    ctx.save_for_backward(a, b, offs, bias)


def _grouped_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    a, b, offs, bias = ctx.saved_tensors
    needs_a, needs_b, _, needs_bias = ctx.needs_input_grad[:4]
    # Each is another of the four forms. Rows and columns that no group covers get a gradient of 0.
    grad_a = _grouped_mm(grad.to(b.dtype), b.transpose(-2, -1), offs, None, a.dtype, a.dim() == 2) if needs_a else None
    grad_b = _grouped_mm(a.transpose(-2, -1), grad.to(a.dtype), offs, None, b.dtype, b.dim() == 2) if needs_b else None
    grad_bias = None
    if needs_bias:
        if grad.dim() == 3:
            rows = grad.sum(1)
        else:  # summed over each group's rows: a product with ones
            ones = torch.ones((1, grad.shape[0]), dtype=grad.dtype, device=grad.device)
            rows = _grouped_mm(ones, grad, offs, None, grad.dtype, False).squeeze(1)
        grad_bias = rows.sum_to_size(bias.shape).to(bias.dtype)
    return grad_a, grad_b, None, grad_bias, None, None


_grouped_mm.register_autograd(_grouped_backward, setup_context=_grouped_setup)


def grouped_mm(a: Tensor, b: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: torch.dtype | None = None) -> Tensor:
    """The grouped product of torch._grouped_mm, differentiable (twice, too) in a, b and bias.

    - a [rows, k], b [groups, k, n], offs [groups] along the rows: [rows, n]
    - a [groups, m, k], b [k, columns], offs along the columns: [m, columns]
    - a [m, k], b [k, n], offs along k: [groups, m, n]
    - a [groups, m, k], b [groups, k, n], no offs: [groups, m, n]

    offs: int32 or int64 ends of the groups, on the device; the host does not wait for it. What lies past the last end is left out: it is not written
    in the result, and its gradient is 0. bias: [n] or [groups, n], where the columns are not ragged.
    Raises ggemm.ArgumentError and the other errors of `ggemm.grouped_matmul`.
    """
    return _grouped_mm(a, b, offs, bias, out_dtype, False)


__all__ = ["grouped_mm", "matmul"]

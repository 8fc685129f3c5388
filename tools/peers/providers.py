# SPDX-License-Identifier: Apache-2.0
"""What computes a case: ggemm, torch in its several ways, Triton (triton_products.py)."""
from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import torch

import ggemm
from cases import Case
from operands import OUTPUTS, Operands, addresses_of, mean_size, strides_of


class Launch(NamedTuple):
    """run() puts the case on the current stream, and returns the results if they are not where the operands have D."""

    name: str
    run: Callable[[], Sequence[Any] | None]
    config: str = ""


def where(device: str | None) -> tuple[str, str]:
    """"cuda" or "cpu", and the name of the device that computes there."""
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return chosen, ggemm.context("cuda:0" if chosen == "cuda" else "cpu").device.name


def ours(case: Case, operands: Operands, config: str = "") -> Launch:
    """A plan of ggemm, so a call is a launch."""
    settings: dict[str, Any] = {"compute": case.dtype if case.dtype in ("tf32", "f32x3") else None, "config": config or None}
    if not case.groups:
        a, b, d = operands.a[0], operands.b[0], operands.d[0]
        plan = ggemm.plan(a, b, out=d, **settings)
        return Launch("ggemm", _without_result(lambda: plan(a, b, out=d)), plan.config)
    # The matrices' own dtypes: arrays of addresses do not know them.
    dtypes = {"a": operands.a[0].dtype, "b": operands.b[0].dtype, "d": OUTPUTS[case.dtype]}
    pointers = {name: ggemm.Pointers(addresses_of(matrices, operands.device), dtypes[name], strides_of(matrices, 0, operands.device),
                                     strides_of(matrices, 1, operands.device))
                for name, matrices in (("a", operands.a), ("b", operands.b), ("d", operands.d))}
    sizes = torch.tensor(case.groups, dtype=torch.int32, device=operands.device)
    grouped = ggemm.grouped_plan(pointers["a"], pointers["b"], out=pointers["d"], sizes=sizes, expected=mean_size(case.groups), **settings)
    at = {name: each.addresses for name, each in pointers.items()}
    return Launch("ggemm", _without_result(lambda: grouped(at["a"], at["b"], out=at["d"])), grouped.config)


def _without_result(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        call()

    return run


# ------------------------------------------------------------------------------------------------------------------------------ torch
def of_torch(case: Case, operands: Operands) -> list[Launch]:
    """Each way that torch has; one that it does not offer for the case fails when it is run."""
    torch.backends.cuda.matmul.allow_tf32 = case.dtype == "tf32"
    if case.groups:
        return _torch_grouped(case, operands)
    a, b, d = operands.a[0], operands.b[0], operands.d[0]
    return [Launch("torch", _product(case, a, b, d))]


def _product(case: Case, a: Any, b: Any, d: Any) -> Callable[[], None]:
    if case.dtype == "e4m3":
        one = torch.ones((), device=a.device)
        return _without_result(lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=d.dtype, out=d))
    if case.dtype == "i8":
        return _without_result(lambda: torch._int_mm(a, b, out=d))
    return _without_result(lambda: torch.mm(a, b, out=d))


def _torch_grouped(case: Case, operands: Operands) -> list[Launch]:
    steps = [_product(case, a, b, d) for a, b, d in zip(operands.a, operands.b, operands.d) if d.numel()]

    def loop() -> None:
        for step in steps:
            step()

    found = [Launch("torch loop", loop)]
    if operands.joined is None:
        return found
    x, w, d = operands.joined
    ends = operands.ends()
    if case.dtype in ("bf16", "f16", "f32", "tf32"):
        found.append(Launch("torch._grouped_mm", lambda: _groups(operands, torch._grouped_mm(x, w, offs=ends, out_dtype=d.dtype))))
    elif case.dtype == "e4m3":
        rows = torch.ones(x.shape[0] * (len(case.groups) if operands.axis == "k" else 1), device=x.device)
        columns = torch.ones((len(case.groups), w.shape[-1]), device=x.device)
        columns = columns.flatten() if operands.axis == "k" else columns
        found.append(Launch("torch._scaled_grouped_mm",
                            lambda: _groups(operands, torch._scaled_grouped_mm(x, w, rows, columns, offs=ends, out_dtype=d.dtype))))
    return found


def _groups(operands: Operands, result: Any) -> Sequence[Any]:
    """The groups' parts of a new tensor."""
    return result.unbind() if operands.axis == "k" else result.split([m for m, _, _ in operands.case.groups])


# ----------------------------------------------------------------------------------------------------------------------------- Triton
def of_triton(case: Case, operands: Operands) -> list[Launch]:
    import triton_products

    if case.groups:
        return [Launch("triton grouped", triton_products.grouped(case, operands))]
    return [Launch("triton", triton_products.plain(case, operands))]


PEERS: dict[str, Callable[[Case, Operands], list[Launch]]] = {"torch": of_torch, "triton": of_triton}

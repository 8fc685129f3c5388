# SPDX-License-Identifier: Apache-2.0
"""What computes a case: ggemm, torch in its several ways, Triton (triton_products.py), QuACK, DeepGEMM."""
from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple, Sequence

import torch

import ggemm
from cases import Case
from operands import OUTPUTS, SCALED, Operands, addresses_of, mean_size, strides_of


class Launch(NamedTuple):
    """run() puts the case on the current stream, and returns the results if they are not where the operands have D."""

    name: str
    run: Callable[[], Sequence[Any] | None]
    config: str = ""


def where(device: str | None) -> tuple[str, str]:
    """"cuda" or "cpu", and the name of the device that computes there."""
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return chosen, ggemm.context("cuda:0" if chosen == "cuda" else "cpu").device.name


KINDS = {"tensor": ("tensor", "tensor"), "row": ("vector", "vector"), "block": ("1x128", "128x128")}  # ggemm's words for the scales of A and B


def ours(case: Case, operands: Operands, config: str = "") -> Launch:
    """A plan of ggemm, so a call is a launch. As in `ggemm bench`, rows of groups that follow one another go with their ends, other groups by arrays of addresses."""
    settings: dict[str, Any] = {"compute": case.dtype if case.dtype in ("tf32", "f32x3") else None, "config": config or None}
    scales = dict(zip(("scale_a", "scale_b"), operands.scales or ()))
    described = {name: ggemm.Scale(values, kind) for (name, values), kind in zip(scales.items(), KINDS.get(case.scaling, ()))}
    if not case.groups or operands.axis == "m":
        a, b, d = operands.joined or (operands.a[0], operands.b[0], operands.d[0])
        if case.groups:
            plan = ggemm.grouped_plan(a, b, out=d, ends=operands.ends(), expected=mean_size(case.groups), **described, **settings)
        else:
            plan = ggemm.plan(a, b, out=d, **described, **settings)
        return Launch("ggemm", _without_result(lambda: plan(a, b, out=d, **scales)), plan.config)
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
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = case.dtype == "tf32"
    # Parts of a sum are kept in f32, as the others keep them.
    matmul.allow_bf16_reduced_precision_reduction = matmul.allow_fp16_reduced_precision_reduction = False
    if case.groups:
        return _torch_grouped(case, operands)
    return [Launch("torch", _product(case, operands, 0))]


def _product(case: Case, operands: Operands, g: int) -> Callable[[], None]:
    a, b, d = operands.a[g], operands.b[g], operands.d[g]
    if case.dtype == "e4m3":
        one = torch.ones((), device=a.device)
        scale_a, scale_b = (operands.scale_a[g], operands.scale_b[g]) if case.scaling else (one, one)
        if case.scaling == "row":
            scale_a, scale_b = scale_a.contiguous(), scale_b.contiguous()
        return _without_result(lambda: torch._scaled_mm(a, b, scale_a=scale_a, scale_b=scale_b, out_dtype=d.dtype, out=d))
    if case.dtype == "i8":
        return _without_result(lambda: torch._int_mm(a, b, out=d))
    return _without_result(lambda: torch.mm(a, b, out=d))


def _torch_grouped(case: Case, operands: Operands) -> list[Launch]:
    steps = [_product(case, operands, g) for g, d in enumerate(operands.d) if d.numel()]

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
    elif case.dtype == "e4m3" and case.scaling != "block":  # it has scales by row and column
        rows = torch.ones(x.shape[0] * (len(case.groups) if operands.axis == "k" else 1), device=x.device)
        columns = torch.ones((len(case.groups), w.shape[-1]), device=x.device)
        if operands.scales:
            rows, columns = rows * operands.scales[0].flatten(), columns * (operands.scales[1].squeeze(1) if case.scaling == "row" else operands.scales[1])
        columns = columns.flatten() if operands.axis == "k" else columns
        found.append(Launch("torch._scaled_grouped_mm",
                            lambda: _groups(operands, torch._scaled_grouped_mm(x, w, rows, columns, offs=ends, out_dtype=d.dtype))))
    return found


def _groups(operands: Operands, result: Any) -> Sequence[Any]:
    """The groups' parts of a new tensor."""
    return result.unbind() if operands.axis == "k" else result.split([m for m, _, _ in operands.case.groups])


# ----------------------------------------------------------------------------------------------------------------------------- Triton
def of_triton(case: Case, operands: Operands) -> list[Launch]:
    if case.scaling:
        raise NotImplementedError("asked for products without scales only")
    import triton_products

    if case.groups:
        return [Launch("triton grouped", triton_products.grouped(case, operands))]
    return [Launch("triton", triton_products.plain(case, operands))]


# ------------------------------------------------------------------------------------------------------------------------------ QuACK
def of_quack(case: Case, operands: Operands) -> list[Launch]:
    """With the configuration that it begins with, and with that which its tuner finds."""
    if case.dtype not in ("bf16", "f16"):
        raise NotImplementedError(f"asked for bf16 and f16 only, not {case.dtype}")
    if case.groups and operands.joined is None:
        raise NotImplementedError("its groups differ in m alone or in k alone")
    from quack.gemm_interface import gemm

    a, b, d = operands.joined or (operands.a[0], operands.b[0], operands.d[0])
    bounds = {f"cu_seqlens_{operands.axis}": torch.nn.functional.pad(operands.ends(), (1, 0))} if case.groups else {}

    def launch(name: str, tuned: bool) -> Launch:
        return Launch(name, _without_result(lambda: gemm(a, b, out=d, tuned=tuned, **bounds)))

    return [launch("quack", False), launch("quack tuned", True)]


# --------------------------------------------------------------------------------------------------------------------------- DeepGEMM
GROUP_ROWS = 64, 128  # what its groups' rows can be padded to


def of_deep_gemm(case: Case, operands: Operands) -> list[Launch]:
    """Its fp8 products have a scale for each 128 elements of A and 128 x 128 of B, which are 1 where the case has none."""
    if case.dtype not in ("bf16", "e4m3") or case.layout != "nt":
        raise NotImplementedError(f"asked for bf16 and e4m3 in nt only, not {case.dtype} in {case.layout}")
    if case.groups and operands.axis != "m":
        raise NotImplementedError("its groups differ in m alone")
    if case.scaling not in ("", "block"):
        raise NotImplementedError(f"its scales are by blocks, not by {case.scaling}")
    import deep_gemm

    kind = "fp8" if case.dtype == "e4m3" else "bf16"
    if case.groups:
        mean = sum(m for m, _, _ in case.groups) / len(case.groups)
        product = getattr(deep_gemm, f"m_grouped_{kind}_gemm_nt_contiguous")
        return [_deep_gemm_groups(deep_gemm, product, case, operands, rows) for rows in GROUP_ROWS if mean <= rows or rows == max(GROUP_ROWS)]
    product = getattr(deep_gemm, f"{kind}_gemm_nt")
    a, b, d = _scaled(deep_gemm, operands.a[0], operands.scale_a[0]), _scaled_blocks(operands.b[0].t(), operands.scale_b[0]), operands.d[0]
    return [Launch("deep_gemm", _without_result(lambda: product(a, b, d)))]


def _scaled(deep_gemm: Any, a: Any, scales: Any) -> Any:
    """A with its scales if it is fp8, as the copy engine reads them: else each launch would lay them out anew."""
    if a.dtype != torch.float8_e4m3fn:
        return a
    if scales is None:
        scales = torch.ones((a.shape[0], -(-a.shape[1] // SCALED)), device=a.device)
    return a, deep_gemm.get_mn_major_tma_aligned_tensor(scales.contiguous())


def _scaled_blocks(b: Any, scales: Any) -> Any:
    """scales: of B as [k,n]; it wants them of [n,k], as B is."""
    if b.dtype != torch.float8_e4m3fn:
        return b
    if scales is None:
        return b, torch.ones((*b.shape[:-2], *(-(-length // SCALED) for length in b.shape[-2:])), device=b.device)
    return b, scales.transpose(-1, -2).contiguous()


def _deep_gemm_groups(deep_gemm: Any, product: Callable[..., None], case: Case, operands: Operands, multiple: int) -> Launch:
    """Groups begin at multiples of so many rows, to which A is copied beforehand; the rows between them belong to no group."""
    x, w, out = operands.joined
    starts = [0]
    for m, _, _ in case.groups:
        starts.append(starts[-1] - (-m // multiple) * multiple)
    parts = [slice(start, start + m) for start, (m, _, _) in zip(starts, case.groups)]
    padded, d = x.new_zeros((starts[-1], x.shape[1])), out.new_full((starts[-1], out.shape[1]), math.nan)
    group_of = torch.full((starts[-1],), -1, dtype=torch.int32, device=x.device)
    scales, of_b = None, None
    if operands.scales:
        scales, of_b = x.new_ones((starts[-1], operands.scales[0].shape[1]), dtype=torch.float32), operands.scales[1]
    for g, (part, rows) in enumerate(zip(parts, operands.a)):
        padded[part].copy_(rows)
        group_of[part] = g
        if scales is not None:
            scales[part] = operands.scale_a[g]
    a, b, results = _scaled(deep_gemm, padded, scales), _scaled_blocks(w.transpose(1, 2), of_b), [d[part] for part in parts]

    def run() -> Sequence[Any]:
        deep_gemm.set_mk_alignment_for_contiguous_layout(multiple)
        product(a, b, d, group_of)
        return results

    return Launch(f"deep_gemm (rows to {multiple})", run)


PEERS: dict[str, Callable[[Case, Operands], list[Launch]]] = {"torch": of_torch, "triton": of_triton, "quack": of_quack, "deep_gemm": of_deep_gemm}

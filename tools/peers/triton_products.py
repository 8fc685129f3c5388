# SPDX-License-Identifier: Apache-2.0
"""Triton kernels after the method of its tutorials 03 (matrix multiplication: tiles in raster groups, autotuned) and 08 (grouped GEMM: persistent
programs that walk the tiles of all groups, whose pointers and sizes lie on the device), with masks, as sizes here need not fill tiles."""
from __future__ import annotations

import concurrent.futures
from typing import Any, Callable, Sequence

import torch
import triton
import triton.language as tl

from cases import Case
from operands import Operands, addresses_of

# (BM, BN, BK, raster, stages, warps) for 16-bit operands; k is counted in bytes, so that others keep the shared memory.
TILES = [(128, 256, 64, 8, 3, 8), (256, 128, 64, 8, 3, 8), (128, 128, 64, 8, 4, 4), (128, 128, 32, 8, 4, 4), (64, 256, 32, 8, 4, 4), (128, 64, 64, 8, 4, 4),
         (64, 128, 64, 8, 4, 4), (64, 64, 64, 8, 5, 4), (128, 32, 64, 8, 5, 2), (16, 128, 128, 8, 4, 4), (16, 64, 256, 8, 4, 4)]
GROUPED_TILES = [(128, 128, 64, 1, 3, 8), (128, 256, 64, 1, 3, 8), (128, 128, 64, 1, 4, 4), (64, 128, 64, 1, 4, 4), (64, 256, 64, 1, 3, 8),
                 (128, 64, 64, 1, 4, 4), (64, 64, 64, 1, 5, 4), (16, 128, 128, 1, 4, 4)]
# Sums in f32 on CUDA cores, whose products the compiler writes out one by one.
SMALL_TILES = [(64, 64, 16, 8, 3, 4), (128, 64, 16, 8, 3, 8), (64, 128, 16, 8, 3, 8), (32, 64, 32, 8, 3, 4)]
PROGRAMS_A_MULTIPROCESSOR = 1, 2
ALIGNED = 16  # elements that strides and sizes are multiples of, for the compiler to know


def configs(tiles: Sequence[tuple[int, ...]], element_size: int, programs: Sequence[int] = ()) -> list[triton.Config]:
    """Candidates of the autotuner."""
    found = []
    for bm, bn, bk, raster, stages, warps in tiles:
        names = {"BM": bm, "BN": bn, "BK": max(16, bk * 2 // element_size)}
        for each in [{"PROGRAMS": count} for count in programs] or [{"RASTER": raster}]:
            found.append(triton.Config({**names, **each}, num_stages=stages, num_warps=warps))
    return found


@triton.jit
def sum_of_products(a_at, b_at, i, j, a_outer, a_inner, b_outer, b_inner, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                    SUM: tl.constexpr, PRECISION: tl.constexpr):
    """Rows i of A times columns j of B. outer, inner: A's row and column stride, B's column and row stride."""
    depth = tl.arange(0, BK)
    a_tile = a_at + i[:, None] * a_outer + depth[None, :] * a_inner
    b_tile = b_at + depth[:, None] * b_inner + j[None, :] * b_outer
    sums = tl.zeros((BM, BN), dtype=SUM)
    for step in range(0, tl.cdiv(k, BK)):
        left = k - step * BK
        a = tl.load(a_tile, mask=(i[:, None] < m) & (depth[None, :] < left), other=0.0)
        b = tl.load(b_tile, mask=(depth[:, None] < left) & (j[None, :] < n), other=0.0)
        sums = tl.dot(a, b, sums, input_precision=PRECISION, out_dtype=SUM)
        a_tile += BK * a_inner
        b_tile += BK * b_inner
    return sums


@triton.jit
def plain_kernel(a_at, b_at, d_at, m, n, k, a_outer, a_inner, b_outer, b_inner, d_row, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                 RASTER: tl.constexpr, SUM: tl.constexpr, PRECISION: tl.constexpr):
    """One program a tile, in raster groups."""
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    in_group = RASTER * tiles_n
    first = program // in_group * RASTER
    height = min(tiles_m - first, RASTER)
    i = (first + program % in_group % height) * BM + tl.arange(0, BM)
    j = (program % in_group // height) * BN + tl.arange(0, BN)
    sums = sum_of_products(a_at, b_at, i, j, a_outer, a_inner, b_outer, b_inner, m, n, k, BM, BN, BK, SUM, PRECISION)
    tl.store(d_at + i[:, None] * d_row + j[None, :], sums.to(d_at.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))


@triton.jit
def grouped_kernel(a_ats, b_ats, d_ats, sizes, lines, groups, like_a, like_b, like_d, key, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                   PROGRAMS: tl.constexpr, A_ALONG_K: tl.constexpr, B_ALONG_K: tl.constexpr, EVEN: tl.constexpr, SUM: tl.constexpr,
                   PRECISION: tl.constexpr):
    """Every PROGRAMS-th tile of all groups. sizes, lines: [groups, 3], m n k and the distance of lines of A, B and D."""
    tile = tl.program_id(0)
    end = 0
    for g in range(groups):
        m, n, k = tl.load(sizes + 3 * g), tl.load(sizes + 3 * g + 1), tl.load(sizes + 3 * g + 2)
        tiles_n = tl.cdiv(n, BN)
        begin = end
        end += tl.cdiv(m, BM) * tiles_n
        while tile < end:
            a_line, b_line, d_line = tl.load(lines + 3 * g), tl.load(lines + 3 * g + 1), tl.load(lines + 3 * g + 2)
            if EVEN:  # masks too must be known to change every 16 elements only, or nothing is loaded ahead
                n, k = tl.multiple_of(n, 16), tl.multiple_of(k, 16)
                if not A_ALONG_K:
                    m = tl.multiple_of(m, 16)
                a_line, b_line, d_line = tl.multiple_of(a_line, 16), tl.multiple_of(b_line, 16), tl.multiple_of(d_line, 16)
            a_at = tl.load(a_ats + g).to(like_a.dtype)
            b_at = tl.load(b_ats + g).to(like_b.dtype)
            d_at = tl.load(d_ats + g).to(like_d.dtype)
            if EVEN:
                a_at, b_at, d_at = tl.multiple_of(a_at, 16), tl.multiple_of(b_at, 16), tl.multiple_of(d_at, 16)
            i = (tile - begin) // tiles_n * BM + tl.arange(0, BM)
            j = (tile - begin) % tiles_n * BN + tl.arange(0, BN)
            if A_ALONG_K:
                if B_ALONG_K:
                    sums = sum_of_products(a_at, b_at, i, j, a_line, 1, b_line, 1, m, n, k, BM, BN, BK, SUM, PRECISION)
                else:
                    sums = sum_of_products(a_at, b_at, i, j, a_line, 1, 1, b_line, m, n, k, BM, BN, BK, SUM, PRECISION)
            else:
                if B_ALONG_K:
                    sums = sum_of_products(a_at, b_at, i, j, 1, a_line, b_line, 1, m, n, k, BM, BN, BK, SUM, PRECISION)
                else:
                    sums = sum_of_products(a_at, b_at, i, j, 1, a_line, 1, b_line, m, n, k, BM, BN, BK, SUM, PRECISION)
            tl.store(d_at + i[:, None] * d_line + j[None, :], sums.to(d_at.dtype.element_ty), mask=(i[:, None] < m) & (j[None, :] < n))
            tile += PROGRAMS


def _arithmetic(case: Case) -> dict[str, Any]:
    if case.dtype == "f64":
        raise NotImplementedError("Triton's dot takes no f64")
    return {"SUM": tl.int32 if case.dtype == "i8" else tl.float32, "PRECISION": {"f32": "ieee", "f32x3": "tf32x3"}.get(case.dtype, "tf32")}


def _tuned(function: Any, candidates: Sequence[triton.Config], key: Sequence[str], device: str, arguments: Sequence[Any], constants: dict[str, Any]) -> Any:
    """An autotuned kernel whose candidates were compiled side by side; the tuner compiles anew, and passes over, those that could not be."""
    kernel = triton.autotune(candidates, key=key)(function)
    if device == "cuda":
        with concurrent.futures.ThreadPoolExecutor() as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
            kernel.warmup(*arguments, grid=(1,), **constants)
    return kernel


def plain(case: Case, operands: Operands, candidates: Sequence[triton.Config] | None = None) -> Callable[[], None]:
    a, b, d = operands.a[0], operands.b[0], operands.d[0]
    m, n, k = case.size
    candidates = candidates or configs(SMALL_TILES if case.dtype == "f32" else TILES, 2 if case.dtype == "f32" else a.element_size())
    arithmetic = _arithmetic(case)
    arguments = a, b, d, m, n, k, a.stride(0), a.stride(1), b.stride(1), b.stride(0), d.stride(0)
    kernel = _tuned(plain_kernel, candidates, ["m", "n", "k"], operands.device, arguments, arithmetic)

    def run() -> None:
        kernel[lambda chosen: (triton.cdiv(m, chosen["BM"]) * triton.cdiv(n, chosen["BN"]),)](*arguments, **arithmetic)

    return run


def grouped(case: Case, operands: Operands, candidates: Sequence[triton.Config] | None = None) -> Callable[[], None]:
    device = operands.device
    like = operands.a[0], operands.b[0], operands.d[0]
    sizes = torch.tensor(case.groups, dtype=torch.int32, device=device)
    lines = torch.tensor([[max(matrix.stride()) for matrix in group] for group in zip(operands.a, operands.b, operands.d)], dtype=torch.int32, device=device)
    addresses = [addresses_of(matrices, device) for matrices in (operands.a, operands.b, operands.d)]
    along_k = case.layout[0] == "n"
    lengths = [length for m, n, k in case.groups for length in ((n, k) if along_k else (m, n, k))]
    even = all(each % ALIGNED == 0 for each in [*lengths, *lines.flatten().tolist(), *(at for each in addresses for at in each.tolist())])
    if candidates is None:
        multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
        candidates = configs(GROUPED_TILES, like[0].element_size(), [multiprocessors * each for each in PROGRAMS_A_MULTIPROCESSOR])
    constants = {"A_ALONG_K": along_k, "B_ALONG_K": case.layout[1] == "t", "EVEN": even, **_arithmetic(case)}
    arguments = *addresses, sizes, lines, len(case.groups), *like, hash(case.key) & 0x7FFFFFFF
    kernel = _tuned(grouped_kernel, candidates, ["key"], device, arguments, constants)

    def run() -> None:
        kernel[lambda chosen: (chosen["PROGRAMS"],)](*arguments, **constants)

    return run

# SPDX-License-Identifier: Apache-2.0
"""What a warm call from Python costs over the same call from C. Prints a Markdown table, and fails if a call costs many times what is promised:
GGEMM_OVERHEAD_SLACK times, 10 if it is not set, as what else the machine does is in the figures. Where no out is given the framework makes a new
array: what that alone takes, in the framework's own quickest words, is in the last column, and no part of what is held to the promise.

The product is tiny, so that on the CPU the call is nearly all there is. On a GPU launches are asynchronous: the host's time is measured, and the
device is waited for between batches that fit its queue."""
import argparse
import os
import statistics
import sys
import time

import numpy as np

import ggemm
from ggemm import native

BATCH, REPEATS = 100, 50
PROMISES = 3, 8, 8  # microseconds of a plan, of the one-call form with out, and without it less the new array
SLACK = float(os.environ.get("GGEMM_OVERHEAD_SLACK", 10))


def batches(run, wait):
    """Microseconds of a call: the median of batches."""
    times = []
    for _ in range(REPEATS):
        wait()
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) / BATCH * 1e6)
    wait()
    return statistics.median(times)


def python(call, wait):
    def run():
        for _ in range(BATCH):
            call()

    return batches(run, wait)


def measure(name, a, b, new, wait=lambda: None, stream=None):
    """new(shape, dtype) makes an array as the framework's users would."""
    out = ggemm.matmul(a, b)
    plan = ggemm.plan(a, b, out=out)
    args = native.gemm_args()
    args.a, args.b, args.d = (native.read_array(x)[0] for x in (a, b, out))
    from_c = batches(lambda: native.plan_run_seconds(plan._handle, args, None, stream, BATCH), wait)
    shape = tuple(out.shape)
    calls = lambda: plan(a, b, out=out), lambda: ggemm.matmul(a, b, out=out), lambda: ggemm.matmul(a, b)
    return compare(name, from_c, wait, lambda: new(*shape), *calls)


def measure_groups(name, x, w, ends, new, wait=lambda: None, stream=None):
    """Rows by group."""
    out = ggemm.grouped_matmul(x, w, ends=ends, checked=False)
    plan = ggemm.grouped_plan(x, w, ends=ends, checked=False)
    args = native.grouped_args()
    args.a, args.b, args.d = (native.read_array(array)[0] for array in (x, w, out))
    from_c = batches(lambda: native.plan_run_seconds(plan._handle, None, args, stream, BATCH), wait)
    shape = tuple(out.shape)
    calls = (lambda: plan(x, w, out=out), lambda: ggemm.grouped_matmul(x, w, ends=ends, checked=False, out=out),
             lambda: ggemm.grouped_matmul(x, w, ends=ends, checked=False))
    return compare(name, from_c, wait, lambda: new(*shape), *calls)


def compare(name, from_c, wait, new, *calls):
    figures, array = [python(call, wait) - from_c for call in calls], python(new, wait)
    print(f"| {name} | {from_c:.2f} | " + " | ".join(f"{figure:.2f}" for figure in (*figures, array)) + " |", flush=True)
    figures[2] -= array
    return all(figure <= promise * SLACK for figure, promise in zip(figures, PROMISES))


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    columns = "arrays", "from C, us", "plan(a, b, out=d), + us", "matmul(a, b, out=d), + us", "matmul(a, b), + us", "of it a new array, us"
    print(f"| {' | '.join(columns)} |\n|---{'|---:' * (len(columns) - 1)}|")
    host = np.ones((4, 4), np.float32)
    new = lambda *shape: np.empty(shape, np.float32)
    good = measure("numpy", host, host, new)
    good &= measure_groups("numpy, 2 groups", host, np.stack([host, host]), np.array([2, 4], np.int32), new)
    try:
        import torch
    except ImportError:
        print("torch is not measured: pip install torch")
    else:
        torch_host = torch.ones(4, 4)
        good &= measure("torch, CPU", torch_host, torch_host, torch_host.new_empty)
        ends = torch.tensor([2, 4], dtype=torch.int32)
        good &= measure_groups("torch, CPU, 2 groups", torch_host, torch.stack([torch_host] * 2), ends, torch_host.new_empty)
        if torch.cuda.is_available():
            x = torch.ones(64, 64, dtype=torch.float16, device="cuda")
            on = (torch.cuda.synchronize, torch.cuda.current_stream().cuda_stream)
            good &= measure("torch, CUDA", x, x, x.new_empty, *on)
            ends = torch.tensor([16, 16, 40, 64], dtype=torch.int32, device="cuda")
            good &= measure_groups("torch, CUDA, 4 groups", x, torch.stack([x] * 4), ends, x.new_empty, *on)
    try:
        import cupy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # cupy raises its own where there is no driver
        print(f"cupy is not measured: {type(error).__name__}: {error}")
    else:
        x = cupy.ones((64, 64), np.float16)
        on = (cupy.cuda.runtime.deviceSynchronize, cupy.cuda.get_current_stream().ptr)
        new = lambda *shape: cupy.empty(shape, np.float16)
        good &= measure("cupy", x, x, new, *on)
        good &= measure_groups("cupy, 4 groups", x, cupy.stack([x] * 4), cupy.array([16, 16, 40, 64], np.int32), new, *on)
    print("promised: +3 for a plan, +8 for the one-call form, beside what the framework takes for a new array")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

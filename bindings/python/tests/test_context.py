# SPDX-License-Identifier: Apache-2.0
import atexit
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import ggemm


def test_version_and_features():
    assert ggemm.__version__.count(".") == 2
    assert ggemm.has_feature("grouped") and not ggemm.has_feature("no such feature")


def test_the_device_is_told():
    device = ggemm.Context("cpu", threads=3).device
    assert (device.kind, device.threads, device.compute_capability) == ("cpu", 3, 0) and device.name
    assert device.memory_bytes > 1 << 20
    assert "on " + device.name in repr(ggemm.context("cpu"))
    assert ggemm.context("cpu") is ggemm.context("cpu")
    assert ggemm.context().device.kind in ("cuda", "cpu")


def test_errors_are_a_family():
    for kind, base in [(ggemm.ArgumentError, ValueError), (ggemm.UnsupportedError, NotImplementedError), (ggemm.OutOfMemoryError, MemoryError),
                       (ggemm.CompileError, RuntimeError), (ggemm.DeviceError, RuntimeError), (ggemm.NotPreparedError, RuntimeError)]:
        assert issubclass(kind, ggemm.Error) and issubclass(kind, base) and kind.status.startswith("GGEMM_ERROR_") and kind.__module__ == "ggemm"


def test_no_driver_is_an_error_with_what_was_tried():
    if ggemm.context().device.kind == "cuda":
        pytest.skip("this machine has a GPU")
    with pytest.raises(ggemm.DeviceError, match="libcuda.so.1"):
        ggemm.Context("cuda:0")


def test_bad_options():
    for call, message in [(lambda: ggemm.Context("tpu"), "device='tpu' is neither"), (lambda: ggemm.Context("cuda:x"), "device='cuda:x'"),
                          (lambda: ggemm.Context("cpu", threads=-1), "threads"), (lambda: ggemm.Context("cpu", log=print, level="loud"), "level='loud'"),
                          (lambda: ggemm.Context("cpu", level="loud"), "level='loud'"), (lambda: ggemm.Context(f"cuda:{1 << 40}"), "nor 'cuda:<ordinal>'"),
                          (lambda: ggemm.Context("cpu", allocate=lambda n, s: 0), "one of allocate and deallocate")]:
        with pytest.raises(ggemm.ArgumentError, match=message):
            call()


def tuned(context):
    """Something that writes a line of log."""
    ggemm.tune(ggemm.problem(ggemm.Matrix((8, 8), "f32"), ggemm.Matrix((8, 8), "f32"), context=context), budget=0.01)


def test_log():
    lines = []
    context = ggemm.Context("cpu", log=lambda level, text: lines.append((level, text)), cache_dir="")
    tuned(context)
    assert any(level == "info" and text.startswith("tuned in") for level, text in lines)
    before = len(lines)
    context.set_log(None)
    tuned(context)
    assert len(lines) == before
    others = []
    context.set_log(lambda level, text: others.append(text), "debug")
    tuned(context)
    assert others and len(lines) == before


def test_log_functions_go_when_others_come():
    def function():
        return lambda level, text: lines.append(text)

    lines, at_exit = [], atexit._ncallbacks()
    first = function()
    gone = [weakref.ref(first)]
    context = ggemm.Context("cpu", log=first, cache_dir="")
    del first
    for _ in range(3):
        log = function()
        gone.append(weakref.ref(log))
        context.set_log(log)
        del log
        gc.collect()
        assert [reference() is None for reference in gone] == [True] * (len(gone) - 1) + [False]
    with pytest.raises(ggemm.ArgumentError):
        context.set_log(None, "loud")
    tuned(context)
    assert lines
    context.set_log(None)
    gc.collect()
    assert gone[-1]() is None and atexit._ncallbacks() == at_exit


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_in_a_log_function_does_no_harm():
    raised = []

    def log(level, text):
        raised.append(text)
        raise KeyError(text)

    tuned(ggemm.Context("cpu", log=log, cache_dir=""))
    assert raised


def test_cache(tmp_path):
    context = ggemm.Context("cpu", cache_dir=str(tmp_path / "cache"), cblas_path="")
    assert context.cache_entries() == []
    problem = ggemm.problem(ggemm.Matrix((32, 32), "f32"), ggemm.Matrix((32, 32), "f32"), context=context)
    result = ggemm.tune(problem, budget=0.05)
    (entry,) = context.cache_entries()
    assert entry.kind == "tuning" and entry.bytes > 0 and entry.path.startswith(str(tmp_path)) and entry.nvrtc == ""
    a = np.ones((32, 32), np.float32)
    assert "tuned" in ggemm.plan(a, a, context=context).explain() and ggemm.plan(a, a, context=context).config == result.best.name
    assert context.clear_cache("13.0") == 0 and context.clear_cache() == 1 and context.cache_entries() == []


def test_diagnose():
    findings = {finding.component: finding for finding in ggemm.diagnose()}
    assert {"driver", "nvrtc", "cblas"} <= findings.keys()
    assert all(finding.found or finding.detail for finding in findings.values())


def test_long_calls_leave_the_interpreter_to_others():
    """Nobody is made to give way here, so another thread runs only while a call has let go of the interpreter."""
    context = ggemm.Context("cpu", threads=1, cblas_path="")
    a = np.ones((500, 500), np.float64)
    plan, out = ggemm.plan(a, a, context=context), np.empty_like(a)
    ran, gate = [], threading.Lock()

    def other():
        with gate:
            ran.append(True)

    interval = sys.getswitchinterval()
    with gate:
        thread = threading.Thread(target=other)
        thread.start()
        sys.setswitchinterval(1000)  # seconds
    try:
        calls = 0
        while not ran and calls < 500:
            plan(a, a, out=out)
            calls += 1
        assert ran, f"{calls} products ran, and the other thread never did"
    finally:
        sys.setswitchinterval(interval)
        thread.join()


def test_many_threads_at_once(rng):
    a, b = rng.integers(-4, 5, (40, 30)).astype(np.float32), rng.integers(-4, 5, (30, 20)).astype(np.float32)
    want, wrong = a @ b, []

    def work(seed):
        for i in range(50):
            rows = (seed * 7 + i) % 40 + 1
            if not np.array_equal(ggemm.matmul(a[:rows], b), want[:rows]):
                wrong.append(rows)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_contexts_go_with_their_last_user():
    context = ggemm.Context("cpu")
    handle = weakref.ref(context._handle)
    a = np.ones((3, 3), np.float32)
    plan = ggemm.plan(a, a, context=context)
    ggemm.matmul(a, a, context=context)
    context = weakref.ref(context)
    gc.collect()
    assert handle() is not None and (plan(a, a) == 3).all()
    del plan
    gc.collect()
    assert context() is None and handle() is None


def test_plans_outlive_their_contexts_name():
    a = np.ones((3, 3), np.float32)
    plan = ggemm.plan(a, a, context=ggemm.Context("cpu"))
    gc.collect()
    assert (plan(a, a) == 3).all()
    ring = [plan]
    ring.append(ring)
    del plan, ring
    gc.collect()


def test_nothing_is_left_behind():
    """Arrays are not kept by a call, and a call that fails does not leak."""
    a = np.ones((3, 3), np.float32)
    out = np.empty((3, 3), np.float32)
    plan = ggemm.plan(a, a)
    counts = sys.getrefcount(a), sys.getrefcount(out)
    for _ in range(1000):
        plan(a, a, out=out)
        ggemm.matmul(a, a, out=out)
        ggemm.grouped_matmul([a], [a], out=[out])
        with pytest.raises(ggemm.ArgumentError):
            plan(a, a[:2], out=out)
    gc.collect()
    assert (sys.getrefcount(a), sys.getrefcount(out)) == counts
    weights = np.ones((2, 3, 3), np.float32)
    gone = weakref.ref(weights)
    ggemm.grouped_matmul(a, weights, ends=np.array([1, 3], np.int32))
    del weights
    gc.collect()
    assert gone() is None


def test_a_program_that_ends_with_everything_alive():
    code = """
import numpy, ggemm
context = ggemm.Context("cpu", log=lambda level, text: None, level="debug")
a = numpy.ones((64, 64), numpy.float32)
plan = ggemm.plan(a, a, context=context)
plan(a, a)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")

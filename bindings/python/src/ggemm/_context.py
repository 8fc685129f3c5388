# SPDX-License-Identifier: Apache-2.0
"""Contexts: one device each, with its kernels, caches and tuning records."""
from __future__ import annotations

import atexit
import os
import threading
import weakref
from typing import Any, Callable, NamedTuple

from . import native
from ._arguments import INT32, UINT64, function, integer, one_of, shown, text
from ._arrays import HOST, device_number
from ._errors import ArgumentError

LOG_LEVELS = {"error": native.LOG_ERROR, "warning": native.LOG_WARNING, "info": native.LOG_INFO, "debug": native.LOG_DEBUG}
_LEVEL_NAMES = {number: name for name, number in LOG_LEVELS.items()}
LogFunction = Callable[[str, str], object]


class DeviceInfo(NamedTuple):
    """What a context runs on."""

    kind: str  #: "cuda" or "cpu"
    ordinal: int
    name: str  #: "NVIDIA H200", or the CPU's model
    compute_capability: int  #: major * 10 + minor; 0 on the CPU
    multiprocessors: int
    threads: int  #: host threads that the context may use
    driver_version: int  #: CUDA driver's, major * 1000 + minor * 10
    memory_bytes: int
    l2_bytes: int
    shared_memory_bytes: int  #: largest per CTA
    arch: str  #: what kernels are compiled for, such as "sm_90a"
    blas: str  #: CBLAS in use on the CPU; "" if none


class CacheEntry(NamedTuple):
    """One entry of the disk cache."""

    kind: str  #: "cubin" or "tuning"
    name: str
    path: str
    nvrtc: str  #: version of the NVRTC that made it; "" for tuning records
    bytes: int
    last_used: int  #: seconds since 1970


class Finding(NamedTuple):
    """One thing that ggemm looks for on a machine."""

    component: str  #: "driver", "device 0", "nvrtc", "cblas", "cache" ...
    found: bool
    needed: bool  #: something does not work without it
    detail: str
    advice: str  #: what to install or set; "" when nothing is missing


class _Log:
    """What the library calls with a line. It has the address of this one object for good, so that a line in flight finds it, whatever it calls then."""

    def __init__(self, function: LogFunction | None) -> None:
        self.function = function

    def __call__(self, level: int, message: str) -> None:
        log = self.function
        if log is not None:
            log(_LEVEL_NAMES.get(level, "info"), message)


class Context:
    """One device with its kernels, caches and tuning records. Thread-safe.

    Most programs never make one: the functions take a default context of the device that the arrays lie on, `context(device)`.

    device: "cuda:<ordinal>", "cpu", or "best": CUDA device 0 if it is usable, else the CPU.
    threads: host threads, for products on the CPU and for compiling; 0: the cores that this process may use.
    log, level: `log(level, message)` is called, from any thread, with each line up to the level "error", "warning", "info" or "debug".
    cache_dir, shared_cache_dir: folders for kernels and tuning records; None: from the environment, "": none.
    cache_limit_bytes: 0 for 1 GiB. nvrtc_path, cblas_path: library files; None: searched for, cblas_path="": none.
    allocate, deallocate: `allocate(bytes, stream) -> address` and `deallocate(address, bytes, stream)` for the device memory that tuning takes.
    cuda_context: address of a CUcontext to use; 0: the device's primary context.

    Raises DeviceError if a CUDA device is asked for and cannot be used; its text lists what was tried.
    """

    def __init__(self, device: Any = "best", *, threads: int = 0, log: LogFunction | None = None, level: str = "info", cache_dir: str | None = None,
                 shared_cache_dir: str | None = None, cache_limit_bytes: int = 0, nvrtc_path: str | None = None, cblas_path: str | None = None,
                 allocate: Callable[[int, int], int] | None = None, deallocate: Callable[[int, int, int], object] | None = None,
                 cuda_context: int = 0) -> None:
        options = native.context_options()
        if device != "best":
            ordinal = device_number(device)
            options.device = native.DEVICE_HOST if ordinal == HOST else native.DEVICE_CUDA
            options.ordinal = max(ordinal, 0)
        options.threads = integer("threads", threads, INT32)
        options.cache_limit_bytes = integer("cache_limit_bytes", cache_limit_bytes, UINT64)
        options.cuda_context = integer("cuda_context", cuda_context, UINT64) or None
        for name, path in (("cache_dir", cache_dir), ("shared_cache_dir", shared_cache_dir), ("nvrtc_path", nvrtc_path), ("cblas_path", cblas_path)):
            if path is not None:
                setattr(options, name, text(name, os.fspath(path) if isinstance(path, os.PathLike) else path))
        level_number = one_of("level", level, LOG_LEVELS)
        self._log = _Log(function("log", log))
        if log is not None:
            options.set_log(self._log, level_number)
        if (allocate is None) != (deallocate is None):
            raise ArgumentError("one of allocate and deallocate is missing")
        allocator = (function("allocate", allocate), function("deallocate", deallocate))
        if allocate is not None:
            options.set_allocator(allocator)
        self._handle = Handle(native.context_create(options), [self._log, allocator])
        self._plans: dict[Any, Any] = {}  # of matmul
        self._calls: dict[Any, Any] = {}  # of grouped_matmul

    @property
    def device(self) -> DeviceInfo:
        """What the context runs on."""
        info = native.device_info()
        native.context_device(self._handle.pointer, info)
        kind = "cuda" if info.kind == native.DEVICE_CUDA else "cpu"
        return DeviceInfo(kind, *(getattr(info, field) for field in DeviceInfo._fields[1:]))

    def set_log(self, log: LogFunction | None, level: str = "info") -> None:
        """Replaces the log function: `log(level, message)`; None for no log. A line in flight may still reach the former one."""
        number = one_of("level", level, LOG_LEVELS)
        self._log.function = function("log", log)
        native.context_set_log(self._handle.pointer, None if log is None else self._log, number)

    def cache_entries(self) -> list[CacheEntry]:
        """The entries of the context's cache folder."""
        entries: list[CacheEntry] = []
        native.cache_visit(self._handle.pointer, lambda *entry: entries.append(CacheEntry(*entry)))
        return entries

    def clear_cache(self, nvrtc: str | None = None) -> int:
        """Removes entries from the cache folder and returns how many: cubins made by one NVRTC version, such as "13.0", or (None) everything.

        Raises ArgumentError for "", which is no version."""
        return native.cache_clear(self._handle.pointer, None if nvrtc is None else text("nvrtc", nvrtc))

    def __repr__(self) -> str:
        device = self.device
        return f"<ggemm.Context on {f'cuda:{device.ordinal}, ' if device.kind == 'cuda' else ''}{device.name}>"


class Handle:
    """The context of the library: held by its Context and by every plan, so that it goes last."""

    def __init__(self, pointer: Any, callables: list[Any]) -> None:
        """callables: what the library has the addresses of."""
        self.pointer = pointer
        _handles.add(self)
        # Not at exit: the process takes everything with it, and kernels may still run.
        weakref.finalize(self, _destroy, pointer, callables).atexit = False


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


@atexit.register
def _silence() -> None:
    """A thread of the library must not call into an interpreter that is gone."""
    for handle in list(_handles):
        native.context_set_log(handle.pointer, None, 0)


def _destroy(pointer: Any, callables: list[Any]) -> None:
    native.context_destroy(pointer)
    callables.clear()


_defaults: dict[int, Context] = {}
_lock = threading.Lock()


def context(device: Any = "best") -> Context:
    """The default context of a device: "cpu", "cuda:<ordinal>", or "best"; made at the first call.

    Raises DeviceError if a CUDA device cannot be used.
    """
    if device == "best":
        made = Context()
        info = made.device
        return _defaults.setdefault(HOST if info.kind == "cpu" else info.ordinal, made)
    return context_for(device_number(device))


def own(context: Any) -> Context:
    """The context that a caller gives."""
    if not isinstance(context, Context):
        raise ArgumentError(f"context={shown(context)} is no ggemm.Context, as ggemm.context(device) is one")
    return context


def context_for(device: int, given: Context | None = None) -> Context:
    """The one that is given, else the default context by HOST or ordinal."""
    if given is not None:
        return own(given)
    found = _defaults.get(device)
    if found is None:
        with _lock:
            found = _defaults.get(device)
            if found is None:
                found = _defaults[device] = Context("cpu" if device == HOST else f"cuda:{device}")
    return found


def diagnose() -> list[Finding]:
    """Looks for everything that ggemm can use on this machine: driver, devices, NVRTC, CBLAS, caches. What is missing is a finding, not an error."""
    findings: list[Finding] = []
    native.diagnose(None, lambda *finding: findings.append(Finding(*finding)))
    return findings

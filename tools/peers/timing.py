# SPDX-License-Identifier: Apache-2.0
"""Launches timed with a cold and clean L2 cache; on the CPU as they are. Clock and power by NVML."""
from __future__ import annotations

import ctypes
import time
from typing import Any, Callable

import torch

FLUSH_BYTES = 256 << 20
HOST_MARGIN = 1.5  # a launch's host time varies
HOST_EVENTS = 50e-6  # seconds for the host to issue the read and the events
MOST_CYCLES_A_SECOND = 2e9  # of a GPU's clock


class HostTimer:
    """Calls that are complete on return."""

    def __init__(self) -> None:
        self.telemetry: list[tuple[int, float]] = []

    def cold(self, samples: int, launch: Callable[[], object]) -> list[float]:
        times = []
        for _ in range(samples):
            begin = time.perf_counter()
            launch()
            times.append((time.perf_counter() - begin) * 1e6)
        return times

    def wait(self) -> None:
        pass


class CudaTimer:
    """Between two events on torch's current stream, after 256 MB were read: written lines would have to be brought back by the launch that follows.

    Python may need longer to launch than the GPU to read them. So the GPU waits before it reads, long enough for the host to get ahead: what is
    timed is the launch on the device, whatever it costs the host.
    """

    def __init__(self) -> None:
        self._flush = torch.zeros(FLUSH_BYTES // 4, dtype=torch.float32, device="cuda")
        self._sink = torch.zeros((), device="cuda")
        self._nvml = Nvml(torch.cuda.get_device_properties(0))
        self.telemetry: list[tuple[int, float]] = []

    def cold(self, samples: int, launch: Callable[[], object]) -> list[float]:
        launch()  # the first launch after a rest also wakes the clock
        self.wait()
        head_start = self._head_start(launch)
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(samples)]
        for begin, end in events:
            torch.cuda._sleep(head_start)
            torch.sum(self._flush, dim=0, out=self._sink)
            begin.record()
            launch()
            end.record()
        self.telemetry += self._nvml.read()
        self.wait()
        return [begin.elapsed_time(end) * 1e3 for begin, end in events]

    def _head_start(self, launch: Callable[[], object]) -> int:
        """Cycles in which the host can surely issue one sample."""
        begin = time.perf_counter()
        launch()
        seconds = time.perf_counter() - begin
        self.wait()
        return int((HOST_MARGIN * seconds + HOST_EVENTS) * MOST_CYCLES_A_SECOND)

    def wait(self) -> None:
        torch.cuda.synchronize()


def timer(device: str) -> HostTimer | CudaTimer:
    return CudaTimer() if device == "cuda" else HostTimer()


class Nvml:
    """(SM clock in MHz, watts) of a device; nothing where NVML does not know it."""

    SM_CLOCK = 1

    def __init__(self, properties: Any) -> None:
        self._device = None
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        device = ctypes.c_void_p()
        uuid = f"GPU-{getattr(properties, 'uuid', '')}".encode()
        if self._library.nvmlInit_v2() == 0 and self._library.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(device)) == 0:
            self._device = device

    def read(self) -> list[tuple[int, float]]:
        mhz, milliwatts = ctypes.c_uint(), ctypes.c_uint()
        if self._device is None or self._library.nvmlDeviceGetClockInfo(self._device, self.SM_CLOCK, ctypes.byref(mhz)):
            return []
        if self._library.nvmlDeviceGetPowerUsage(self._device, ctypes.byref(milliwatts)):
            return []
        return [(mhz.value, milliwatts.value * 1e-3)]

# SPDX-License-Identifier: Apache-2.0
"""CUDA arrays on the fake driver, which a build of ggemm with tests has."""
import os
import pathlib
import subprocess
import sys

import pytest

import ggemm


def test_streams_devices_and_pointers():
    driver = os.environ.get("GGEMM_FAKE_DRIVER", "")
    if not os.path.exists(driver):
        pytest.skip("needs the fake driver: build ggemm with GGEMM_BUILD_TESTS and set GGEMM_FAKE_DRIVER to its libcuda.so.1")
    if not any(finding.component == "nvrtc" and finding.found for finding in ggemm.diagnose()):
        pytest.skip("needs NVRTC: pip install nvidia-cuda-nvrtc")
    environment = {**os.environ, "GGEMM_LIBCUDA": driver, "GGEMM_FAKE_DEVICES": "90,90"}
    program = pathlib.Path(__file__).with_name("fake_cuda.py")
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=1200)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr

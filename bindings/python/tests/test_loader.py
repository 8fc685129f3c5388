# SPDX-License-Identifier: Apache-2.0
"""The scenarios of tests/loader: what is said where the driver or NVRTC is missing or unfit. Each is a process of its own, which runs this file."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import ggemm


def comes_to(call):
    try:
        call()
    except ggemm.Error as error:
        return error.status, str(error)
    return "GGEMM_OK", ""


def in_child(call):
    """What a call comes to in a forked child."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps(comes_to(call)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = json.loads(pipe.read())
    os.wait()
    return answer


def take(step):
    operand = ggemm.Matrix((2, 2), "f32", device="cuda:0")
    steps = {"context": lambda: comes_to(lambda: ggemm.Context("cuda:0")),
             "plan": lambda: comes_to(lambda: ggemm.plan(operand, operand, config="simt_f32_f32_f32_tt_32x32x16_w2x1_s2_r1", context=ggemm.Context("cuda:0"))),
             "fork": lambda: [ggemm.Context("cuda:0"), in_child(lambda: ggemm.Context("cuda:0"))][1]}
    return steps[step]()


def test_what_is_said_without_a_driver_or_nvrtc(tmp_path):
    driver = os.environ.get("GGEMM_FAKE_DRIVER", "")
    nvrtc = os.path.join(os.path.dirname(os.path.dirname(driver)), "fake_nvrtc", "libnvrtc.so.13")
    source = pathlib.Path(os.environ.get("GGEMM_SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]), "tests/loader/scenarios.json")
    if not os.path.exists(driver) or not os.path.exists(nvrtc) or not source.exists():
        pytest.skip("needs the fake driver: build ggemm with GGEMM_BUILD_TESTS and set GGEMM_FAKE_DRIVER to its libcuda.so.1")
    (tmp_path / "libnvrtc.so.13").symlink_to(nvrtc)
    (tmp_path / "libcuda.so.1").write_text("no library")
    values = {"driver": driver, "nvrtc": nvrtc, "folder": str(tmp_path), "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}

    def replaced(text):
        for name, value in values.items():
            text = text.replace("{" + name + "}", value)
        return text

    usual = {"GGEMM_LIBCUDA": "{driver}", "GGEMM_NVRTC": "{nvrtc}", "GGEMM_FAKE_DEVICES": "90", "GGEMM_CACHE_DIR": "{folder}/cache"}
    file = json.loads(source.read_text())
    assert file["format"] == 1
    for scenario in file["scenarios"]:
        environment = os.environ | {name: replaced(value) for name, value in (usual | scenario["environment"]).items()}
        done = subprocess.run([sys.executable, __file__, scenario["step"]], env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{scenario['name']}: {done.stderr}"
        assert json.loads(done.stdout) == [scenario["status"], replaced(scenario["text"])], scenario["name"]


if __name__ == "__main__":
    print(json.dumps(take(sys.argv[1])))

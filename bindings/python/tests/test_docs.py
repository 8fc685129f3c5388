# SPDX-License-Identifier: Apache-2.0
"""Runs the snippets of docs/python.md in their order, and compares what they print with what stands below them."""
import contextlib
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

PAGE = pathlib.Path(os.environ.get("GGEMM_SOURCE_DIR") or pathlib.Path(__file__).resolve().parents[3]) / "docs/python.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
# What tests/bindings/python.sh itself does before these tests run.
INSTALLING = ["pip install ./bindings/python"]


def snippets():
    """(language, text, expected output or None, line) of each."""
    found = []
    text = PAGE.read_text()
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        if language == "text":
            found[-1] = (*found[-1][:2], body, found[-1][3])
        else:
            found.append((language, body, None, text.count("\n", 0, block.start()) + 2))
    return found


SNIPPETS = snippets()
assert len(SNIPPETS) > 10


def test_python_snippets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    for language, body, expected, line in SNIPPETS:
        if language != "python":
            continue
        need = re.match(r"# needs (\w+)", body)
        if need:
            try:
                __import__(need[1])
            except ImportError:
                print(f"the snippet at line {line} is not run: needs {need[1]}: pip install {need[1]}")
                continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + body, str(PAGE), "exec"), scope)
        assert printed.getvalue() == (expected or ""), f"{PAGE.name}, line {line}"


@pytest.mark.parametrize("command", [line for language, body, _, _ in SNIPPETS if language == "sh" for line in body.splitlines()])
def test_shell_snippets(tmp_path, command):
    if command in INSTALLING:
        return
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install matplotlib")
    program, *arguments = shlex.split(command)
    assert program == "python"
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an example and compares what it prints with the "Output:" part of its first comment.

Usage: expect.py <source> <program> [argument...]
"""
import difflib
import pathlib
import re
import subprocess
import sys

comment = pathlib.Path(sys.argv[1]).read_text().split("*/", 1)[0]
block = re.search(r"^ \* Output:\n((?: \*   .*\n)+)", comment, flags=re.M)
if not block:
    sys.exit("the first comment has no Output: part")
expected = [line[len(" *   "):] for line in block.group(1).splitlines()]
run = subprocess.run(sys.argv[2:], capture_output=True, text=True, timeout=600)
printed = run.stdout.splitlines()
if run.returncode == 0 and printed == expected:
    sys.exit(0)
print("\n".join(difflib.unified_diff(expected, printed, "expected", "printed", lineterm="")))
print(run.stderr, end="")
sys.exit(f"{sys.argv[2]} ended with {run.returncode}")

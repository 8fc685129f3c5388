#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the header against tests/abi/first/ggemm.h, whose programs are served for ever: functions keep their types, numbers their values, fields their places.

Of a struct that begins with struct_size more may follow; what was reserved may have a meaning. This is what abidiff would look for, which calls a struct that grew
a change as it does one whose fields moved.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import layout

FIRST = pathlib.Path(__file__).with_name("first") / "ggemm.h"


def by_type(text):
    """{"struct ggemm_tile": (size, lines of its fields)}, enums and constants likewise."""
    types = {}
    for line in text.splitlines():
        if line.startswith(" "):
            types[name][1].append(line)
        else:
            name, _, size = line.partition(": ")
            types[name] = (size, [])
    return types


def moved(first, now):
    found = []
    for name, (size, lines) in first.items():
        new_size, new_lines = now.get(name, ("gone", []))
        grows = name.startswith("struct ") and lines[0].endswith(" struct_size")
        if size != new_size and not (grows and new_size != "gone" and int(new_size.split()[0]) > int(size.split()[0])):
            found.append(f"{name}: {size}, now {new_size}")
        found += [f"{name}: no longer has{line[1:]}" for line in lines if line not in new_lines and not re.search(r" reserved\d*$", line)]
    return found


def conflicts(first, now, compiler):
    """What the compiler says to the first functions' declarations beside those of now."""
    functions = re.findall(r"^GGEMM_API\s[^;]*;", first.read_text(), flags=re.M)
    assert functions, "no declaration was found in the first header"
    run = subprocess.run([compiler, "-std=c99", "-fsyntax-only", "-x", "c", f"-I{now.parent}", "-"], input='#include "ggemm.h"\n' + "\n".join(functions), capture_output=True, text=True)
    return run.stderr.splitlines() if run.returncode else []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", required=True, type=pathlib.Path)
    parser.add_argument("--first", default=FIRST, type=pathlib.Path)
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    first, now = (by_type(layout.measure(header, options.cc)[0]) for header in (options.first, options.header))
    found = moved(first, now) + conflicts(options.first, options.header, options.cc)
    print("".join(f"{line}\n" for line in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

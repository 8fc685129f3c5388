#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""edits.py KERNELS EDITS: whether each change of a kernel that the tests must notice (tests/emulated.cmake) has its place in the sources.

EDITS has a line each, "file=>from=>to" as GGEMM_EMULATOR_EDIT: the file in the folder KERNELS has `from` once, or "file#2" at least twice.
"""
import pathlib
import sys


def misplaced(kernels, lines):
    """A text for each line of which the place is not there, or is not the only one."""
    texts = {}
    for line in lines:
        place, source, to = line.split("=>", 2)
        file, _, number = place.partition("#")
        if file not in texts:
            path = kernels / file
            texts[file] = path.read_text() if path.is_file() else ""
        count = texts[file].count(source) if source else 0
        if source == to:
            yield f"{line}: changes nothing"
        elif not (count >= int(number) >= 1 if number else count == 1):
            yield f"{file} has {source!r} {count} times: {line}"


def main():
    kernels, edits = map(pathlib.Path, sys.argv[1:])
    lines = [line for line in edits.read_text().splitlines() if line]
    faults = list(misplaced(kernels, lines))
    print("\n".join(faults + [f"{len(lines)} changes, {len(faults)} misplaced"]))
    return 1 if faults or not lines else 0


if __name__ == "__main__":
    sys.exit(main())

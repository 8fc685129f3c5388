#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the exported symbols with tests/abi/symbols.txt, or with the functions that the header declares."""
import argparse
import pathlib
import re
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).with_name("symbols.txt")


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return sorted(f"{kind} {name}" for _, kind, name in (line.split() for line in text.splitlines()))


def declared(header):
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S)
    return set(re.findall(r"^GGEMM_API\s[^;]*?\b(ggemm_\w+)\(", text, flags=re.M))


def report(missing, extra):
    for name in sorted(missing):
        print(f"missing: {name}")
    for name in sorted(extra):
        print(f"not expected: {name}")
    return 1 if missing or extra else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", dest="path", metavar="FILE", required=True)
    parser.add_argument("--header", help="compare with this header's declarations")
    parser.add_argument("--update", action="store_true", help="write the golden file")
    options = parser.parse_args()
    lines = exported(options.path)
    if options.header:
        names = {line.split()[1].split("@")[0] for line in lines if not line.startswith("A ")}
        expected = declared(options.header)
        assert expected, "no declaration was found in the header"
        return report(expected - names, names - expected)
    if options.update:
        GOLDEN.write_text("\n".join(lines) + "\n")
        return 0
    golden = GOLDEN.read_text().split("\n")[:-1]
    status = report(set(golden) - set(lines), set(lines) - set(golden))
    if status:
        print(f"If this is meant: tests/abi/symbols.py --library {options.path} --update, and a line in CHANGELOG.md")
    return status


sys.exit(main())

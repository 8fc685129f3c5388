#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the layout of every public struct and the value of every enumerator and constant with tests/abi/layout.txt.

The structs are read from the header, so that a new one cannot be forgotten; a C program made from them prints the layout. A struct that is
passed by pointer may grow at its end only. Whatever the golden file says, these are errors: a gap between two fields or after the last one; a
struct that neither begins with struct_size nor is called frozen by its comment; one that may grow and is held by value in another.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).with_name("layout.txt")


def parse(header):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    enums = {name: re.findall(r"\b(GGEMM_\w+)\s*=", body) for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, flags=re.S)}
    structs = {}
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S):
        fields = []
        for declaration in (part.strip() for part in body.split(";") if part.strip()):
            for declarator in declaration.split(","):
                fields.append(re.search(r"(\w+)\s*(?:\[[^\]]*\])?$", declarator.strip()).group(1))
        structs[name] = fields
    constants = re.findall(r"^#define (GGEMM_\w+) (?:\(-?\d+\)|INT64_MIN)$", text, flags=re.M)
    if len(structs) != len(re.findall(r"typedef struct \w+ \{", text)) or len(enums) != len(re.findall(r"typedef enum", text)):
        raise SystemExit("a struct or enum of the header could not be read")
    return enums, structs, constants


def faults_of_growth(header):
    """Structs whose growth would move the fields of callers that were compiled before."""
    structs = re.findall(r"(/\*\*(?:(?!\*/).)*\*/\s*)?typedef struct \w+ \{(.*?)\} (\w+);", header, flags=re.S)
    grows = {name for _, body, name in structs if re.match(r"\s*size_t struct_size;", body)}
    found = [f"{name} neither begins with struct_size nor is frozen" for comment, _, name in structs if name not in grows and "Frozen" not in comment]
    for _, body, name in structs:
        code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
        found += [f"{name} holds {held} by value, which may grow" for held in re.findall(r"\b(ggemm_\w+)\s+\w", code) if held in grows]
    return found


def program(enums, structs, constants):
    lines = ["#include <stdio.h>", '#include "ggemm.h"', "int main(void) {", "  size_t end; int gaps = 0;"]
    for name, values in enums.items():
        lines.append(f'  printf("enum {name}: %zu bytes\\n", sizeof({name}));')
        lines += [f'  printf("  {value} = %d\\n", (int){value});' for value in values]
    for name in constants:
        lines.append(f'  printf("constant {name} = %lld\\n", (long long){name});')
    for name, fields in structs.items():
        lines.append(f'  end = 0; printf("struct {name}: %zu bytes\\n", sizeof({name}));')
        for field in fields:
            size = f"sizeof((({name}*)0)->{field})"
            lines.append(f'  printf("  %zu +%zu {field}\\n", offsetof({name}, {field}), {size});')
            lines.append(f'  if (offsetof({name}, {field}) != end) {{ gaps++; fprintf(stderr, "a gap before {name}.{field}\\n"); }}')
            lines.append(f"  end = offsetof({name}, {field}) + {size};")
        lines.append(f'  if (sizeof({name}) != end) {{ gaps++; fprintf(stderr, "a gap at the end of {name}\\n"); }}')
    return "\n".join(lines + ["  return gaps != 0;", "}", ""])


def measure(header, compiler):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "layout.c")
        source.write_text(program(*parse(header.read_text())))
        subprocess.run([compiler, "-std=c99", f"-I{header.parent}", source, "-o", f"{folder}/layout"], check=True)
        run = subprocess.run([f"{folder}/layout"], capture_output=True, text=True)
        return run.stdout, run.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--header", required=True, type=pathlib.Path)
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--update", action="store_true", help="write the golden file")
    options = parser.parse_args()
    layout, gaps = measure(options.header, options.cc)
    growth = faults_of_growth(options.header.read_text())
    print(gaps + "".join(f"{fault}\n" for fault in growth), end="")
    if options.update:
        GOLDEN.write_text(layout)
        return 0
    before, now = GOLDEN.read_text().splitlines(), layout.splitlines()
    if before != now:
        import difflib
        print("\n".join(difflib.unified_diff(before, now, "layout.txt", "the header", lineterm="", n=1)))
        print("If this is meant: tests/abi/layout.py --header include/ggemm.h --update, and a line in CHANGELOG.md")
    return 1 if gaps or growth or before != now else 0


if __name__ == "__main__":
    sys.exit(main())

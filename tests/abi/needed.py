#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the dynamic section: SONAME, the libraries needed, no search path, no text relocation, no executable stack."""
import argparse
import re
import subprocess
import sys

ALLOWED = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s|ld-linux[\w-]*|ld64)\.so\.\d+")
SONAME = "libggemm.so.0"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", dest="path", metavar="FILE", required=True)
    library = parser.parse_args().path
    dynamic = subprocess.run(["readelf", "--wide", "--dynamic", library], check=True, capture_output=True, text=True).stdout
    segments = subprocess.run(["readelf", "--wide", "--program-headers", library], check=True, capture_output=True, text=True).stdout
    faults = []
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    if not needed:
        faults.append("no NEEDED entry was read")
    faults += [f"needs {name}" for name in needed if not ALLOWED.fullmatch(name)]
    soname = re.findall(r"\(SONAME\).*\[(.+)\]", dynamic)
    if soname != [SONAME]:
        faults.append(f"SONAME is {soname}, not {SONAME}")
    faults += [f"has {tag}" for tag in ("RPATH", "RUNPATH", "TEXTREL") if f"({tag})" in dynamic]
    if re.search(r"GNU_STACK.*RWE", segments):
        faults.append("wants an executable stack")
    print("\n".join(faults) or f"NEEDED {' '.join(needed)}, SONAME {SONAME}")
    return 1 if faults else 0


sys.exit(main())

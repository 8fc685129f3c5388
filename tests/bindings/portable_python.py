#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts CPython 3.10 into a new folder, for machines whose distribution has no such old one: a build of python-build-standalone, which runs from anywhere,
as the module go-embed-python packs it for Go's module proxy. It has venv, but no pip."""
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys

MODULE = "github.com/kluctl/go-embed-python@v0.0.0-3.10.16-20241219-1"
DIRECTORY, SYMLINK = 1 << 31, 1 << 27  # of Go's fs.FileMode


def download(folder):
    """The module, whose checksum go compares with the one of sum.golang.org; files for this machine."""
    environment = {**os.environ, "GOMODCACHE": str(folder), "GOFLAGS": "-modcacherw", "GO111MODULE": "on", "GOWORK": "off"}
    reply = json.loads(subprocess.check_output(["go", "mod", "download", "-json", MODULE], env=environment, cwd=folder))
    architecture = subprocess.check_output(["go", "env", "GOARCH"], env=environment, text=True).strip()
    return pathlib.Path(reply["Dir"]) / "python/internal/data" / f"linux-{architecture}"


def unpack(source, target):
    for file in json.loads((source / "files.json").read_text())["files"]:
        path = target / file["name"]
        if file["perm"] & DIRECTORY:
            path.mkdir(parents=True)
        elif file["perm"] & SYMLINK:
            path.symlink_to(file["symlink"])
        elif file.get("compressed"):
            path.write_bytes(gzip.decompress((source / f"{file['name']}.gz").read_bytes()))
            path.chmod(file["perm"])
        else:
            path.write_bytes((source / file["name"]).read_bytes())
            path.chmod(file["perm"])


def main():
    target = pathlib.Path(sys.argv[1]).absolute()
    modules = target.with_name(f"{target.name}.modules")
    for folder in (target, modules):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    unpack(download(modules), target)
    shutil.rmtree(modules)


if __name__ == "__main__":
    main()

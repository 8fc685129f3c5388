#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes go one way.

lib/:     api -> engine -> {select, jit, cuda, host} -> core
kernels/: *.cu -> {tile_loop, roles} -> {mainloop, epilogue, scheduler} -> {pipeline, tile} -> ptx
"""
import pathlib
import re
import sys

# Which layers a layer of lib/ may include, besides itself. jit and select are apart, so that the tuner is tested without a compiler.
LIB = {
    "core": set(),
    "select": {"core"},
    "jit": {"core"},
    "cuda": {"core"},
    "host": {"core"},
    "engine": {"core", "select", "jit", "cuda", "host"},
    "api": {"core", "select", "jit", "cuda", "host", "engine"},
}
# Likewise for kernels/; "root" is a *.cu file. tile/types.cuh is the ground that all stand on and includes nothing. traits.cuh says what a
# compilation is of, tile_loop.cuh is the composition that the *.cu files share, roles/ that of sm90.cu; grouped_call.cuh has PTX for NVRTC alone.
KERNELS = {
    "ptx": set(),
    "tile": {"ptx"},
    "params": {"tile"},
    "grouped_call": {"params", "ptx"},
    "lines": {"params"},
    "pipeline": {"params", "ptx", "tile"},
    "scheduler": {"traits", "params", "grouped_call", "pipeline", "tile", "ptx"},
    "epilogue": {"traits", "params", "grouped_call", "pipeline", "tile", "ptx"},
    "mainloop": {"traits", "params", "grouped_call", "pipeline", "tile", "ptx"},
    "traits": {"params", "epilogue", "tile"},
    "tile_loop": {"traits", "params", "mainloop", "epilogue", "scheduler", "pipeline", "tile", "ptx"},
    "roles": {"traits", "params", "grouped_call", "mainloop", "epilogue", "scheduler", "pipeline", "tile", "ptx"},
    "root": {"tile_loop", "roles", "traits", "params", "grouped_call", "lines", "mainloop", "epilogue", "scheduler", "pipeline", "tile", "ptx"},
}
GROUND = "tile/types.cuh"
# Kernel headers that lib/ compiles for the CPU: anything but PTX.
HOST_KERNELS = set(KERNELS) - {"ptx", "traits", "tile_loop", "roles", "root"}
CUDA_HEADER = re.compile(r"(cuda\w*|nvrtc|cublas\w*)\.h$")


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1) == "<", match.group(2)


def layer(name):
    """The layer of a file that is named relative to lib/ or kernels/; None if it is in none."""
    head, _, rest = name.partition("/")
    if rest:
        return head
    if name.endswith(".cu"):
        return "root"
    if name.endswith(".cuh"):
        return name[: -len(".cuh")]
    return "engine" if name.startswith("engine") else None


def check_lib(name, own, target, system, root):
    if CUDA_HEADER.search(target):
        return "lib/ declares what it needs of CUDA itself"
    if system or target == "ggemm.h" or target == "xxhash.h":
        return None
    if (root / "kernels" / target).is_file():
        return None if layer(target) in HOST_KERNELS else f"lib/ cannot use {target}, which is for the GPU alone"
    if not (root / "lib" / target).is_file():
        return f"{target} is not named from lib/ or kernels/"
    other = layer(target)
    return None if other == own or other in LIB[own] else f"{own} must not include {other}"


def check_kernel(name, own, target, system, root):
    if system:  # for the host only; that NVRTC never sees it is shown by compiling
        return "kernels use no header of CUDA's (NVRTC has none)" if CUDA_HEADER.search(target) else None
    if not (root / "kernels" / target).is_file():
        return f"{target} is not named from kernels/"
    other = layer(target)
    if name == GROUND:
        return f"{GROUND} includes nothing"
    return None if target == GROUND or other == own or other in KERNELS[own] else f"{own} must not include {other}"


def check(root):
    """All faults of the tree, a line each."""
    faults, files = [], 0
    for folder, layers, rule in (("lib", LIB, check_lib), ("kernels", KERNELS, check_kernel)):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".cu", ".cuh"):
                continue
            files += 1
            name = path.relative_to(root / folder).as_posix()
            own = layer(name)
            if own not in layers:
                faults.append(f"{folder}/{name}: belongs to no layer")
                continue
            for number, system, target in includes(path):
                fault = rule(name, own, target, system, root)
                if fault:
                    faults.append(f"{folder}/{name}:{number}: {fault}")
    return faults, files


def main():
    root = pathlib.Path(sys.argv[1])
    faults, files = check(root)
    print("\n".join(faults) or f"{files} files, includes go one way")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())

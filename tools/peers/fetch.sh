#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tools/peers/fetch.sh [--python VERSION] FOLDER

Downloads those that ggemm is compared with, for a GPU machine that has torch (of CUDA 13) but perhaps no network: Linux on
x86_64; 0.6 GB, 0.9 unpacked. FOLDER then has

  site/      QuACK, DeepGEMM and what they import: PYTHONPATH=FOLDER/site:FOLDER/site/nvidia_cutlass_dsl/dsl_packages tools/peers/compare.py
             (both compile kernels: DeepGEMM needs CUDA_HOME with nvcc, QuACK a HOME that it may write to)
  cublaslt/  cuBLASLt and cuBLAS 13.10, which have a device-side grouped mode: ggemm bench --cublaslt FOLDER/cublaslt/libcublasLt.so.13

  --python VERSION   of the GPU machine (3.12)
TXT
}
python=3.12 folder=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --python) [ $# -ge 2 ] || { echo "fetch.sh: --python needs a value (see --help)" >&2; exit 2; }; python=$2; shift 2 ;;
    -*) echo "fetch.sh: there is no option $1 (see --help)" >&2; exit 2 ;;
    *) [ -z "$folder" ] || { echo "fetch.sh: one folder, not $folder and $1 (see --help)" >&2; exit 2; }; folder=$1; shift ;;
  esac
done
[ -n "$folder" ] || { usage >&2; exit 2; }

# Each by its version, so that a report can be made again. torch, Triton and NumPy are the machine's.
dsl=4.8.1
packages=(quack-kernels==0.6.5 "nvidia-cutlass-dsl==$dsl" "nvidia-cutlass-dsl-libs-base==$dsl" "nvidia-cutlass-dsl-libs-core==$dsl" "nvidia-cutlass-dsl-libs-cu13==$dsl"
  sgl-deep-gemm==0.1.5 apache-tvm-ffi==0.1.11 cuda-bindings==13.5.0 cuda-pathfinder==1.9.1 einops==0.8.2 torch-c-dlpack-ext==0.1.5 protobuf==7.36.2 typing-extensions==4.16.0 packaging==26.4)
cublas=nvidia-cublas==13.10.0.20
platforms=()
for platform in manylinux_2_34 manylinux_2_28 manylinux_2_27 manylinux_2_24 manylinux_2_17 manylinux2014; do platforms+=(--platform "${platform}_x86_64"); done
download() { python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version "$python" --implementation cp "${platforms[@]}" --dest "$@"; }

wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
download "$wheels/site" "${packages[@]}"
download "$wheels/cublas" "$cublas"
mkdir -p "$folder/site" "$folder/cublaslt"
python3 - "$wheels" "$folder" <<'PY'
import pathlib, shutil, sys, zipfile

wheels, folder = map(pathlib.Path, sys.argv[1:])
for wheel in (wheels / "site").glob("*.whl"):
    zipfile.ZipFile(wheel).extractall(folder / "site")
with zipfile.ZipFile(next((wheels / "cublas").glob("*.whl"))) as wheel:
    for name in ("libcublasLt.so.13", "libcublas.so.13"):
        inside = next(path for path in wheel.namelist() if path.endswith("/" + name))
        with wheel.open(inside) as source, open(folder / "cublaslt" / name, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 24)
PY
du -sh "$folder/site" "$folder/cublaslt"

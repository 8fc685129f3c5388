#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
usage() {
  cat <<'TXT'
Usage: tests/gpu/fill.sh [options] BUILD FOLDER

Compiles what tests/gpu/run.sh will run, on a machine without a GPU, into FOLDER, a disk cache of the library that run.sh
takes by --cache: its time on the GPU is then for products. BUILD is a build folder with the tests; the tests' driver stands in for
CUDA's, so that no result is right, and none is looked at. What was compiled before is not compiled again. NVRTC is that of
GGEMM_NVRTC, or the one that the library finds; it should be the GPU machine's.

  --seed N      of the random kernels, as run.sh's (1)
  --kernels N   so many of them (150)
  --limit S     seconds for each of the five parts (1800)
  --help
TXT
}
seed=1 kernels=150 limit=1800
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --seed | --kernels | --limit)
      [ $# -ge 2 ] || { echo "fill.sh: $1 needs a value (see --help)" >&2; exit 2; }
      printf -v "${1#--}" %s "$2"
      shift 2 ;;
    *) break ;;
  esac
done
[ $# = 2 ] && [ -e "$1/tests/ggemm_conformance" ] || { usage >&2; exit 2; }
build=$(cd "$1" && pwd)
mkdir -p -m 700 "$2" || exit 2
GGEMM_CACHE_DIR=$(cd "$2" && pwd)
export GGEMM_CACHE_DIR GGEMM_LIBCUDA=$build/tests/fake_driver/libcuda.so.1 GGEMM_FAKE_DEVICES=90 LD_LIBRARY_PATH=$build/tests/fake_driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
part() {
  timeout "$limit" "$@" >/dev/null 2>&1
  echo "$(find "$GGEMM_CACHE_DIR" -name 'cubin-*' | wc -l) kernels after $(basename "$1") ${*:2}"
}
conformance="$build/tests/ggemm_conformance --device cuda"
here=$(dirname "${BASH_SOURCE[0]}")
source "$here/chosen.sh"
# Two products a kernel, of which the second one's call is by the copy engine alone, with a kernel of its own.
part $conformance --mode kernels --seed "$seed" --kernels "$kernels" --per-kernel 2 --work 2000
part $conformance --mode degenerate --seed "$seed"
part xargs --arg-file <(printf '%s\n' "${chosen[@]}") -I ARGUMENTS sh -c "$conformance --mode kernels --kernels 3 --seed $seed ARGUMENTS --per-kernel 2 --work 2000 --sizes 100x100x100"
part xargs --arg-file <(sed -n '/^#/!s/^[^:]*: //p' "$here/sanitized.txt") -I ARGUMENTS sh -c "$conformance --mode kernels --memory exact --kernels 1 --per-kernel 3 --scales whole --workers 1 ARGUMENTS"
part "$build/tests/ggemm_gpu_capture" --fill --repeats 1 --small-repeats 1 --streams 1 --soak-seconds 0

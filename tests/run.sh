#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/run.sh [--help] [--quick]

Installs what is missing (tools/setup.sh), builds ggemm with its tests into build/tests and runs them all, then the
suites of the CPU device once more with the address and undefined-behaviour sanitizers (build/asan), then the bindings and
packages (tests/bindings/run.sh), of which those are skipped whose language is not there.
No GPU is needed. The last line counts what passed, failed and was skipped; the exit code is 0 if nothing failed.

  --quick   without the sanitizers, the bindings and the tests labelled slow

With CI=true the languages, their oldest versions and torch are installed too (8 GB of disk, most of it only
for a while), a test that was skipped for anything but a GPU counts as failed, and of what takes longest (kernels that are
compiled, or run on the emulated GPU) a sample is run: what has not the label beyond_sample.
One test: ctest --test-dir build/tests -R '<part of its name>' --output-on-failure
TXT
}
quick=0
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    --quick) quick=1 ;;
    *) echo "run.sh: unknown argument '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
profile=test
if [ "${CI:-}" = true ] && [ $quick = 0 ]; then profile=bindings; fi
beyond=  # what CI leaves out
if [ "${CI:-}" = true ]; then beyond='|beyond_sample'; fi
tools/setup.sh "$profile"
source build/deps/env
source tools/build.sh
ctest=$(dirname "$ggemm_cmake")/ctest
jobs=$(nproc)
results=build/results
suites=()
rm -rf "$results"
mkdir -p "$results"

# A build that fails ends the run as one failure.
build() {
  ggemm_build "$@" && return
  echo "the build of $1 failed"
  echo "0 passed, 1 failed"
  exit 1
}

# run_suite <name> <build folder> [ctest option...]: runs the tests; the summary reads what came of them.
run_suite() {
  local name=$1 folder=$2
  shift 2
  suites+=("$results/$name.xml")
  echo "== $name"
  "$ctest" --test-dir "$folder" -j "$jobs" --output-on-failure --no-tests=error --output-junit "$PWD/$results/$name.xml" "$@" || true
}

build build/tests -DGGEMM_BUILD_TESTS=ON -DGGEMM_WERROR=ON "-DGGEMM_CUDA_INCLUDE=$ggemm_cuda_include" "-DGGEMM_OLDEST_NVRTC=${ggemm_oldest_nvrtc:-}"
if [ $quick = 1 ]; then
  run_suite tests build/tests -LE "slow$beyond"
else
  run_suite tests build/tests ${beyond:+-LE "${beyond#|}"}
  build build/asan -DGGEMM_BUILD_TESTS=ON -DGGEMM_BUILD_TOOLS=OFF -DGGEMM_WERROR=ON -DGGEMM_SANITIZE=address,undefined \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" "-DGGEMM_CUDA_INCLUDE=$ggemm_cuda_include" "-DGGEMM_OLDEST_NVRTC=${ggemm_oldest_nvrtc:-}"
  run_suite sanitizers build/asan
  echo "== bindings"
  suites+=("$results/bindings.xml")
  tests/bindings/run.sh --junit "$results/bindings.xml" || true
fi
python3 tests/summary.py "${suites[@]}"

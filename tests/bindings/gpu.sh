#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/gpu.sh --out <folder> [--build <folder>] [--work <folder>]

Gathers in a folder what a machine with a GPU needs to test the bindings and to measure what a call costs, and runs
nothing: the wheel unpacked with its tests, the test programs of Rust and Go, the library, the shared vectors. There
needed: Python 3.10 or newer with numpy, and what there is of torch, cupy and jax; NVRTC; neither Rust nor Go, nor a network.

  --out <folder>     receives it; then, on that machine: <folder>/run.py, which writes <folder>/results/bindings.md
                     (--help: parts, other places)
  --build <folder>   a build of ggemm; else the library is built in build/lib
  --work <folder>    where everything else made here goes (build/gpu)

A language whose tools are missing is left out, and said so.
TXT
}
build= work= out= quick=0
name=gpu
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
read_options "build work out" "$@"
[ -n "$out" ] || { usage >&2; exit 2; }
work=${work:-$top/build/gpu}
cd "$top"
mkdir -p "$work"
rm -rf "$out"
install_library
mkdir -p "$out/lib"
cp "$(dirname "$(find "$work/prefix" -name libggemm.so)")"/libggemm.so.[0-9] "$out/lib"

step "Python"
tests/bindings/python.sh --build "$build" --work "$work/python" --gpu-suite "$out/python"

if have cargo; then
  step "Rust"
  mkdir -p "$out/rust"
  export CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 CARGO_PROFILE_TEST_DEBUG=0 CARGO_PROFILE_TEST_STRIP=symbols CARGO_PROFILE_BENCH_STRIP=symbols
  cd bindings/rust
  for kind in "test --test api --test cuda --test vectors" "bench --bench overhead"; do
    # shellcheck disable=SC2086  # words
    retry cargo $kind -p ggemm --quiet --locked --no-run --features half,cudarc,cudarc/cuda-12080,cudarc/f16 --message-format json >"$work/cargo.json"
    python3 - "$out/rust" "$work/cargo.json" <<'TXT'
import json, shutil, sys
for line in open(sys.argv[2]):
    message = json.loads(line)
    if message.get("executable"):
        shutil.copy(message["executable"], f"{sys.argv[1]}/{message['target']['name']}")
TXT
  done
  cd "$top"
else
  leave_out "Rust: there is no cargo"
fi

if have go; then
  step "Go"
  mkdir -p "$out/go"
  export GOFLAGS=-buildvcs=false GOWORK=off GOTOOLCHAIN=local
  (cd bindings/go && go test -c -ldflags=-s -o "$out/go/ggemm.test" . && go test -c -ldflags=-s -o "$out/go/overhead.test" ./internal/overhead)
else
  leave_out "Go: there is no go"
fi
cp tests/bindings/gpu_report.py "$out/run.py"
chmod +x "$out/run.py"
git rev-parse --short HEAD >"$out/commit" 2>/dev/null || echo unknown >"$out/commit"
echo "$out: $(du -sh "$out" | cut -f1)"

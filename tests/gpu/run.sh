#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
usage() {
  cat <<'TXT'
Usage: tests/gpu/run.sh [options] BUILD

Runs the GPU suite on this machine from BUILD, a folder with bin/ggemm_conformance, bin/ggemm_gpu_capture and lib/libggemm.so
(cmake --build <build> --target ggemm_gpu_suite makes it as <build>/gpu). Nothing is compiled here but kernels, by NVRTC.
What runs: random products of every kernel family and type against the reference, degenerate ones, operands at unmapped pages,
every configuration, CUDA graphs, threads and streams, and compute-sanitizer over each kernel family.

  --budget S      seconds for all of it, about (240)
  --out FILE      the report, as FILE.md and FILE.json (gpu-report)
  --commit SHA    what was built, for the report
  --seed N        of the random products (1)
  --big           operands of more than 2^31 elements too (needs 16 GB of host and GPU memory)
  --skip LIST     of conformance, capture, sanitizer, separated by commas
  --help

Needs bash, python3, a driver, NVRTC, and compute-sanitizer (on PATH, in $CUDA_HOME or /usr/local/cuda).
Exit code: 0 if nothing failed, 1 if something did, 2 if the suite cannot run.
TXT
}
budget=240 out=gpu-report commit=unknown seed=1 big=() skip=, build=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --budget | --out | --commit | --seed | --skip)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value (see --help)" >&2; exit 2; }
      case $1 in
        --budget) budget=$2 ;;
        --out) out=$2 ;;
        --commit) commit=$2 ;;
        --seed) seed=$2 ;;
        --skip) skip=,$2, ;;
      esac
      shift 2 ;;
    --big) big=(--big); shift ;;
    -*) echo "run.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) build=$1; shift ;;
  esac
done
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -n "$build" ] || build=$here
for file in bin/ggemm_conformance bin/ggemm_gpu_capture lib/libggemm.so; do
  [ -e "$build/$file" ] || { echo "run.sh: $build/$file is missing (see --help)" >&2; exit 2; }
done
build=$(cd "$build" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export GGEMM_CACHE_DIR="$work/cache"
mkdir -m 700 "$GGEMM_CACHE_DIR"
began=$SECONDS
share() { echo $((budget * $1 / 100)); }
wanted() { case $skip in *,$1,*) return 1 ;; esac; }

# step <name> <seconds> <command>...: one line when it begins and one when it ends; its output in <name>.log, its exit code in <name>.rc.
step() {
  local name=$1 limit=$2 start=$SECONDS
  shift 2
  echo "== $name"
  timeout --kill-after=10 "$limit" "$@" >"$work/$name.log" 2>&1
  local code=$?
  echo "$code $((SECONDS - start))" >"$work/$name.rc"
  [ $code = 0 ] && echo "   $name passed in $((SECONDS - start)) s" || { echo "   $name FAILED with exit code $code"; tail -n 40 "$work/$name.log"; }
  return $code
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$work/machine.txt" 2>/dev/null || { echo "run.sh: nvidia-smi finds no GPU" >&2; exit 2; }
"$build/bin/ggemm" doctor >"$work/doctor.log" 2>&1 || true

if wanted conformance; then
  # Corners and every configuration first: they are a fixed amount of work. Random products take what is left of the share.
  step degenerate "$budget" "$build/bin/ggemm_conformance" --device cuda --mode degenerate --seed "$seed" --json "$work/degenerate.json" ${big[@]+"${big[@]}"}
  step configurations "$budget" "$build/bin/ggemm_conformance" --device cuda --mode configs --seed "$seed" --json "$work/configurations.json" --time-limit "$(share 20)"
  step random "$budget" "$build/bin/ggemm_conformance" --device cuda --mode exact,real,guard --cases 100000 --grouped-cases 100000 --seed "$seed" --json "$work/random.json" \
    --time-limit "$(share 30)"
fi
if wanted capture; then
  step capture "$budget" "$build/bin/ggemm_gpu_capture" --json "$work/capture.json"
fi
if wanted sanitizer; then
  sanitizer=
  for candidate in "$(command -v compute-sanitizer || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer" /usr/local/cuda/bin/compute-sanitizer; do
    [ -x "$candidate" ] && { sanitizer=$candidate; break; }
  done
  if [ -z "$sanitizer" ]; then
    echo "== sanitizer: compute-sanitizer is not here (install the CUDA toolkit's)"
    echo "127 0" >"$work/sanitizer-missing.rc"
  else
    # One tool of both families at a time; the kernels are compiled by the first and found in the cache by the others.
    for tool in memcheck racecheck synccheck initcheck; do
      cases=20 grouped=12 products=60000
      [ $tool = racecheck ] && cases=8 grouped=6 products=20000
      for family in simt sm80; do
        step "sanitizer-$tool-$family" "$(share 30)" "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 20 \
          "$build/bin/ggemm_conformance" --device cuda --mode guard --memory exact --family $family --cases $cases --grouped-cases $grouped --work $products --per-class 2 --workers 1 \
          --seed "$seed" --json "$work/sanitizer-$tool-$family.json" &
      done
      wait
    done
  fi
fi
mkdir -p "$(dirname "$out")"
python3 "$here/report.py" --work "$work" --out "$out" --commit "$commit" --seconds $((SECONDS - began)) --budget "$budget"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
usage() {
  cat <<'TXT'
Usage: tests/gpu/run.sh [options] BUILD

Runs the GPU suite on this machine from BUILD, a folder with bin/ggemm_conformance, bin/ggemm_gpu_capture, lib/libggemm.so
and, for the benchmark, bin/ggemm (cmake --build <build> --target ggemm_gpu_suite makes it as <build>/gpu). Nothing is compiled
here but kernels, by NVRTC. What runs, in this order: corner cases (degenerate), products by kernels that a random choice
seldom meets and the cost model often takes (chosen), CUDA graphs, products one after the other, threads and streams, and a soak (capture),
compute-sanitizer over each kernel family, and what sanitized.txt lists (sanitizer), for what is left of the budget kernels drawn from all that the library
has, each with many random products against the reference, plain and grouped (random), and then, alone on the GPU, the quick
benchmark (bench). Another seed, or the next kernels of the same, add to it.

  --budget S        seconds for all but the benchmark, about (240)
  --bench-limit S   seconds for the benchmark; it begins no case that would end later (120)
  --seed N          of the random kernels (1)
  --first-kernel N  begin with kernel N of the seed, where an earlier run of the same kind ended (0)
  --kind KIND       plain or grouped, of the random kernels (both)
  --repeats N       runs of each small product on each of 8 streams of 8 threads, with the capture checks (1000)
  --soak S          seconds of the soak, with the capture checks (5)
  --processes N     that share the random kernels and the capture checks (4)
  --skip LIST       of degenerate, chosen, capture, sanitizer, random, bench, separated by commas
  --out FILE        the report, as FILE.md and FILE.json (gpu-report); the benchmark's rows as FILE-bench.jsonl
  --add FILE.json   count the products of an earlier report in (and of those that it counted in)
  --commit SHA      what was built, for the report
  --cache FOLDER    kernels compiled before, as a disk cache of the library has them: only others are compiled (none)
  --big             operands of more than 2^31 elements too (needs 16 GB of host and GPU memory)
  --help

Needs bash, python3, a driver, NVRTC, and compute-sanitizer (on PATH, in $CUDA_HOME or /usr/local/cuda).
Exit code: 0 if nothing failed, 1 if something did, 2 if the suite cannot run.
TXT
}
budget=240 bench_limit=120 seed=1 first=0 random_kind=both repeats=1000 soak=5 processes=4 skip=, out=gpu-report add=() commit=unknown cache= big=() build=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --budget | --bench-limit | --seed | --first-kernel | --kind | --repeats | --soak | --processes | --skip | --out | --add | --commit | --cache)
      [ $# -ge 2 ] || { echo "run.sh: $1 needs a value (see --help)" >&2; exit 2; }
      case $1 in
        --budget) budget=$2 ;;
        --bench-limit) bench_limit=$2 ;;
        --seed) seed=$2 ;;
        --first-kernel) first=$2 ;;
        --kind)
          case $2 in plain | grouped | both) ;; *) echo "run.sh: --kind $2 is not plain, grouped or both (see --help)" >&2; exit 2 ;; esac
          random_kind=$2 ;;
        --repeats) repeats=$2 ;;
        --soak) soak=$2 ;;
        --processes) processes=$2 ;;
        --skip) skip=,$2, ;;
        --out) out=$2 ;;
        --add) add=(--add "$2") ;;
        --commit) commit=$2 ;;
        --cache) cache=$2 ;;
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
source "$here/chosen.sh"
conformance="$build/bin/ggemm_conformance --device cuda"
capture=$build/bin/ggemm_gpu_capture
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$build/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export GGEMM_CACHE_DIR="$work/cache"
mkdir -m 700 "$GGEMM_CACHE_DIR"
[ -z "$cache" ] || cp -r "$cache/." "$GGEMM_CACHE_DIR/" || { echo "run.sh: --cache $cache cannot be copied" >&2; exit 2; }
began=$SECONDS
workers=$((($(nproc) + processes - 1) / processes))
left() { echo $((began + budget - SECONDS)); }
wanted() { case $skip in *,$1,*) return 1 ;; esac; }

# step <name> <seconds> <command>...: one line when it begins and one when it ends; its output in <name>.log, its exit code in <name>.rc.
# Steps whose names differ in what follows a dot are parts of one.
step() {
  local name=$1 limit=$2 start=$SECONDS
  shift 2
  echo "== $name"
  timeout --kill-after=10 "$limit" "$@" >"$work/$name.log" 2>&1
  local code=$?
  echo "$code $((SECONDS - start))" >"$work/$name.rc"
  [ $code = 0 ] && echo "   $name passed in $((SECONDS - start)) s" || { echo "   $name FAILED with exit code $code"; grep -h -A 4 '^FAILED' "$work/$name.log" | head -n 60; tail -n 40 "$work/$name.log"; }
  return $code
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader >"$work/machine.txt" 2>/dev/null || { echo "run.sh: nvidia-smi finds no GPU" >&2; exit 2; }
families=$($conformance --list-families) || { echo "run.sh: the library lists no kernels for this GPU: $families" >&2; exit 2; }
echo "kernel families:" $families
echo "kernels compiled before: $(find "$GGEMM_CACHE_DIR" -name 'cubin-*' | wc -l) (fill.sh compiles them, so that the budget goes to products)"

if wanted degenerate; then
  step degenerate "$budget" $conformance --mode degenerate --seed "$seed" --json "$work/degenerate.json" ${big[@]+"${big[@]}"}
fi
if wanted chosen && [[ " $(echo $families) " == *" sm90 "* ]]; then
  for ((i = 0; i < ${#chosen[@]}; ++i)); do
    step "chosen.$i" "$budget" $conformance --mode kernels --kernels 3 ${chosen[i]} --workers $workers --seed "$seed" --json "$work/chosen.$i.json" &
    ((i % processes < processes - 1)) || wait
  done
  wait
fi
if wanted capture; then
  for ((i = 0; i < processes; ++i)); do
    step "capture.$i" "$budget" "$capture" --shard "$i/$processes" --small-repeats "$repeats" --json "$work/capture.$i.json" &
  done
  wait
  step capture.alone $((budget + soak)) "$capture" --alone --soak-seconds "$soak" --json "$work/capture.alone.json"
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
    mapfile -t sanitized < <(grep -v '^#' "$here/sanitized.txt")
    [[ " $(echo $families) " == *" sm90 "* ]] || sanitized=()
    printf '%s\n' "${sanitized[@]}" >"$work/sanitized.txt"
    # One tool of all families at a time, and then of what is listed; the kernels are compiled by the first and found in the cache by the others.
    for tool in memcheck racecheck synccheck initcheck; do
      kernels=6 products=6 size=60000 scales=any
      # racecheck does not see that __syncwarp orders what a warp's lanes have copied or read before the arrival of one of them, as scales by blocks go: where each lane arrives for itself it reports nothing of them (docs/performance.md, section 54).
      [ $tool = racecheck ] && kernels=4 products=4 size=20000 scales=whole
      for family in $families; do
        step "sanitizer-$tool-$family" $((budget / 3)) "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 20 \
          $conformance --mode kernels --memory exact --family "$family" --kernels $kernels --per-kernel $products --work $size --scales $scales --workers 2 --seed "$seed" \
          --json "$work/sanitizer-$tool-$family.json" &
      done
      for ((i = 0; i < ${#sanitized[@]}; ++i)); do
        options=${sanitized[i]#*: }
        [[ $tool = racecheck && $options = *"--scales 1x128"* ]] && continue
        # A process is mostly its start, by one thread: one a core, and the next as soon as one ends.
        while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
        step "sanitizer-$tool-listed.$i" $((budget / 3)) "$sanitizer" --tool $tool --error-exitcode 9 --print-limit 20 \
          $conformance --mode kernels --memory exact --kernels 1 --per-kernel 3 --scales whole --workers 1 $options --json "$work/sanitizer-$tool-listed.$i.json" &
      done
      wait
    done
  fi
fi
if wanted random; then
  # The rest of the budget, less what a last kernel may take; but enough to see something.
  rest=$(($(left) - 6))
  [ $rest -ge 20 ] || rest=20
  for ((i = 0; i < processes; ++i)); do
    step "random.$i" $((rest + 60)) $conformance --mode kernels --kind "$random_kind" --seed "$seed" --first-kernel "$first" --shard "$i/$processes" --workers $workers --budget $rest \
      --json "$work/random.$i.json" &
  done
  wait
fi
mkdir -p "$(dirname "$out")"
if wanted bench && [ -x "$build/bin/ggemm" ]; then
  step bench $((bench_limit + 60)) "$build/bin/ggemm" bench --suite quick --device cuda --limit "$bench_limit" --commit "$commit" --jsonl "$out-bench.jsonl" --format markdown
fi
python3 "$here/report.py" --work "$work" --out "$out" --commit "$commit" --kind "$random_kind" --seconds $((SECONDS - began)) --budget $((budget + bench_limit)) ${add[@]+"${add[@]}"}

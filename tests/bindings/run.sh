#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/run.sh [--help] [--junit <file>] [python] [rust] [go] [deb]

Builds, tests and uses the bindings and packages named, or all of them, with what tests/run.sh left in build/tests, two at a
time where there are two cores. What each prints is kept in build/bindings.

  --junit <file>   writes what came of each there, and leaves the summary to the caller

A language whose tools are missing is skipped with a line that says what to install, and an oldest version that cannot be
had is left out with one. With CI=true these are failures, but for what needs root, or a server that does not answer.
What a call costs is printed and fails at ten times what is promised, as other work on the machine is in it;
GGEMM_OVERHEAD_SLACK=1 holds it to the promise. The exit code is 0 if something passed and nothing failed.
TXT
}
names=() junit=
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --junit) junit=$(realpath -m "$2"); shift ;;
    python | rust | go | deb) names+=("$1") ;;
    *) echo "bindings: unknown argument '$1' (see --help)" >&2; exit 2 ;;
  esac
  shift
done
[ ${#names[@]} != 0 ] || names=(deb rust python go)  # the longest first

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ ! -e build/tests/libggemm.so ]; then
  echo "bindings: build/tests has no libggemm.so: run tests/run.sh first" >&2
  exit 2
fi
source build/deps/env
# ctest runs them side by side and stops one that hangs.
work=$PWD/build/bindings
rm -rf "$work"
mkdir -p "$work"
for name in "${names[@]}"; do
  build=
  [ "$name" = deb ] || build=" --build \"$PWD/build/tests\""
  cat <<TXT
add_test("$name" bash "$PWD/tests/bindings/$name.sh"$build)
set_tests_properties("$name" PROPERTIES SKIP_RETURN_CODE 4 TIMEOUT 2400)
TXT
done >"$work/CTestTestfile.cmake"
ctest=$(dirname "$ggemm_cmake")/ctest
results=${junit:-$work/bindings.xml}
"$ctest" --test-dir "$work" -j "$(nproc)" --verbose --no-tests=error --output-junit "$results" </dev/null || code=$?
[ -n "$junit" ] || python3 tests/summary.py "$results" || code=1
exit "${code:-0}"

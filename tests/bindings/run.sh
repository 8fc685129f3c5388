#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/run.sh [--help] [python] [rust] [go] [deb]

Builds, tests and uses the bindings and packages named (all of them) with what tests/run.sh left in build/tests.
A language whose tools are missing is skipped with a line that says what to install; with CI=true that is a failure.
The exit code is 0 if nothing failed.
TXT
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [ ! -e build/tests/libggemm.so ]; then
  echo "bindings: build/tests has no libggemm.so: run tests/run.sh first" >&2
  exit 2
fi
source build/deps/env
failed=0
if [ $# = 0 ]; then set -- python rust go deb; fi
for name; do
  case $name in
    python | rust | go) bash "tests/bindings/$name.sh" --build build/tests ;;
    deb) bash tests/bindings/deb.sh ;;
    *) echo "bindings: unknown name '$name' (see --help)" >&2; exit 2 ;;
  esac
  code=$?
  case $code in
    0) echo "bindings: $name: passed" ;;
    4) echo "bindings: $name: skipped" ;;
    *) echo "bindings: $name: failed ($code)"; failed=1 ;;
  esac
done
exit $failed

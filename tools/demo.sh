#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  cat <<'TXT'
Usage: tools/demo.sh [--help] [argument...]

Installs what is missing (tools/setup.sh), builds ggemm into build/release and runs `ggemm demo` with the arguments:
a mixture-of-experts layer on a real text, on the GPU if there is one, else on the CPU.
`tools/demo.sh FILE` takes another text; `build/release/tools/ggemm demo --help` lists all arguments.
TXT
  exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
{
  tools/setup.sh build
  source build/deps/env
  source tools/build.sh
  ggemm_build build/release -DGGEMM_BUILD_TESTS=OFF
} >&2
exec build/release/tools/ggemm demo "$@"

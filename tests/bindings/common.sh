# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share. Sourced with $name set to what they test.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
have() { command -v "$1" >/dev/null 2>&1; }
step() { echo "== $name: $*"; }
# A part of this that cannot be done here: skipped, but not in CI.
lacks() {
  if [ "${CI:-}" = true ]; then
    echo "$name: $*" >&2
    exit 1
  fi
  echo "$name: skipped: $*"
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder, moves the folder, and uses it from there: pkg-config, dlopen, find_package, the command line.
# Usage: check.sh <build folder> <source folder> <cmake> <cc> <python>
set -euo pipefail
build=$1 source=$2 cmake=$3 cc=$4 python=$5
if ! command -v pkg-config >/dev/null; then
  echo "skipped: needs pkg-config (apt-get install pkg-config)"
  exit 4
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cmake" --install "$build" --prefix "$work/staged" >"$work/install.log"
mv "$work/staged" "$work/moved"
prefix=$work/moved
absolute=$(grep -rIlF -e "$work/staged" -e "$build" "$prefix" || true)
if [ -n "$absolute" ]; then
  echo "installed files hold an absolute path:" "$absolute"
  exit 1
fi
"$source/tests/install/use.sh" "$prefix" "$source" "$cmake" "$cc" "$python"

if [ -x "$prefix/bin/ggemm" ]; then
  version=$(sed -n 's/^Version: //p' "$(find "$prefix" -name ggemm.pc)")
  env -u LD_LIBRARY_PATH "$prefix/bin/ggemm" --version | grep -qF "$version"
  [ -f "$prefix/share/man/man1/ggemm.1" ]
  echo "command line: ok"
fi

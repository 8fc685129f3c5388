#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Uses an installed ggemm as programs in C do: pkg-config, dlopen, find_package.
# Usage: use.sh <prefix> <source folder> <cmake> <cc> <python>
set -euo pipefail
prefix=$1 source=$2 cmake=$3 cc=$4 python=$5
expect=$source/tests/examples/expect.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
libdir=$(dirname "$(find "$prefix" -name libggemm.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig

version=$(sed -n 's/^#define GGEMM_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$source/include/ggemm.h" | paste -sd.)
found=$(pkg-config --modversion ggemm)
[ "$found" = "$version" ] || { echo "pkg-config says version $found, the header $version"; exit 1; }
read -ra flags <<<"$(pkg-config --cflags --libs ggemm)"
"$cc" -std=c99 "$source/docs/examples/plain.c" "${flags[@]}" -o "$work/plain"
readelf -d "$work/plain" | grep -q 'NEEDED.*libggemm.so.0' || { echo "the program does not need libggemm.so.0"; exit 1; }
LD_LIBRARY_PATH=$libdir "$python" "$expect" "$source/docs/examples/plain.c" "$work/plain"
echo "pkg-config: ${flags[*]}"

"$cc" -std=c99 -I"$prefix/include" "$source/docs/examples/dlopen.c" -ldl -o "$work/dlopen"
if readelf -d "$work/dlopen" | grep -q 'NEEDED.*ggemm'; then
  echo "the dlopen example is linked with ggemm"
  exit 1
fi
"$python" "$expect" "$source/docs/examples/dlopen.c" "$work/dlopen" "$libdir/libggemm.so.0"
echo "dlopen: ok"

mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<TXT
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES C)
find_package(ggemm ${version%.*} REQUIRED)
add_executable(grouped "$source/docs/examples/grouped.c")
target_link_libraries(grouped PRIVATE ggemm::ggemm)
TXT
"$cmake" -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
"$cmake" --build "$work/consumer/build" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
"$python" "$expect" "$source/docs/examples/grouped.c" "$work/consumer/build/grouped"
echo "find_package: ok"

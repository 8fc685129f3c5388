#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles and links the library for aarch64, with every warning an error. Nothing is run: there is nothing to run it on.
# Usage: aarch64.sh <work folder> <source folder> <cmake>
set -euo pipefail
work=$1 source=$2 cmake=$3
command -v aarch64-linux-gnu-g++ >/dev/null || { echo "needs a compiler for aarch64: apt-get install g++-aarch64-linux-gnu"; exit 4; }
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT
launcher=
if command -v ccache >/dev/null; then launcher=ccache; fi
"$cmake" -S "$source" -B "$work" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" -DGGEMM_BUILD_TESTS=OFF -DGGEMM_BUILD_TOOLS=OFF -DGGEMM_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 >"$work/log" 2>&1 &&
  "$cmake" --build "$work" --target ggemm --parallel 2 >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
aarch64-linux-gnu-objdump -f "$work/libggemm.so" | grep -q 'file format elf64-littleaarch64' || { echo "that is no library for aarch64"; exit 1; }
echo "compiled and linked for aarch64"

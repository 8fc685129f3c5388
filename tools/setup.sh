#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds or installs what building and testing ggemm needs, and writes the findings to build/deps/env for the other scripts.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: tools/setup.sh [--help] [build|test]

Takes what this machine has; installs the rest from Debian or Ubuntu (as root, or through sudo) and from PyPI
(into build/deps/venv). One line says what was taken from where; nothing is said when all was there already.

  build   what the library and the ggemm command need: a C++20 compiler, CMake 3.22, Ninja, xxHash, CLI11, JSON;
          NVRTC too where there is an NVIDIA GPU
  test    the same and what the tests need (default): Catch2 3, NVRTC and cuda.h, OpenBLAS, Python, pkg-config

No GPU is needed. Environment:
  CC, CXX              compilers to use
  CUDA_HOME            CUDA toolkit to take NVRTC and cuda.h from (else CUDA_PATH, /usr/local/cuda, PyPI)
  GGEMM_NVRTC          NVRTC library to use
TXT
}

profile=test
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    build | test) profile=$argument ;;
    *) echo "setup: unknown argument '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$top/build/deps
venv=$deps/venv
mkdir -p "$deps"
found=()      # "part: from where", printed if anything is new since the last run
installed=0
note() { found+=("$1: $2"); }
die() { echo "setup: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# True if dotted version $1 is at least $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# ------------------------------------------------------------------------------------------------------------------ apt
apt_updated=0
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
apt_ready() {
  have apt-get || die "missing: $*. This installer knows Debian and Ubuntu only; install them with this system's own packages."
  [ "$(id -u)" = 0 ] || have sudo || die "missing: $*. Run as root: apt-get install $*"
  [ $apt_updated = 1 ] && return
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
  apt_updated=1
}
# Runs a command; shows its output only if it fails.
quietly() {
  local log=$deps/setup.log
  "$@" >"$log" 2>&1 </dev/null && return
  cat "$log" >&2
  die "failed: $*"
}
apt_install() {
  apt_ready "$@"
  echo "setup: installing $*"
  installed=1
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}
# apt_need <part> <package> <test...>: installs the package unless the test passes.
apt_need() {
  local part=$1 package=$2
  shift 2
  if "$@"; then note "$part" "this machine"; return; fi
  apt_install "$package"
  hash -r
  "$@" || die "$package is installed, but $part is still not found"
  note "$part" "the distribution's package $package"
}

# --------------------------------------------------------------------------------------------------------- what is there
cxx() { echo "${CXX:-c++}"; }
has_cxx20() { have "$(cxx)" && echo '#include <span>' | "$(cxx)" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; }
has_header() { printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | "$(cxx)" -std=c++17 -fsyntax-only -x c++ - 2>/dev/null; }
has_venv() { have python3 && python3 -c 'import venv, ensurepip' 2>/dev/null; }
has_library() { ldconfig -p 2>/dev/null | grep -q "$1" || /sbin/ldconfig -p 2>/dev/null | grep -q "$1"; }
cmake_version() { "$1" --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p'; }
has_cmake_package() {
  local probe=$deps/probe
  rm -rf "$probe"
  mkdir -p "$probe"
  cat >"$probe/CMakeLists.txt" <<TXT
cmake_minimum_required(VERSION 3.22)
project(probe LANGUAGES NONE)
find_package($1 $2 REQUIRED)
TXT
  "$cmake" -G Ninja -S "$probe" -B "$probe/build" -DCMAKE_LIBRARY_ARCHITECTURE="$("$(cxx)" -print-multiarch 2>/dev/null)" >/dev/null 2>&1
}
# The major version of CUDA that the NVIDIA driver serves; nothing without a driver.
driver_cuda_major() {
  local driver
  driver=$(sed -n 's/^NVRM version:.* \([0-9]\{3,\}\)\.[0-9.]* .*/\1/p' /proc/driver/nvidia/version 2>/dev/null) || true
  [ -n "$driver" ] || return 0
  if [ "$driver" -ge 580 ]; then echo 13; else echo 12; fi
}

# ----------------------------------------------------------------------------------------------------------------- PyPI
venv_ready() {
  [ -x "$venv/bin/pip" ] && return
  has_venv || apt_install python3-venv
  quietly python3 -m venv "$venv"
}
pip_install() {
  venv_ready
  echo "setup: installing $* from PyPI into build/deps/venv"
  installed=1
  quietly "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
}

# -------------------------------------------------------------------------------------------------------------- the parts
need_compiler() {
  apt_need "C++20 compiler" g++ has_cxx20
  apt_need "Ninja" ninja-build have ninja
  cmake=$(command -v cmake || true)
  if [ -n "$cmake" ] && at_least "$(cmake_version "$cmake")" 3.22; then note CMake "$cmake"; return; fi
  cmake=$venv/bin/cmake
  if [ -x "$cmake" ]; then note CMake PyPI; return; fi
  apt_ready cmake
  if at_least "$(LC_ALL=C apt-cache policy cmake | sed -n 's/.*Candidate: \([0-9.]*\).*/\1/p')" 3.22; then
    apt_install cmake
    cmake=$(command -v cmake)
    note CMake "the distribution's package cmake"
  else
    pip_install cmake
    note CMake PyPI
  fi
}

need_catch2() {
  if has_cmake_package Catch2 3; then note "Catch2 3" "this machine"; return; fi
  apt_ready catch2
  local candidate package=catch2
  candidate=$(LC_ALL=C apt-cache policy catch2 | sed -n 's/.*Candidate: \([0-9.]*\).*/\1/p')
  if ! at_least "${candidate:-0}" 3 && grep -q '^VERSION_CODENAME=bookworm' /etc/os-release; then
    if ! LC_ALL=C apt-cache policy | grep -q bookworm-backports; then
      echo 'deb http://deb.debian.org/debian bookworm-backports main' | as_root tee /etc/apt/sources.list.d/bookworm-backports.list >/dev/null
      apt_updated=0
      apt_ready catch2
    fi
    package=catch2/bookworm-backports
  fi
  apt_install $package
  has_cmake_package Catch2 3 || die "the distribution has no Catch2 of version 3; install it from https://github.com/catchorg/Catch2"
  note "Catch2 3" "the distribution's package $package"
}

# Sets nvrtc and cuda_include.
need_nvrtc() {
  local major folder
  major=$(driver_cuda_major)
  major=${major:-13}
  nvrtc=${GGEMM_NVRTC:-}
  cuda_include=
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    [ -n "$folder" ] || continue
    if [ -z "$nvrtc" ]; then nvrtc=$(ls "$folder"/lib64/libnvrtc.so.$major "$folder"/lib/libnvrtc.so.$major 2>/dev/null | head -n 1) || true; fi
    if [ -z "$cuda_include" ] && [ -f "$folder/include/cuda.h" ]; then cuda_include=$folder/include; fi
  done
  [ -n "$nvrtc" ] && note NVRTC "$nvrtc"
  [ -n "$cuda_include" ] && note cuda.h "$cuda_include"
  [ -n "$nvrtc" ] && { [ -n "$cuda_include" ] || [ $profile = build ]; } && return

  local suffix="" pattern
  [ "$major" = 12 ] && suffix=-cu12
  pattern="$venv/lib/python3*/site-packages/nvidia"
  local packages=()
  [ -n "$nvrtc" ] || packages+=("nvidia-cuda-nvrtc$suffix>=$major,<$((major + 1))")
  [ -n "$cuda_include" ] || [ $profile = build ] || packages+=("nvidia-cuda-runtime$suffix>=$major,<$((major + 1))")
  local attempt
  for attempt in 1 2; do
    [ -n "$nvrtc" ] || nvrtc=$(ls $pattern/*/lib/libnvrtc.so.$major 2>/dev/null | head -n 1) || true
    [ -n "$cuda_include" ] || cuda_include=$(dirname "$(ls $pattern/*/include/cuda.h 2>/dev/null | head -n 1)" 2>/dev/null) || true
    [ "$cuda_include" = . ] && cuda_include=
    [ -n "$nvrtc" ] && { [ -n "$cuda_include" ] || [ $profile = build ]; } && break
    [ $attempt = 1 ] || die "PyPI's packages hold no NVRTC or cuda.h where they used to: $pattern"
    pip_install "${packages[@]}"
  done
  note "${packages[*]%%>=*}" "PyPI, in build/deps/venv"
}

# ------------------------------------------------------------------------------------------------------------------ work
nvrtc= cuda_include=
need_compiler
apt_need xxHash libxxhash-dev has_header xxhash.h
apt_need CLI11 libcli11-dev has_header CLI/CLI.hpp
apt_need "nlohmann JSON" nlohmann-json3-dev has_header nlohmann/json.hpp
if [ $profile = test ]; then
  apt_need pkg-config pkg-config have pkg-config
  apt_need "Python 3" python3 have python3
  apt_need OpenBLAS libopenblas0-pthread has_library libopenblas
  need_catch2
fi
if [ $profile = test ] || [ -n "$(driver_cuda_major)" ]; then need_nvrtc; fi

{
  printf 'ggemm_cmake=%q\n' "$cmake"
  printf 'ggemm_cuda_include=%q\n' "$cuda_include"
  [ -z "$nvrtc" ] || printf 'export GGEMM_NVRTC=%q\n' "$nvrtc"
} >"$deps/env"

# Said once, and again when something was installed.
if [ $installed = 1 ] || [ ! -f "$deps/reported.$profile" ]; then printf 'setup: %s\n' "${found[@]}"; fi
touch "$deps/reported.$profile"

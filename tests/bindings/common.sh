# SPDX-License-Identifier: Apache-2.0
# What the scripts of this folder share. Sourced with $name set to what they test.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
snippets=$top/tests/bindings/snippets.py
have() { command -v "$1" >/dev/null 2>&1; }
step() { echo "== $name: $*"; }
die() { echo "$name: $*" >&2; exit 1; }

# read_options <options with a folder> "$@": sets the variables of these options, and quick, from the script's own arguments.
read_options() {
  local folders=$1 option
  shift
  while [ $# -gt 0 ]; do
    option=${1#--}
    option=${option//-/_}
    case $1 in
      -h | --help) usage; exit 0 ;;
      --quick) quick=1 ;;
      *)
        if [[ $1 != --* || " $folders " != *" $option "* || $# -lt 2 ]]; then
          echo "$name.sh: unknown argument '$1' (see --help)" >&2
          exit 2
        fi
        printf -v "$option" %s "$(realpath -m "$2")"
        shift ;;
    esac
    shift
  done
}

# A toolchain without which nothing can be tested: skipped, but not in CI.
missing() {
  [ "${CI:-}" != true ] || die "$*"
  echo "skipped: $*"
  exit 4
}
# A part that no installation makes possible here, as it needs root or another's server: said and left out, in CI too.
leave_out() { echo "$name: left out: $*"; }
# A part whose tool, version or download is not there: left out likewise, but not in CI.
lacking() {
  [ "${CI:-}" != true ] || die "$*"
  leave_out "$*"
}

# Runs a command; shows its output only if it fails.
quietly() {
  "$@" >"$work/step.log" 2>&1 </dev/null && return
  cat "$work/step.log" >&2
  echo "$name: failed: $*" >&2
  return 1
}
# What downloads gets three tries.
retry() {
  local pause
  for pause in 5 20; do
    "$@" && return
    echo "$name: tried again in $pause s: $*" >&2
    sleep "$pause"
  done
  "$@" || { echo "$name: failed three times: $*" >&2; return 1; }
}

# Sets $ggemm_cmake and what else setup.sh found. It is not run again where it has been: another script may be reading what it writes.
dependencies() {
  [ -f "$top/build/deps/env" ] || "$top/tools/setup.sh" build
  source "$top/build/deps/env"
}

# install_library: puts the library of $build, or one built in build/lib, into $work/prefix, where pkg-config and the loader find it.
install_library() {
  if [ -z "$build" ]; then
    step "building the library"
    dependencies
    source tools/build.sh
    build=$top/build/lib
    ggemm_build "$build" -DGGEMM_BUILD_TESTS=OFF -DGGEMM_BUILD_TOOLS=OFF -- ggemm
  fi
  have pkg-config || die "pkg-config is missing: apt-get install pkg-config"
  rm -rf "$work/prefix"
  local cmake
  cmake=$(sed -n 's/^CMAKE_COMMAND:INTERNAL=//p' "$build/CMakeCache.txt")
  quietly "$cmake" --install "$build" --prefix "$work/prefix"
  local libdir
  libdir=$(dirname "$(find "$work/prefix" -name libggemm.so)")
  export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
  export GGEMM_CACHE_DIR=$work/cache  # no call may write into the user's
}

# The driver for tests shows how calls reach a GPU, where the build has it and NVRTC is there to compile for it.
use_fake_driver() {
  if [ -f "$build/tests/fake_driver/libcuda.so.1" ] && [ -n "${GGEMM_NVRTC:-}" ]; then
    export GGEMM_FAKE_DRIVER=$build/tests/fake_driver/libcuda.so.1
  else
    lacking "calls on a CUDA device: needs a build with tests (--build) and \$GGEMM_NVRTC"
  fi
}

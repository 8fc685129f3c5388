# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts, after build/deps/env and from the project's folder.

# ggemm_build <folder> [cmake option...] [-- target...]: configures and builds. Quiet when there is nothing to do.
ggemm_build() {
  local folder=$1 options=() targets=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -eq 0 ] || { shift; targets=(--target "$@"); }
  if command -v ccache >/dev/null 2>&1; then options+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  mkdir -p "$folder"
  if ! "$ggemm_cmake" -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log"
    return 1
  fi
  "$ggemm_cmake" --build "$folder" ${targets[@]+"${targets[@]}"} | { grep --line-buffered -v -E '^ninja: no work to do|Re-checking globbed' || true; }
}

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/rust.sh [--build <folder>] [--work <folder>] [--quick]

Tests the Rust crates of bindings/rust: format, lints, bindings against the header, documentation without the library,
tests (the shared vectors and the snippets of docs/rust.md among them), the cost of a warm call, the oldest Rust that is
promised, and a program built from the packed crates alone. Crates are downloaded.

  --build <folder>   a build of ggemm to test with; else the library is built in build/lib
  --work <folder>    where everything made here goes (build/rust)
  --quick            without the oldest Rust and the packed crates

What is missing is named. Without Rust the exit code is 4, which stands for skipped; an oldest Rust that is not installed
is left out. With CI=true a missing Rust is a failure, and rustup, downloaded if need be, installs the oldest one,
which is left out only if no server has it.
TXT
}
build= work= quick=0
oldest=1.80
linted=1.96  # the newest Rust whose warnings were seen: of a later one they are printed, but are no errors
libclang=18.1.1
features=half,cudarc,cudarc/cuda-12080,cudarc/f16
name=rust
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
read_options "build work" "$@"
work=${work:-$top/build/rust}

version=$(cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p') || true
[ -n "$version" ] && [ "$(printf '%s\n' "$oldest" "$version" | sort -V | head -n 1)" = "$oldest" ] && cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
  missing "there is ${version:+cargo $version, but }no Rust $oldest or later with rustfmt and clippy: install them, as tools/setup.sh bindings does (or https://rustup.rs)"
cd "$top"
mkdir -p "$work"
export CARGO_TARGET_DIR=$work/target CARGO_TERM_COLOR=never CARGO_INCREMENTAL=0 CARGO_NET_RETRY=5 RUST_BACKTRACE=0
if have ccache; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi

install_library

use_fake_driver

cd bindings/rust
# ------------------------------------------------------------------------------------------------------------ the text
step "format"
cargo fmt --all --check
retry quietly cargo fetch --locked

step "bindings against include/ggemm.h"
if [ -z "${LIBCLANG_PATH:-}" ]; then
  if [ ! -d "$work/venv" ]; then
    python3 -m venv "$work/venv.new"
    retry quietly "$work/venv.new/bin/pip" install --quiet --disable-pip-version-check "libclang==$libclang"
    mv "$work/venv.new" "$work/venv"
  fi
  LIBCLANG_PATH=$(dirname "$(find "$work/venv" -name 'libclang*.so' | head -n 1)")
  export LIBCLANG_PATH
fi
cargo run --quiet --locked -p ggemm-bindgen -- --check

version=$(cargo --version | sed 's/^cargo \([0-9]*\.[0-9]*\).*/\1/')
warnings="-D warnings"
[ "$(printf '%s\n' "$version" "$linted" | sort -V | tail -n 1)" = "$linted" ] || warnings="-W warnings"
step "lints (Rust $version, $warnings)"
# shellcheck disable=SC2086  # two words
cargo clippy --quiet --locked --all-targets --features "$features" -- $warnings
# shellcheck disable=SC2086
cargo clippy --quiet --locked -p ggemm --all-targets -- $warnings

step "documentation, without the library"
DOCS_RS=1 GGEMM_NO_VENDOR=1 PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH='' RUSTDOCFLAGS="$warnings" \
  cargo doc --quiet --locked --no-deps --features "$features"

# ------------------------------------------------------------------------------------------------------------- the tests
step "tests"
cargo test --quiet --locked --features "$features"

step "cost of a warm call"
cargo bench --quiet --locked -p ggemm --bench overhead -- --check

if [ $quick = 1 ]; then echo "rust: all passed"; exit 0; fi
# Debian's Rust comes without rustup: then there is one in $work, downloaded by the first run in CI.
have rustup || { export RUSTUP_HOME=$work/rustup; PATH=$PATH:$work/rustup/bin; }
oldest_rustc() { RUSTUP_AUTO_INSTALL=0 rustup which --toolchain "$oldest" rustc 2>/dev/null; }
install_oldest() {
  if ! have rustup; then
    retry quietly python3 -c 'import sys, urllib.request; urllib.request.urlretrieve(*sys.argv[1:])' \
      "https://static.rust-lang.org/rustup/dist/$(uname -m)-unknown-linux-gnu/rustup-init" "$work/rustup-init" || return
    chmod +x "$work/rustup-init"
    CARGO_HOME=$RUSTUP_HOME RUSTUP_INIT_SKIP_PATH_CHECK=yes quietly "$work/rustup-init" -y --no-modify-path --default-toolchain none || return
  fi
  retry quietly timeout 600 rustup toolchain install "$oldest" --profile minimal
}
step "Rust $oldest"
if ! oldest_rustc >/dev/null && [ "${CI:-}" = true ] && ! install_oldest; then
  leave_out "Rust $oldest: no server gives it"
elif rustc=$(oldest_rustc); then
  (PATH=$(dirname "$rustc"):$PATH && rustc --version && cargo test --quiet --locked --tests --features "$features" --target-dir "$work/target-$oldest")
else
  lacking "there is no Rust $oldest: rustup toolchain install $oldest --profile minimal"
fi

# ---------------------------------------------------------------------------------------------------- the packed crates
step "a program from the packed crates"
rm -rf "$work/packed" "$work/target/package"
retry quietly cargo package --quiet --locked --allow-dirty --no-verify -p ggemm-sys -p ggemm
mkdir -p "$work/packed"
for crate in ggemm-sys ggemm; do
  tar -xzf "$work"/target/package/$crate-[0-9]*.crate -C "$work/packed"
  mv "$work/packed"/$crate-[0-9]* "$work/packed/$crate"
done
cp -r "$top/tests/bindings/rust_consumer" "$work/packed/consumer"
python3 "$snippets" check "$top/docs/rust.md" toml "$work/packed/consumer/Cargo.toml"
sed -i 's|<ggemm>/bindings/rust/|../|' "$work/packed/consumer/Cargo.toml"
cd "$work/packed/consumer"
# pkg-config knows no ggemm here, so the sources in the crate are built.
retry env -u LD_LIBRARY_PATH PKG_CONFIG_LIBDIR=/nonexistent PKG_CONFIG_PATH='' CARGO_TARGET_DIR="$work/packed/target" cargo build --quiet
output=$(env -u LD_LIBRARY_PATH "$work/packed/target/debug/consumer")
echo "$output"
[ "$(tail -n 1 <<<"$output")" = 11 ] || die "the program must end with 11"
echo "rust: all passed"

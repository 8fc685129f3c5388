#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/go.sh [--build <folder>] [--work <folder>] [--quick]

Tests the Go module of bindings/go against an installed libggemm: format, vet, tests with cgo's strictest checks and the
race detector (the shared vectors, examples and snippets of docs/go.md among them), the cost of a warm call, and a program
that uses the module from a clean folder.

  --build <folder>   a build of ggemm to test with; else the library is built in build/lib
  --work <folder>    where everything made here goes (build/go)
  --quick            without the race detector, staticcheck and the oldest Go

What is missing is named. Without Go the exit code is 4, which stands for skipped; an oldest Go or staticcheck that cannot
be downloaded is left out. With CI=true both are failures.
TXT
}
build= work= quick=0
oldest=1.24.13
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
name=go
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
read_options "build work" "$@"
work=${work:-$top/build/go}
have go || missing "there is no Go: install ${oldest%.*} or later, as tools/setup.sh bindings does (or https://go.dev/dl)"
version=$(go env GOVERSION)
[ "$(printf '%s\n' "go${oldest%.*}" "$version" | sort -V | head -n 1)" = "go${oldest%.*}" ] ||
  missing "there is $version, and the module needs Go ${oldest%.*} or later: install it, as tools/setup.sh bindings does (or https://go.dev/dl)"
cd "$top"
mkdir -p "$work"

install_library
rm -rf "$work/consumer"
# The module has no dependencies, and the sources may lie in anyone's repository.
export GOFLAGS=-buildvcs=false GOWORK=off GOTOOLCHAIN=local
use_fake_driver

cd bindings/go
# ------------------------------------------------------------------------------------------------------------ the text
step "format and vet ($version)"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || die "not as gofmt writes it: $unformatted"
go vet ./...
python3 "$snippets" show ../../docs/go.md go 1 >"$work/main.go"
python3 "$snippets" check ../../docs/go.md go example_test.go "$work/main.go"

# ----------------------------------------------------------------------------------------------------------- the tests
race=-race
if [ $quick = 1 ]; then race=; fi
step "tests, with cgocheck2${race:+ and the race detector}"
GOEXPERIMENT=cgocheck2 GODEBUG=cgocheck=1 go test -count=1 -timeout=30m $race .

step "cost of a warm call"
GGEMM_TEST_OVERHEAD=1 go test -count=1 -v -run Overhead ./internal/overhead | grep -v '^=== '

# --------------------------------------------------------------------------------------------------- in a clean folder
step "the program of docs/go.md in a clean folder"
mkdir "$work/consumer"
mv "$work/main.go" "$work/consumer"
output=$(
  cd "$work/consumer"
  unset PKG_CONFIG_PATH LD_LIBRARY_PATH GGEMM_FAKE_DRIVER
  ggemm=$top prefix=$work/prefix GOPROXY=off bash -euo pipefail -c "$(python3 "$snippets" show "$top/docs/go.md" sh)" 2>&1
)
echo "$output"
expected="ggemm $(pkg-config --modversion ggemm) runs on "
[[ $(tail -n 1 <<<"$output") == "$expected"* ]] || die "the program must end with '$expected...'"

if [ $quick = 1 ]; then echo "go: all passed"; exit 0; fi
step "staticcheck"
if GOBIN=$work/bin retry quietly go install "$staticcheck"; then
  "$work/bin/staticcheck" ./...
else
  lacking "staticcheck cannot be had"
fi
step "Go $oldest"
if GOTOOLCHAIN=go$oldest retry quietly go version; then
  GOTOOLCHAIN=go$oldest go test -count=1 -timeout=30m .
else
  lacking "Go $oldest cannot be had"
fi
echo "go: all passed"

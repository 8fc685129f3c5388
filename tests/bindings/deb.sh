#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: tests/bindings/deb.sh [--work <folder>] [--quick]

Makes the Debian packages by the commands of docs/c.md, looks at what is in them, unpacks them into an empty folder and
uses them from there: pkg-config, CMake, dlopen, the command line, the commands of docs/c.md. Then installs them into a
fresh Debian and uses them there, where root, mmdebstrap and a mirror are at hand.

  --work <folder>   where everything made here goes, but for build/deb (build/debtest)
  --quick           without the fresh Debian

What is missing is named. Without dpkg's tools the exit code is 4, which stands for skipped; without mmdebstrap the fresh
Debian is left out. With CI=true these are failures, and only what needs root or a mirror that answers may be left out.
TXT
}
work= quick=0
name=deb
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
read_options "work" "$@"
work=${work:-$top/build/debtest}
have dpkg-shlibdeps && have dpkg-deb && have apt-get || missing "there is no dpkg-dev: install it, as tools/setup.sh bindings does on Debian and Ubuntu"
cd "$top"
dependencies

# -------------------------------------------------------------------------------------------------------- the packages
step "making the packages, as docs/c.md says"
rm -rf "$work" build/deb/*.deb
mkdir -p "$work/root"
# The page's commands, with the flags of the other test builds, so that ccache knows the objects; and nothing is installed here.
cat >"$work/make.sh" <<TXT
export CMAKE_GENERATOR=Ninja
$(have ccache && echo 'export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache')
cmake() { if [ "\$1" = -B ]; then command "$ggemm_cmake" "\$@" -DGGEMM_WERROR=ON; else command "$ggemm_cmake" "\$@"; fi; }
cpack() { command "$(dirname "$ggemm_cmake")/cpack" "\$@"; }
apt-get() { command apt-get --simulate "\$@"; }
$(python3 "$snippets" show docs/c.md sh 1)
TXT
bash -euo pipefail "$work/make.sh" >"$work/make.log" 2>&1 || { tail -n 60 "$work/make.log"; die "the commands of docs/c.md fail"; }
version=$(sed -n 's/^#define GGEMM_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/ggemm.h | paste -sd.)
architecture=$(dpkg --print-architecture)
for part in libggemm0 libggemm-dev ggemm; do
  package=build/deb/${part}_$version-1_$architecture.deb
  [ -f "$package" ] || die "there is no $package"
  grep -q "^Inst $part " "$work/make.log" || die "apt would not install $part"
  dpkg-deb --extract "$package" "$work/root"
  dpkg-deb --control "$package" "$work/$part"
  echo "$part: $(dpkg-deb --field "$package" Depends)"
done

step "what is in them"
usr=$work/root/usr
libdir=$(dirname "$(find "$usr/lib" -name libggemm.so.0)")
depends() { grep '^Depends:' "$work/$1/control" | grep -qF "$2" || die "$1 does not depend on $2"; }
depends libggemm0 "libc6 (>= "
depends libggemm0 "libstdc++6 (>= "
depends ggemm "libggemm0 (= $version-1)"
depends ggemm "libstdc++6 (>= "
depends libggemm-dev "libggemm0 (= $version-1)"
grep -qE 'cuda|nvidia|blas' <(grep '^Depends:' "$work"/*/control) && die "a package depends on what is opened at run time only"
grep -qxF "libggemm 0 libggemm0 (>= $version-1)" "$work/libggemm0/shlibs" || die "libggemm0's shlibs says: $(cat "$work/libggemm0/shlibs" 2>&1)"
grep -q ldconfig "$work/libggemm0/postinst" || die "libggemm0 does not call ldconfig"
[ "$(cd "$usr" && find lib -name 'libggemm.so*' | wc -l)" = 3 ] || die "not the library and its two names: $(find "$usr/lib" -name 'libggemm.so*')"
readelf -d "$usr/bin/ggemm" | grep -qE 'RPATH|RUNPATH' && die "the command line has a search path of its own"
for part in libggemm0 libggemm-dev ggemm; do
  for file in copyright changelog.gz changelog.Debian.gz; do [ -s "$usr/share/doc/$part/$file" ] || die "$part has no $file"; done
  grep -q 'common-licenses/Apache-2.0' "$usr/share/doc/$part/copyright" && grep -q 'Yann Collet' "$usr/share/doc/$part/copyright" || die "$part's copyright lacks a notice"
done
zcat "$usr/share/man/man1/ggemm.1.gz" | cmp - docs/ggemm.1
strange=$(grep -rlF "$top" "$work/root" || true)
[ -z "$strange" ] || die "files name the folder of the build: $strange"

# ----------------------------------------------------------------------------------------------------------- their use
step "use of the unpacked files"
CMAKE_GENERATOR=Ninja tests/install/use.sh "$usr" "$top" "$ggemm_cmake" "${CC:-cc}" python3
export LD_LIBRARY_PATH=$libdir PKG_CONFIG_PATH=$libdir/pkgconfig GGEMM_CACHE_DIR=$work/cache
[ "$("$usr/bin/ggemm" --version)" = "ggemm $version" ] || die "the command line does not tell its version"
step "the commands of docs/c.md"
cp -r "$usr/share/doc/libggemm-dev/examples" "$work"
cd "$work/examples"
bash -euo pipefail -c "$(python3 "$snippets" show "$top/docs/c.md" sh 2)"
for program in plain.c raii.cpp; do python3 "$top/tests/examples/expect.py" $program "./${program%.*}"; done
{
  printf 'cmake_minimum_required(VERSION 3.22)\nproject(page LANGUAGES C)\n'
  python3 "$snippets" show "$top/docs/c.md" cmake
} >CMakeLists.txt
"$ggemm_cmake" -G Ninja -B build -DCMAKE_PREFIX_PATH="$usr" >"$work/page.log" && "$ggemm_cmake" --build build >>"$work/page.log" || { cat "$work/page.log"; exit 1; }
python3 "$top/tests/examples/expect.py" grouped.c build/grouped

if [ $quick = 1 ]; then echo "deb: all passed"; exit 0; fi
# ------------------------------------------------------------------------------------------------------ a fresh Debian
step "a fresh Debian"
cd "$top"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
if [ "$(id -u)" != 0 ]; then
  leave_out "the fresh Debian needs root"
elif ! have mmdebstrap; then
  lacking "the fresh Debian needs mmdebstrap: apt-get install mmdebstrap"
elif ! TMPDIR=$work retry quietly timeout 900 mmdebstrap --quiet --variant=minbase --include=gcc,libc6-dev,pkg-config,python3,libstdc++6 \
  "$codename" "$work/fresh.tar"; then
  leave_out "the fresh Debian: no mirror gives its packages"
else
  cat >"$work/inside.sh" <<'TXT'
set -eu
cd /packages
apt-get install -y --no-install-recommends ./*.deb
ggemm --version
for source in /usr/share/doc/libggemm-dev/examples/*.c; do
  name=$(basename "$source" .c)
  [ "$name" = dlopen ] || { cc "$source" $(pkg-config --cflags --libs ggemm) -o "$name" && python3 expect.py "$source" "./$name"; }
  [ "$name" != dlopen ] || { cc "$source" -ldl -o dlopen && python3 expect.py "$source" ./dlopen; }
done
apt-get purge -y libggemm0
[ ! -e /usr/bin/ggemm ] && ! ldconfig -p | grep -q libggemm
TXT
  mkdir -p "$work/fresh/packages"
  tar -xf "$work/fresh.tar" -C "$work/fresh"
  cp build/deb/*.deb tests/examples/expect.py "$work/inside.sh" "$work/fresh/packages"
  quietly env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$work/fresh" sh /packages/inside.sh
  rm -rf "$work/fresh" "$work/fresh.tar"
  echo "installed, used and removed"
fi
echo "deb: all passed"

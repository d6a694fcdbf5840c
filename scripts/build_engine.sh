#!/usr/bin/env bash
# scripts/build_engine.sh FOLDER: puts libdebias_engine.so, for every version of torch, into FOLDER, and beside it what it needs that is neither
# torch's nor in every Linux. Built in build/release where that is configured, else in build/wheel/engine.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?usage: scripts/build_engine.sh FOLDER}
jobs=${JOBS:-$(scripts/jobs.sh)}

stop() { printf 'build-engine: %s\n' "$*" >&2; exit 1; }

mkdir -p "$folder"
folder=$(realpath "$folder")
rm -f "$folder"/*.so*
build=build/release
if [ ! -f $build/build.ninja ]; then
  build=build/wheel/engine
  cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEBIAS_TESTS=OFF -DDEBIAS_BENCHMARKS=OFF -DDEBIAS_PCH=OFF \
    >"$folder/log" || { cat "$folder/log" >&2; stop "cmake failed"; }
  rm "$folder/log"
fi
cmake --build $build -j "$jobs" --target debias_engine
library=$folder/libdebias_engine.so
strip --strip-unneeded -o "$library" $build/python/libdebias_engine.so
# Of torch it takes what is C alone: the BLAS, and through it the OpenMP runtime.
foreign=$(nm -D --undefined-only -C "$library" | grep -E '(at|c10|torch|debias)::' | head -n 3 || true)
[ -z "$foreign" ] || stop "the engine needs $foreign"
for name in $(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | grep -vE '^(libtorch_cpu|libstdc\+\+|libm|libgcc_s|libc|ld-linux.*)\.so'); do
  file=$(ldconfig -p | awk -v name="$name" '$1 == name && !found {print $NF; found = 1}')
  [ -n "$file" ] || stop "the engine needs $name, which is not installed"
  cp -L "$file" "$folder/$name"
done
printf 'build-engine: in %s: %s\n' "$folder" "$(cd "$folder" && ls | tr '\n' ' ')"

#!/usr/bin/env bash
# fuzz/run.sh [PARSER ...]: builds the fuzzers with clang and runs each for FUZZ_SECONDS (default 600), one after the other.
#
# They begin with PARSER's inputs in corpus.tar.gz. New inputs that reach new code go to build/fuzz/found/PARSER, inputs that crash, leak or take longer than
# 20 s to build/fuzz/faults/PARSER; the name of any such file is printed and the status is then 1. Each run ends with a line of counts.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-600}
parsers=("$@")
[ ${#parsers[@]} -gt 0 ] || mapfile -t parsers < <(cd fuzz && ls ./*_fuzz.cpp | sed -E 's|./(.*)_fuzz.cpp|\1|')

command -v clang++ >/dev/null || { echo "fuzz: no clang++ here; install clang, libclang-rt-dev and libomp-dev" >&2; exit 1; }
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz -j "${JOBS:-$(scripts/jobs.sh)}" --target "${parsers[@]/%/_fuzz}"

status=0
for parser in "${parsers[@]}"; do
  found=build/fuzz/found/$parser faults=build/fuzz/faults/$parser log=build/fuzz/$parser.log
  mkdir -p "$found" "$faults"
  seeds=("build/fuzz/fuzz/corpus/$parser")
  [ "$parser" != recipe ] || seeds+=(recipes)
  build/fuzz/bin/"$parser"_fuzz "$found" "${seeds[@]}" -max_total_time="$seconds" -timeout=20 -max_len=16384 -rss_limit_mb=4096 \
    -artifact_prefix="$faults/" -print_final_stats=1 >"$log" 2>&1 || status=1
  inputs=$(sed -nE 's/^stat::number_of_executed_units: +//p' "$log" | tail -n 1)
  echo "fuzz: $parser: ${inputs:-0} inputs in $seconds s, $(find "$faults" -type f | wc -l) faults"
  find "$faults" -type f
done
exit $status

#!/usr/bin/env bash
# scripts/run_benchmarks.sh [benchmark arguments]: runs every program build/release/bin/*_bench, each measurement briefly. Exit 1 where one of
# them finds its answers wrong.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
programs=(build/release/bin/*_bench)
[ ${#programs[@]} -gt 0 ] || { echo "run_benchmarks: no program build/release/bin/*_bench; make bench makes them" >&2; exit 1; }
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
for program in "${programs[@]}"; do
  echo "== ${program##*/}"
  small=()
  [ "${program##*/}" = gru_bench ] && small=(--benchmark_filter=/64/)  # the others take seconds a pass
  "$program" --benchmark_min_time=0.05 "${small[@]}" "$@" | tee -a "$lines"
done
if grep 'ERROR OCCURRED' "$lines" >&2; then
  echo "run_benchmarks: the measurements above were not taken: their answers are wrong" >&2
  exit 1
fi

#!/usr/bin/env bash
# scripts/run_benchmarks.sh [benchmark arguments]: runs every program build/release/bin/*_bench, each measurement briefly.
set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
programs=(build/release/bin/*_bench)
[ ${#programs[@]} -gt 0 ] || { echo "run_benchmarks: no program build/release/bin/*_bench; make build makes them" >&2; exit 1; }
for program in "${programs[@]}"; do
  echo "== ${program##*/}"
  small=()
  [ "${program##*/}" = gru_bench ] && small=(--benchmark_filter=/64/)  # the others take seconds a pass
  "$program" --benchmark_min_time=0.05 "${small[@]}" "$@"
done

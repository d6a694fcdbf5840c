#!/usr/bin/env bash
# Trains three objectives on drawn shapes with a colour bias, two seeds each at the same budget, and prints what was measured.
set -euo pipefail
cd "$(dirname "$0")/.."
debias=${DEBIAS_BINARY:-build/release/bin/debias}
runs=${DEMO_RUNS:-runs/demo}
objectives="infonce debiased_negatives debiased_positives"
seeds="1 2"

start=$(date +%s)
for objective in $objectives; do
  for seed in $seeds; do
    echo "== $objective, seed $seed" >&2
    "$debias" train "recipes/demo/$objective.yaml" "seed=$seed" "output=$runs/$objective-$seed" --overwrite --json > /dev/null
  done
done
python3 scripts/demo_table.py "$runs" "$(($(date +%s) - start))"

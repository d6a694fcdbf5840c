#!/usr/bin/env bash
# Trains on drawn shapes with a colour bias, two seeds of each objective at the same budget, and prints what was measured: first without
# labels (infonce and two that correct sampling bias), then with them (eps_supinfonce without and with FairKL, which corrects data bias).
set -euo pipefail
cd "$(dirname "$0")/.."
debias=${DEBIAS_BINARY:-build/release/bin/debias}
runs=${DEMO_RUNS:-runs/demo}
start=$(date +%s)
folders=()

train() {  # RECIPES..., two seeds each
  local recipe seed
  for recipe in "$@"; do
    for seed in 1 2; do
      echo "== $recipe, seed $seed" >&2
      "$debias" train "recipes/demo/$recipe.yaml" "seed=$seed" "output=$runs/$recipe-$seed" --overwrite --json >/dev/null
      folders+=("$runs/$recipe-$seed")
    done
  done
}

train infonce debiased_negatives debiased_positives
python3 -B scripts/demo_table.py first "$runs"
train eps_supinfonce eps_supinfonce_fairkl
python3 -B scripts/demo_table.py second "$runs"
echo "$(($(date +%s) - start)) s in all; one folder a run under $runs/. The report:"
"$debias" report "${folders[@]}" --out "$runs/report.html"

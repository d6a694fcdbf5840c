#!/usr/bin/env bash
# Trains on drawn shapes, three seeds of each recipe below and as many runs at a time as there are cores, and prints what was measured:
# first without labels (infonce and objectives that correct sampling bias), then with them (eps_supinfonce without and with FairKL, which corrects data bias).
set -euo pipefail
cd "$(dirname "$0")/.."
export DEBIAS_BINARY=${DEBIAS_BINARY:-build/release/bin/debias} DEMO_RUNS=${DEMO_RUNS:-runs/demo}
start=$(date +%s)
folders=()

train_one() {  # quiet: several progress lines at a time cannot be read
  local run=$DEMO_RUNS/$1-$2 said
  echo "== $1, seed $2" >&2
  said=$("$DEBIAS_BINARY" train "recipes/demo/$1.yaml" "seed=$2" "output=$run" train.threads=1 train.workers=0 --overwrite --json 2>&1 >/dev/null) || {
    echo "$said" >&2
    return 255  # ends xargs
  }
}
export -f train_one

train() {  # RECIPES..., three seeds each
  local recipe seed pairs=()
  for recipe in "$@"; do
    for seed in 1 2 3; do
      pairs+=("$recipe" "$seed")
      folders+=("$DEMO_RUNS/$recipe-$seed")
    done
  done
  printf '%s\0' "${pairs[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c 'train_one "$@"' train_one
}

train infonce debiased_negatives debiased_positives
python3 -B scripts/demo_table.py first "$DEMO_RUNS"
train eps_supinfonce eps_supinfonce_fairkl
python3 -B scripts/demo_table.py second "$DEMO_RUNS"
echo "$(($(date +%s) - start)) s in all; one folder a run under $DEMO_RUNS/. The report:"
"$DEBIAS_BINARY" report "${folders[@]}" --out "$DEMO_RUNS/report.html"

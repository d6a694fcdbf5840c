#!/usr/bin/env bash
# demo.sh [--check]: trains a plain loss and its correction on synthetic shapes, twice, and prints what each correction gained: FairKL where
# the background colour predicts the class (with labels), then corrected positives (without labels). SEEDS=N trains seeds 1 to N of each
# (default 1); --check looks at SEEDS alone. As many runs at a time as there are cores, one thread each.
set -euo pipefail
case "${*:-}" in "" | --check) ;; *) echo "usage: scripts/demo.sh [--check]; make demo builds the program first, SEEDS=3 gives intervals over seeds" >&2; exit 2 ;; esac
cd "$(dirname "$0")/.."
export DEBIAS_BINARY=${DEBIAS_BINARY:-build/release/bin/debias} DEMO_RUNS=${DEMO_RUNS:-runs/demo}
seeds=${SEEDS:-1}
if [[ ! $seeds =~ ^([1-9]|10)$ ]]; then
  echo "demo: SEEDS='$seeds' is not a number of seeds from 1 to 10; try SEEDS=3" >&2
  exit 2
fi
[ "${1:-}" != --check ] || exit 0
command -v "$DEBIAS_BINARY" >/dev/null || { echo "demo: there is no program $DEBIAS_BINARY yet; run make demo" >&2; exit 2; }
report=$(realpath -m "$DEMO_RUNS/report.html")
rm -f "$report"  # an earlier demo's would stand beside what this one leaves where it is stopped
# Who stops this script stops its trainings.
runs=""
trap '[ -z "$runs" ] || kill -TERM -- "-$runs" 2>/dev/null; wait; exit 143' TERM INT HUP
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)  # which obeys both
folders=()

train_one() {  # quiet: several progress lines at a time cannot be read
  local said status=0
  said=$("$DEBIAS_BINARY" train "recipes/demo/$1.yaml" "seed=$2" "output=$DEMO_RUNS/$1-$2" train.threads=1 train.workers=0 \
    --overwrite --json 2>&1 >/dev/null) || status=$?
  [ "$status" = 0 ] && return
  printf 'demo: %s, seed %s, ended with %s\n%s\n' "$1" "$2" "$status" "$said" >&2
  return 255  # ends xargs
}
export -f train_one

train() {  # RECIPES..., each seed of them; the last seed's runs end together
  local recipe seed pairs=()
  for seed in $(seq "$seeds"); do
    for recipe in "$@"; do
      pairs+=("$recipe" "$seed")
      folders+=("$DEMO_RUNS/$recipe-$seed")
    done
  done
  # What xargs itself says of a failing run would follow the run's own message.
  set -m  # as a group of processes
  { printf '%s\0' "${pairs[@]}" | xargs -0 -n 2 -P "$cores" bash -c 'train_one "$@" 2>&3' train_one 2>/dev/null; } 3>&2 &
  runs=$!
  set +m
  wait "$runs" || exit 1
  runs=""
}

networks="$((2 * seeds)) small networks" half="half of them" wait=""
[ "$seeds" != 1 ] || networks="Two small networks" half="one of them" wait=" (up to a minute)"
echo "1 of 2. $networks learn ten shapes whose background colour predicts the class, $half with FairKL$wait:"
train eps_supinfonce eps_supinfonce_fairkl
python3 -B scripts/demo_table.py labels "$DEMO_RUNS" "$seeds"
echo "2 of 2. $networks learn ten shapes without labels, $half with corrected positives$wait:"
train infonce debiased_positives
python3 -B scripts/demo_table.py no_labels "$DEMO_RUNS" "$seeds"
"$DEBIAS_BINARY" report "${folders[@]}" --out "$report" >/dev/null
echo "All $((4 * seeds)) networks took $SECONDS s."
python3 -B scripts/demo_table.py sentence "$DEMO_RUNS" "$seeds"
echo "$report"

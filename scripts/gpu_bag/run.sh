#!/usr/bin/env bash
# run.sh [--device cuda | cpu] [--only STAGE,STAGE...] [--dry-run]: what a GPU shows in ten minutes, from this folder alone: without a network
# and without root. It needs python3 with torch for CUDA, make and g++ 12 or newer. scripts/gpu_day.sh --bag made it; an hour is gpu_day.sh.
#
# Each stage ends by itself within its seconds and keeps what it found in out/STAGE.log; a stage that fails or ends late stops no other.
# out/results.txt has all of them and a table. A second call goes on: what is built stays built, a training is resumed. Exit 1 if one did not pass.
# DEBIAS names another program than the one that is built.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 2
export NO_COLOR=1 LC_ALL=C OUT=$PWD/out
usage="usage: run.sh [--device cuda | cpu] [--only STAGE,STAGE...] [--dry-run]"
stop() { printf 'run.sh: %s\n' "$*" >&2; exit 2; }

stages=(
  "unpack|45|the source and the packages are here"
  "losses|100|values and gradients of all losses in Python are those of float64 on the CPU; times, memory and waits are printed"
  "build|205|the program is built against this torch"
  "certify|60|debias certify device: every claim holds"
  "methods|70|each method trains in bf16; a killed training resumes"
  "mnist|110|Biased-MNIST with the paper's network: trained epochs, accuracy beside the published one; go on with --only mnist"
)

tree() { echo "$PWD"/debias-*/; }

stage_unpack() {
  nvidia-smi 2>/dev/null || echo "no nvidia-smi"
  nproc
  python3 -c 'import sys, torch; print(sys.version, torch.__version__, torch.version.cuda, torch.cuda.is_available())'
  # python3 unpacks where the machine has no xz. What ended half way is unpacked again.
  [ -e "$OUT/unpacked" ] || python3 -c 'import tarfile; tarfile.open("debias.tar.xz").extractall(".")' && touch "$OUT/unpacked"
}

stage_losses() { DEBIAS_ENGINE=none PYTHONPATH=$(tree)python${PYTHONPATH:+:$PYTHONPATH} python3 -B losses.py --device "$device" --seconds 90; }

stage_build() {
  make -C "$(tree)" build LIBTORCH="$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')"
  "$bin" --version
}

stage_certify() { "$bin" certify device --device "$device"; }

# train NAME WORDS...: a short training of synthetic shapes; the last lines of what it printed.
train() {
  local name=$1 precision=bf16
  shift
  [ "$device" = cuda ] || precision=fp32  # processors without instructions for bfloat16 take a hundred times as long
  "$bin" train demo/infonce "train.device=$device" train.precision=$precision 'evaluate={}' "output=$OUT/runs/$name" "$@" >"$OUT/$name.txt" 2>&1
  local code=$?
  head -n 2 "$OUT/runs/$name/train.log"
  tail -n 2 "$OUT/$name.txt"
  echo "$name: exit code $code"
  return $code
}

epochs_of() { grep -c '"train_loss"' "$OUT/runs/$1/metrics.jsonl" 2>/dev/null; }

stage_methods() {
  local failed=0
  train simclr method=simclr train.epochs=2 --overwrite || failed=1
  train moco method=moco train.epochs=2 --overwrite || failed=1
  train cmc method=cmc 'views={count: 1, steps: [random_resized_crop: {size: 28}, rgb_to_lab]}' train.epochs=2 --overwrite || failed=1
  rm -rf "$OUT/runs/killed"
  train killed train.epochs=12 &
  until [ "$(epochs_of killed)" -ge 2 ] 2>/dev/null || ! jobs -r | grep -q .; do sleep 0.2; done
  pkill -KILL -f "output=$OUT/runs/killed" && wait
  echo "killed after epoch $(epochs_of killed)"
  train killed train.epochs=12 --resume || failed=1
  return $failed
}

# Ends by itself: three trainings are stopped with checkpoints. It passes when each has trained an epoch.
stage_mnist() {
  local words=() code=0
  [ "$device" = cuda ] || words=(train.device=cpu train.precision=fp32 data.train.hold_out=59488)  # two batches an epoch
  timeout --signal=TERM 95 "$bin" sweep mnist.yaml --jobs 3 "output=$OUT/runs/gpu-bag" "${words[@]}" || code=$?
  [ $code = 0 ] || [ $code = 124 ] || return $code
  [ "$(find "$OUT/runs/gpu-bag" -name metrics.jsonl -exec grep -l '"train_loss"' {} + | wc -l)" = 3 ]
}

# What the sweep's runs reached so far, also where the stage ended late.
report_mnist() {
  python3 -B - "$OUT/runs/gpu-bag" <<'PYTHON'
import json, pathlib, sys
published = {"ce": 0.795, "ce_fairkl": 0.9485, "eps_supinfonce_fairkl": 0.970}
for file in sorted(pathlib.Path(sys.argv[1]).rglob("metrics.jsonl")):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    epochs = sum("train_loss" in line for line in lines)
    found = [line["test.acc1"] for line in lines if "test.acc1" in line]
    variant = next((part for part in file.parts if part in published), "?")
    print(f"{variant}, {file.parent.name}: {epochs} epochs, test.acc1 {found[-1] if found else 'not evaluated yet'}, published after 80: {published.get(variant)}")
PYTHON
}

run_stage() {
  local name=$1 limit=$2 passes=$3 start=$SECONDS code=0 outcome=passed
  printf '=== %s: at most %s s; passes when %s\n' "$name" "$limit" "$passes"
  timeout --kill-after=5 "$limit" bash "$0" --stage "$name" --device "$device" >"$OUT/$name.log" 2>&1 </dev/null || code=$?
  cat "$OUT/$name.log"
  [ "$name" != mnist ] || report_mnist
  [ $code = 0 ] || outcome="failed ($code)"
  [ $code != 124 ] && [ $code != 137 ] || outcome="late"
  printf '%-9s%-12s%5s s  %s\n' "$name" "$outcome" $((SECONDS - start)) "$passes" >>"$OUT/table"
}

device=cuda only="" stage="" dry_run=""
while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry_run=yes ;;
    --device | --only | --stage)
      [ $# -gt 1 ] || stop "$1 needs a value; $usage"
      printf -v "${1#--}" '%s' "$2"
      shift ;;
    *) stop "unknown argument $1; $usage" ;;
  esac
  shift
done
case "$device" in cuda | cpu) ;; *) stop "--device '$device': give cuda or cpu" ;; esac
names=$(printf '%s\n' "${stages[@]%%|*}")
for name in ${only//,/ }; do
  grep -qx -- "$name" <<<"$names" || stop "unknown stage '$name'; the stages are ${names//$'\n'/ }"
done
if [ -n "$stage" ]; then
  bin=${DEBIAS:-$(tree)build/release/bin/debias}
  "stage_$stage"
  exit
fi
mkdir -p "$OUT"
: >"$OUT/table"
{
  for line in "${stages[@]}"; do
    IFS='|' read -r name limit passes <<<"$line"
    [ -z "$only" ] || [[ ,$only, == *",$name,"* ]] || continue
    if [ -n "$dry_run" ]; then printf '%-9sat most %4s s  passes when %s\n' "$name" "$limit" "$passes"; else run_stage "$name" "$limit" "$passes"; fi
  done
  cat "$OUT/table"
} 2>&1 | tee "$OUT/results.txt"
! grep -qvE '^[a-z]+ +passed' "$OUT/table"

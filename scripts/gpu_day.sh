#!/usr/bin/env bash
# scripts/gpu_day.sh [--dry-run] [--device cuda | cpu] [--out DIR] [--only STEP,STEP...] | --bag: checks debias on a machine with NVIDIA GPUs, in
# about an hour: build, self-tests, trainings on both devices, kill and resume, several processes, the Python wheel, times of a step.
#
# DIR/results.txt (default: build/gpu-day) has the output of every step, then a table of passed, failed and skipped steps. Its last line is
# the same as one JSON object, with the numbers that were measured. A failed step does not stop the others. Exit 1 where one failed.
# --bag makes build/gpu-bag for a GPU that is lent for ten minutes, where neither root nor a network is: source, packages, data and run.sh.
# --dry-run prints the steps. --device cpu rehearses on the CPU what needs no GPU, with the program that is built. DEBIAS names another
# program than build/release/bin/debias.
set -euo pipefail
caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export NO_COLOR=1 LC_ALL=C
debias=${DEBIAS:-build/release/bin/debias}
usage="usage: scripts/gpu_day.sh [--dry-run] [--device cuda | cpu] [--out DIR] [--only STEP,STEP...] | --bag"
least_driver=580  # of CUDA 13
skipped=77        # exit code of a step that cannot be tried here

# Name, time limit in seconds, and when it passes.
steps=(
  "facts|60|nvidia-smi lists a GPU, and its driver is $least_driver or newer"
  "build|5400|scripts/bootstrap.sh --cuda and make everything succeed"
  "libraries|120|libtorch's CUDA library and libdebias_nccl load"
  "device|300|a training with device auto names the GPU in the first line of its log"
  "certify|1800|debias certify device: every claim holds"
  "certify_moco|1800|debias certify device with a queue and a momentum copy: every claim holds"
  "certify_ranks|900|debias certify ranks: every claim holds (on the CPU)"
  "certify_gpu_ranks|900|debias certify ranks with a GPU for each of two processes: every claim holds"
  "tests|1200|the tests of devices, ranks and self-tests pass"
  "accuracy|900|kNN accuracy after a training on the GPU is within 5 points of the CPU's"
  "bf16|900|kNN accuracy after a training in bf16 is within 5 points of float32's"
  "resume|900|a killed training resumes on the GPU; its loss is within 1 % of an undisturbed one's"
  "evaluation|300|kNN accuracy of one run, evaluated on the GPU, is within 1 point of the CPU's"
  "processes|900|a process for each GPU trains through NCCL; accuracy is within 5 points of one GPU's"
  "lost_rank|300|a killed rank ends the training within 60 s, with exit code 5"
  "wheel|5400|the Python wheel builds, and its tests of devices pass on the GPU"
  "timings|900|a step of ResNet-18 is timed in float32 and bf16"
)

say() { printf '%s\n' "$*"; }
stop() { printf 'gpu_day: %s\n' "$*" >&2; exit 2; }
skip() { say "skipped: $*"; exit $skipped; }
measured() { say "measured: $1 $2"; }
needs_gpu() { [ "$device" = cuda ] || skip "needs a GPU"; }
gpu_count() { nvidia-smi --query-gpu=uuid --format=csv,noheader | wc -l; }

# value FILE KEY...: what lies below these keys of a JSON object.
value() {
  python3 -B - "$@" <<'PYTHON'
import json, sys
found = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    found = found[key]
print(found)
PYTHON
}
# compare WHAT A B MOST: prints both, and fails where they differ by more than MOST.
compare() {
  python3 -B - "$@" <<'PYTHON'
import sys
what, a, b, most = sys.argv[1], *map(float, sys.argv[2:])
print(f"{what}: {a:.4f} and {b:.4f}, {abs(a - b):.4f} apart, at most {most:g}")
sys.exit(not abs(a - b) <= most)
PYTHON
}
times() { python3 -c 'import sys; print(float(sys.argv[1]) * float(sys.argv[2]))' "$1" "$2"; }
# whether_same NAME A B: measures 1 where two files hold the same bytes, else 0.
whether_same() { if cmp -s "$2" "$3"; then measured "$1" 1; else measured "$1" 0; fi; }

# train_run NAME WORDS...: a run in the step's folder; NAME.json has what it printed.
train_run() {
  local name=$1
  shift
  say "\$ debias train $*"
  "$debias" train "$@" "output=$work/$name" --overwrite --json >"$work/$name.json"
}
first_line() { sed -n 1p "$1/train.log"; }
small=(demo/debiased_negatives)

step_facts() {
  local driver
  needs_gpu
  nvidia-smi --query-gpu=index,name,uuid,driver_version,compute_cap,memory.total,mig.mode.current --format=csv
  nvidia-smi topo -m || true
  nproc
  free -g || true
  uname -a
  driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
  measured gpus "$(gpu_count)"
  measured driver "${driver%%.*}"
  [ "${driver%%.*}" -ge $least_driver ] || { say "driver $driver is older than $least_driver, which CUDA 13 needs"; return 1; }
}

step_build() {
  needs_gpu
  scripts/bootstrap.sh --cuda
  make everything
}

step_libraries() {
  needs_gpu
  scripts/check_cuda.sh "$(readlink -f build/libtorch)"
}

step_device() {
  train_run auto "${small[@]}" train.epochs=1 'evaluate={}' "train.device=$auto"
  first_line "$work/auto"
  case "$(first_line "$work/auto")" in
    *"device: $device"*) ;;
    *) return 1 ;;
  esac
}

step_certify() { "$debias" certify device --device "$device"; }

step_certify_moco() {
  "$debias" certify device --device "$device" 'objective={name: infonce}' 'method={name: moco, queue: 512}'
}

step_certify_ranks() { "$debias" certify ranks "${small[@]}" train.batch_size=64 --ranks 2 --steps 6; }

step_certify_gpu_ranks() {
  needs_gpu
  [ "$(gpu_count)" -ge 2 ] || skip "needs two GPUs, found $(gpu_count)"
  "$debias" certify ranks "${small[@]}" train.batch_size=64 --ranks 2 --steps 6 --device "$device"
}

# some_tests PROGRAM FILTER: its tests of that filter, of which there have to be some.
some_tests() {
  local count
  count=$("build/release/bin/$1" --gtest_filter="$2" --gtest_list_tests | grep -c '^  ' || true)
  [ "$count" -gt 0 ] || { say "$1 has no test of $2; mend the filter in scripts/gpu_day.sh"; return 1; }
  "build/release/bin/$1" --gtest_filter="$2"
}

step_tests() {
  build/release/bin/runtime_test
  build/release/bin/ranks_test
  some_tests loader_test '*Ahead*'
  some_tests train_test '*Device*:*Waits*:*Precision*'
  some_tests encoders_test '*Bf16*'
  some_tests apps_test '*Certificates*'
}

knn() { value "$work/$1.json" metrics test.knn_acc1; }

step_accuracy() {
  train_run here "${small[@]}" "train.device=$device"
  train_run cpu "${small[@]}" train.device=cpu
  measured knn_acc1 "$(knn here)"
  compare "kNN accuracy, $device and cpu" "$(knn here)" "$(knn cpu)" 0.05
}

step_bf16() {
  needs_gpu  # processors without instructions for bfloat16 take a hundred times as long
  local words=("${small[@]}" encoder.stride=2 "train.device=$device")
  train_run fp32 "${words[@]}"
  train_run bf16 "${words[@]}" train.precision=bf16
  measured knn_acc1 "$(knn bf16)"
  compare "kNN accuracy, bf16 and float32" "$(knn bf16)" "$(knn fp32)" 0.05
}

last_loss() {
  python3 -B - "$work/$1/metrics.jsonl" <<'PYTHON'
import json, sys
losses = [line["loss"] for line in map(json.loads, open(sys.argv[1])) if "loss" in line]
print(losses[-1])
PYTHON
}

epochs_in() { { grep -o '"train_loss"' "$work/$1/metrics.jsonl" 2>/dev/null || true; } | wc -l; }

step_resume() {
  local words=("${small[@]}" "train.device=$device" train.epochs=26 train.threads=1 'evaluate={}') process code=0
  train_run whole "${words[@]}"
  train_run twin "${words[@]}"
  whether_same same_bytes_twice "$work/whole/metrics.jsonl" "$work/twin/metrics.jsonl"
  "$debias" train "${words[@]}" "output=$work/killed" --overwrite >"$work/killed.log" 2>&1 &
  process=$!
  for ((i = 0; i < 6000 && $(epochs_in killed) < 3; ++i)); do sleep 0.05; done
  kill -KILL $process || true
  wait $process || code=$?
  say "ended with exit code $code after $(epochs_in killed) epochs"
  [ $code = 137 ] && [ "$(epochs_in killed)" -ge 3 ] && [ "$(epochs_in killed)" -lt 26 ]
  "$debias" train "${words[@]}" "output=$work/killed" --resume --json >"$work/killed.json"
  whether_same same_bytes_resumed "$work/whole/metrics.jsonl" "$work/killed/metrics.jsonl"
  compare "last loss, killed and undisturbed" "$(last_loss killed)" "$(last_loss whole)" "$(times 0.01 "$(last_loss whole)")"
}

step_evaluation() {
  train_run run "${small[@]}" "train.device=$device" train.epochs=3 'evaluate={}'
  "$debias" eval knn "$work/run" --device "$device" --json >"$work/there.json"
  "$debias" eval knn "$work/run" --device cpu --json >"$work/cpu.json"
  compare "kNN accuracy, $device and cpu" "$(value "$work/there.json" protocols knn metrics test.knn_acc1)" \
    "$(value "$work/cpu.json" protocols knn metrics test.knn_acc1)" 0.01
}

# One for each GPU; two in a rehearsal.
count_ranks() {
  ranks=2
  [ "$device" = cuda ] || return 0
  ranks=$(gpu_count)
  [ "$ranks" -gt 1 ] || skip "needs two GPUs or more"
}

step_processes() {
  local ranks
  count_ranks
  train_run one "${small[@]}" "train.device=$device"
  train_run all "${small[@]}" "train.device=$device" --ranks "$ranks"
  head -n 5 "$work/all/train.log"
  [ "$device" = cpu ] || grep -q 'tensors cross between devices, through NCCL' "$work/all/train.log"
  compare "kNN accuracy, $ranks processes and one" "$(knn all)" "$(knn one)" 0.05
}

# last_child PID: the last process that it has started and that runs, or nothing.
last_child() {
  local file pid parent last=""
  for file in /proc/[0-9]*/stat; do
    read -r pid parent < <(sed -nE 's/^([0-9]+) \(.*\) . ([0-9]+) .*/\1 \2/p' "$file" 2>/dev/null) || continue
    [ "$parent" != "$1" ] || [ "$pid" -le "${last:-0}" ] || last=$pid
  done
  echo "$last"
}

step_lost_rank() {
  local ranks launcher rank start code=0
  count_ranks
  "$debias" train "${small[@]}" "train.device=$device" train.epochs=10000 'evaluate={}' "output=$work/lost" --overwrite --ranks "$ranks" \
    >"$work/lost.log" 2>&1 &
  launcher=$!
  trap "kill -KILL $launcher 2>/dev/null || true" EXIT  # expanded now: the variable ends with the function
  for ((i = 0; i < 600; ++i)); do
    [ ! -s "$work/lost/metrics.jsonl" ] || break
    sleep 0.2
  done
  rank=$(last_child $launcher)
  [ -n "$rank" ] || { say "the training has started no process of its own; its log is below"; tail -n 5 "$work/lost.log"; return 1; }
  start=$SECONDS
  kill -KILL "$rank"
  wait $launcher || code=$?
  tail -n 2 "$work/lost.log"
  measured seconds_to_end $((SECONDS - start))
  say "exit code $code"
  [ $code = 5 ] && [ $((SECONDS - start)) -le 60 ]
}

step_wheel() {
  needs_gpu
  scripts/bootstrap.sh --python
  scripts/build_wheel.sh "$(scripts/torch_version.sh)"
  scripts/test_python.sh build/python-env -k test_device
}

step_timings() {
  local precision batch batches=(256 1024) name
  [ "$device" = cuda ] || batches=(32)
  for precision in fp32 bf16; do
    for batch in "${batches[@]}"; do
      name=$precision-$batch
      "$debias" train demo/infonce --dry-run --json "train.device=$device" "train.precision=$precision" "train.batch_size=$batch" \
        'encoder={name: resnet18, stem: cifar}' "data.train.train_count=$((8 * batch))" 'evaluate={}' >"$work/$name.json"
      measured "seconds_per_step_$name" "$(value "$work/$name.json" seconds_per_step)"
      measured "seconds_per_cached_step_$name" "$(value "$work/$name.json" seconds_per_cached_step)"
    done
  done
}

# From DIR/steps (name, outcome, seconds and what passes, a line each) and the logs: the table, and JSON in one line.
summarise() {
  python3 -B - "$1" "$device" <<'PYTHON'
import json, pathlib, sys
folder, device = pathlib.Path(sys.argv[1]), sys.argv[2]
steps = []
for line in (folder / "steps").read_text().splitlines():
    name, outcome, seconds, passes = line.split("|", 3)
    lines = (folder / f"{name}.log").read_text(errors="replace").splitlines()
    numbers = dict(text.split()[1:3] for text in lines if text.startswith("measured: "))
    last = next((text for text in reversed(lines) if text.strip()), "")
    steps.append({"step": name, "outcome": outcome, "seconds": int(seconds), "passes_when": passes,
                  "measured": {key: float(number) for key, number in numbers.items()}, "last_line": last})
counts = {outcome: sum(step["outcome"] == outcome for step in steps) for outcome in ("passed", "failed", "skipped")}
print(f"\n{'step':<15}{'outcome':<9}{'s':>6}  passes when")
for step in steps:
    print(f"{step['step']:<15}{step['outcome']:<9}{step['seconds']:>6}  {step['passes_when']}")
    if step["outcome"] != "passed":
        print(f"{'':<32}{step['last_line'][:160]}")
    for key, number in step["measured"].items():
        print(f"{'':<32}{key} {number:g}")
print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
print(json.dumps({"device": device, **counts, "steps": steps}))
PYTHON
}

run_step() {
  local name=$1 limit=$2 passes=$3 start=$SECONDS code=0 outcome=passed
  say "=== $name: passes when $passes"
  timeout --kill-after=30 "$limit" bash scripts/gpu_day.sh --step "$name" --device "$device" --out "$out" \
    >"$out/$name.log" 2>&1 </dev/null &
  running=$!
  wait $running || code=$?
  cat "$out/$name.log"
  [ $code = 0 ] || outcome=failed
  [ $code != $skipped ] || outcome=skipped
  [ $code != 124 ] || say "ended after its limit of $limit s" | tee -a "$out/$name.log"
  say "=== $name $outcome after $((SECONDS - start)) s"
  printf '%s|%s|%s|%s\n' "$name" "$outcome" $((SECONDS - start)) "$passes" >>"$out/steps"
}

run_steps() {
  local line name limit passes
  trap 'kill -TERM "$running" 2>/dev/null; exit 130' INT TERM  # timeout has a process group of its own
  rm -rf "${out:?}/work"
  for line in "${steps[@]}"; do rm -f "$out/${line%%|*}.log"; done
  : >"$out/steps"
  for line in "${steps[@]}"; do
    IFS='|' read -r name limit passes <<<"$line"
    is_chosen "$name" && run_step "$name" "$limit" "$passes"
  done
  summarise "$out"
}

is_chosen() { [ -z "$only" ] || [[ ,$only, == *",$1,"* ]]; }

print_steps() {
  local line name limit passes
  for line in "${steps[@]}"; do
    IFS='|' read -r name limit passes <<<"$line"
    ! is_chosen "$name" || printf '%-17s at most %5s s  passes when %s\n' "$name" "$limit" "$passes"
  done
  say "nothing was run; results would be in $out/results.txt"
}

check_names() {
  local name known
  known=$(printf '%s\n' "${steps[@]%%|*}")
  for name in ${only//,/ }; do
    grep -qx "$name" <<<"$known" || stop "unknown step '$name'; the steps are ${known//$'\n'/ }"
  done
}

# build/gpu-bag: one archive of the bundle (without the tools that no build needs), Biased-MNIST's files and CIFAR-10's test images; and gpu_bag/.
make_bag() {
  local bag=build/gpu-bag data=${DEBIAS_TEST_DATA:-../shared/data} file
  [ -f "$data/mnist/train-images-idx3-ubyte.gz" ] && [ -f "$data/cifar10-jpeg.tar.zst" ] ||
    stop "--bag: $data lacks mnist/ or cifar10-jpeg.tar.zst; name a folder that has both by DEBIAS_TEST_DATA"
  rm -rf $bag
  mkdir -p $bag/tree/data/mnist
  scripts/bootstrap.sh --bundle $bag/bundle.tar
  tar -xf $bag/bundle.tar -C $bag/tree
  rm -f $bag/bundle.tar $bag/tree/debias-*/build/packages/usr/bin/{cpack,ctest}
  for file in "$data"/mnist/*.gz; do gunzip -c "$file" >"$bag/tree/data/mnist/$(basename "$file" .gz)"; done
  tar --zstd -xf "$data/cifar10-jpeg.tar.zst" -C $bag/tree/data --wildcards 'test/*' || tar --zstd -xf "$data/cifar10-jpeg.tar.zst" -C $bag/tree/data --wildcards '*/test/*'
  tar -C $bag/tree --owner=0 --group=0 --numeric-owner --sort=name -c . | xz -T0 >$bag/debias.tar.xz
  rm -rf $bag/tree
  cp scripts/gpu_bag/* $bag/
  say "$bag: $(du -sm $bag | cut -f 1) MB; on the machine with the GPU: $bag/run.sh"
}

device=cuda out=$PWD/build/gpu-day only="" step="" dry_run="" running=""
while [ $# -gt 0 ]; do
  case "$1" in
    --dry-run) dry_run=yes ;;
    --bag)
      [ $# = 1 ] || stop "--bag stands alone; $usage"
      make_bag
      exit
      ;;
    --device | --out | --only | --step)
      [ $# -gt 1 ] || stop "$1 needs a value; $usage"
      printf -v "${1#--}" '%s' "$2"
      shift
      ;;
    *) stop "unknown argument $1; $usage" ;;
  esac
  shift
done
[[ $out = /* ]] || out=$caller/$out
case "$device" in cuda) auto=auto ;; cpu) auto=cpu ;; *) stop "--device '$device': give cuda or cpu" ;; esac
check_names
if [ -n "$step" ]; then
  work=$out/work/$step
  mkdir -p "$work"
  "step_$step"
elif [ -n "$dry_run" ]; then
  print_steps
else
  mkdir -p "$out"
  [ -e "$out/steps" ] || [ -z "$(ls -A "$out")" ] || stop "--out $out: not empty, and without results of an earlier day; name a new folder"
  run_steps 2>&1 | tee "$out/results.txt"
  if grep -q '|failed|' "$out/steps"; then exit 1; fi
fi

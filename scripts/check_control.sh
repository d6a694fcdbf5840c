#!/usr/bin/env bash
# scripts/check_control.sh [STEPS] [SEED]: holds the control tasks to dm_control over STEPS (1,000) seeded actions a task.
#
# States must be equal (within 1e-12 for ball_in_cup_catch, whose contacts the two versions of MuJoCo round differently), rewards agree to
# 1e-15, pictures at 84 and 100 pixels, after every 100 actions and the last, be equal in all bytes.
# It makes an environment of its own for dm_control (380 MB, build/control-env) and wants a built control_test and a Mesa that draws.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
steps=${1:-1000} seed=${2:-1}
env="${CONTROL_ENV:-$root/build/control-env}"
binary="$root/build/release/bin/control_test"
[ -x "$binary" ] || { echo "check_control: no $binary; run cmake --build --preset release --target control_test" >&2; exit 1; }
if [ ! -x "$env/bin/python" ]; then
  python3 -m venv "$env"
  "$env/bin/pip" install -q --disable-pip-version-check mujoco==2.3.7 dm_control==1.0.14 'numpy<2'
fi
golden=$(mktemp)
trap 'rm -f "$golden"' EXIT
export LP_NUM_THREADS=0 MUJOCO_GL=egl
"$env/bin/python" "$root/tests/control/export_dm_control.py" "$golden" --steps "$steps" --seed "$seed"
DEBIAS_CONTROL_GOLDEN="$golden" "$binary" --gtest_brief=1 --gtest_filter='*DmControl*'

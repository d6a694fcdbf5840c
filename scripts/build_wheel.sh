#!/usr/bin/env bash
# scripts/build_wheel.sh: the wheel of the Python package in dist/, with the engine, and the wheel of its plain half, for every platform. Both
# serve every version of torch.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=build/wheel/tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools" ||
  { echo "build-wheel: python3 -m venv failed; scripts/bootstrap.sh --python installs what it needs" >&2; exit 1; }
scripts/build_engine.sh build/wheel/libraries
rm -rf dist/debias_learn-*.whl python/build python/*.egg-info
DEBIAS_LIBRARIES=$PWD/build/wheel/libraries "$tools/bin/python" -m pip --disable-pip-version-check wheel -q --no-deps -w dist ./python
rm -rf python/build python/*.egg-info
DEBIAS_LIBRARIES=none "$tools/bin/python" -m pip --disable-pip-version-check wheel -q --no-deps -w dist ./python
rm -rf python/build python/*.egg-info
ls -l dist/*.whl

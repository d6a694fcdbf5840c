#!/usr/bin/env bash
# scripts/build_wheel.sh TORCH...: the wheel of the Python package in dist/, with a library for each of these versions of torch (or folders
# of one), and the wheel of its plain half, for every platform and torch. Works without an installed torch.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: scripts/build_wheel.sh TORCH..." >&2; exit 2; }
tools=build/wheel/tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools" ||
  { echo "build-wheel: python3 -m venv failed; scripts/bootstrap.sh --python installs what it needs" >&2; exit 1; }
scripts/build_libraries.sh build/wheel/libraries "$@"
rm -rf dist/debias_learn-*.whl python/build python/*.egg-info
DEBIAS_LIBRARIES=$PWD/build/wheel/libraries "$tools/bin/python" -m pip --disable-pip-version-check wheel -q --no-deps -w dist ./python
rm -rf python/build python/*.egg-info
DEBIAS_LIBRARIES=none "$tools/bin/python" -m pip --disable-pip-version-check wheel -q --no-deps -w dist ./python
rm -rf python/build python/*.egg-info
ls -l dist/*.whl

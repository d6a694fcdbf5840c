#!/usr/bin/env bash
# scripts/test_python.sh ENVIRONMENT [pytest arguments]: makes a virtual environment with torch where there is none, installs the Python
# package into it with the library of build/release, and runs python/tests, which also run the command of build/release. The first time
# downloads torch 2.11.0 with what it brings for GPUs: 2.6 GB, 4.5 GB unpacked; afterwards nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:?usage: scripts/test_python.sh ENVIRONMENT [pytest arguments]}
python=$environment/bin/python
library=$PWD/build/release/python/libdebias_torch.so
export DEBIAS_BINARY=${DEBIAS_BINARY:-$PWD/build/release/bin/debias}

if ! "$python" -c 'import numpy, pytest, setuptools, torch; assert torch.__version__.startswith("2.11.0")' 2>/dev/null; then
  echo "test-python: making $environment; torch 2.11.0 is 4.5 GB unpacked"
  python3 -m venv "$environment" || { echo "test-python: python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
  "$python" -m pip --disable-pip-version-check install -q torch==2.11.0 numpy pytest 'setuptools>=64' wheel
fi
DEBIAS_LIBRARY=$library "$python" -m pip --disable-pip-version-check install -q --no-deps --no-build-isolation --force-reinstall ./python
"$python" -c 'import onnxruntime, safetensors' 2>/dev/null ||
  "$python" -m pip --disable-pip-version-check install -q onnxruntime==1.31.1 safetensors
# From the tests' own folder, so that the installed package is the one that is tested.
cd python/tests
OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} "$(cd ../.. && realpath -s "$python")" -B -m pytest -q -p no:cacheprovider "${@:2}" .

#!/usr/bin/env bash
# scripts/test_python.sh ENVIRONMENT [pytest arguments]: makes a virtual environment with torch where there is none, installs the wheel of
# dist/ into it, and runs python/tests, which also run the command of build/release. The first time downloads torch 2.11.0 with what it
# brings for GPUs: 2.6 GB, 4.5 GB unpacked; afterwards nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:?usage: scripts/test_python.sh ENVIRONMENT [pytest arguments]}
python=$environment/bin/python
export DEBIAS_BINARY=${DEBIAS_BINARY:-$PWD/build/release/bin/debias}
pip() { "$python" -m pip --disable-pip-version-check install -q "$@"; }

if ! "$python" -c 'import numpy, pytest, torch; assert torch.__version__.startswith("2.11.0")' 2>/dev/null; then
  echo "test-python: making $environment; torch 2.11.0 is 4.5 GB unpacked"
  python3 -m venv "$environment" || { echo "test-python: python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
  pip torch==2.11.0 numpy pytest
fi
"$python" -m pip --disable-pip-version-check uninstall -q -y debias 2>/dev/null || true  # what the distribution was called before
pip --no-index --no-deps --force-reinstall dist/debias_learn-*-manylinux*.whl
"$python" -c 'import onnxruntime, safetensors, yaml, pandas' 2>/dev/null || pip onnxruntime==1.31.1 safetensors pyyaml pandas
# What the examples are written for, without a torch of their own choice. Where they cannot be had, the examples are skipped by name.
"$python" -c 'import lightly, pytorch_lightning, pytorch_metric_learning' 2>/dev/null ||
  pip --no-deps torchvision==0.26.0 lightly==1.6.0 pytorch-lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0 tqdm pyyaml pillow \
    pytorch-metric-learning==2.9.0 scipy scikit-learn joblib threadpoolctl ||
  echo "test-python: the libraries of the examples cannot be installed; test_examples.py is skipped" >&2
# From the tests' own folder, so that the installed package is the one that is tested.
cd python/tests
OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} "$(cd ../.. && realpath -s "$python")" -B -m pytest -q -p no:cacheprovider "${@:2}" .

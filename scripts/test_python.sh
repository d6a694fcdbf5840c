#!/usr/bin/env bash
# scripts/test_python.sh ENVIRONMENT [pytest arguments]: makes a virtual environment with torch where there is none, installs the wheel of
# dist/ into it, and runs python/tests, which also run the command of build/release. The first time downloads the torch of the program with what it
# brings for GPUs: 2.6 GB, 4.5 GB unpacked; afterwards nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
environment=${1:?usage: scripts/test_python.sh ENVIRONMENT [pytest arguments]}
python=$environment/bin/python
export DEBIAS_BINARY=${DEBIAS_BINARY:-$PWD/build/release/bin/debias}
pip() { "$python" -m pip --disable-pip-version-check install -q "$@"; }

torch=$(scripts/torch_version.sh)
if [ "$("$python" -c 'import numpy, xdist, torch; print(torch.__version__)' 2>/dev/null | cut -d+ -f1)" != "$torch" ]; then
  echo "test-python: making $environment; torch $torch is 4.5 GB unpacked"
  python3 -m venv "$environment" || { echo "test-python: python3 -m venv failed; on Debian: apt-get install python3-venv" >&2; exit 1; }
  pip "torch==$torch" numpy pytest pytest-xdist
fi
"$python" -m pip --disable-pip-version-check uninstall -q -y debias 2>/dev/null || true  # what the distribution was called before
pip --no-index --no-deps --force-reinstall dist/debias_learn-*-manylinux*.whl
"$python" -c 'import onnxruntime, safetensors, yaml, pandas, mypy, nbformat' 2>/dev/null ||
  pip onnxruntime==1.31.1 safetensors pyyaml pandas mypy nbformat
# What the examples are written for, without a torch of their own choice. Where they cannot be had, the examples are skipped by name.
"$python" -c 'import lightly, pytorch_lightning, pytorch_metric_learning' 2>/dev/null ||
  pip --no-deps torchvision==0.29.2 lightly==1.6.0 pytorch-lightning==2.6.6 lightning-utilities==0.15.3 torchmetrics==1.9.0 tqdm pyyaml pillow \
    pytorch-metric-learning==2.9.0 scipy scikit-learn joblib threadpoolctl ||
  echo "test-python: the libraries of the examples cannot be installed; test_examples.py is skipped" >&2
# Whose losses and models the two towers are compared with; without them those tests are skipped by name.
"$python" -c 'import open_clip, sentence_transformers' 2>/dev/null || pip open_clip_torch==3.3.0 sentence-transformers==6.2.0 ||
  echo "test-python: open_clip and sentence-transformers cannot be installed; the tests beside them are skipped" >&2
# From the tests' own folder, so that the installed package is the one that is tested.
cd python/tests
python=$(cd ../.. && realpath -s "$python")
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
"$python" -B -m pytest -q -p no:cacheprovider -n 2 "${@:2}" .
[ $# -gt 1 ] || DEBIAS_ENGINE=none "$python" -B -m pytest -q -p no:cacheprovider -n 2 test_use.py test_calls.py test_modules.py test_two_tower.py \
  test_cached_step.py test_attributes.py

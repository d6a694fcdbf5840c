#!/usr/bin/env bash
# scripts/check_torch.sh TORCH...: installs the wheel of dist/ beside each of these versions of torch, in an environment of its own in
# build/torch/TORCH, and runs the tests of values, modules, calls and both halves, with the engine and without. Downloads torch (0.6 GB each)
# without NVIDIA's libraries: scripts/torch_stand_ins.py stands in for those that are not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: scripts/check_torch.sh TORCH..." >&2; exit 2; }
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} DEBIAS_BINARY=${DEBIAS_BINARY:-$PWD/build/release/bin/debias}
tests=(test_values.py test_use.py test_distributed.py test_modules.py test_objectives.py test_halves.py test_group_sums.py test_measures.py
  test_two_tower.py test_cached_step.py test_calls.py test_attributes.py test_closed_walk.py test_command.py)

check() {
  local version=$1 place=$PWD/build/torch/$1
  local python=$place/environment/bin/python
  pip() { "$python" -m pip --disable-pip-version-check install -q "$@"; }
  if [ "$("$python" -c 'import importlib.metadata; print(importlib.metadata.version("torch"))' 2>/dev/null | cut -d+ -f1)" != "$version" ]; then
    python3 -m venv "$place/environment"
    pip --no-deps --no-cache-dir "torch==$version"
  fi
  "$python" -c 'import sympy, networkx, numpy, pytest, yaml' 2>/dev/null ||
    pip typing-extensions 'sympy>=1.13.3' filelock jinja2 networkx fsspec numpy pytest pyyaml 'setuptools>=77.0.3'
  pip --no-deps --no-index --force-reinstall dist/debias_learn-*-manylinux*.whl
  if ! "$python" -c 'import torch' 2>/dev/null; then
    scripts/torch_stand_ins.py "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch" "$place/stand-ins"
    export LD_LIBRARY_PATH=$place/stand-ins
  fi
  cd python/tests
  "$python" -c 'import debias; about = debias.about(); assert about["backend"] == "compiled", about; print("check-torch:", about)'
  "$python" -B -m pytest -q -p no:cacheprovider "${tests[@]}"
  DEBIAS_ENGINE=none "$python" -B -m pytest -q -p no:cacheprovider test_values.py test_use.py test_calls.py test_modules.py test_two_tower.py
}

for version in "$@"; do (check "$version"); done

#!/usr/bin/env bash
# scripts/check_torch.sh TORCH: the losses under another version of torch. Builds the compiled half for it, installs both into an environment of
# their own in build/torch/TORCH, and runs the tests of values, modules and both halves, with the compiled half and without. Downloads torch
# (0.6 GB) without NVIDIA's libraries: scripts/torch_stand_ins.py stands in for those that are not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: scripts/check_torch.sh TORCH}
place=$PWD/build/torch/$version
python=$place/environment/bin/python
tools=build/wheel/tools
pip() { "$1" -m pip --disable-pip-version-check "${@:2}"; }

[ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
scripts/build_libraries.sh "$place/libraries" "$version"
if [ "$("$python" -c 'import importlib.metadata; print(importlib.metadata.version("torch"))' 2>/dev/null | cut -d+ -f1)" != "$version" ]; then
  python3 -m venv "$place/environment"
  pip "$python" install -q --no-deps --no-cache-dir "torch==$version"
  pip "$python" install -q typing-extensions 'sympy>=1.13.3' filelock jinja2 networkx fsspec numpy pytest 'setuptools>=77.0.3'
fi
rm -rf "$place/wheel" "$place/stand-ins" python/build python/*.egg-info
DEBIAS_LIBRARIES=$place/libraries pip "$tools/bin/python" wheel -q --no-deps -w "$place/wheel" ./python
rm -rf python/build python/*.egg-info
pip "$python" install -q --no-deps --no-index --force-reinstall "$place"/wheel/*.whl
"$python" -c 'import torch' 2>/dev/null || scripts/torch_stand_ins.py "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch" "$place/stand-ins"
export LD_LIBRARY_PATH=$place/stand-ins${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
tests=(test_values.py test_use.py test_distributed.py test_modules.py test_naive.py test_halves.py test_measures.py test_two_tower.py test_cached_step.py test_calls.py
  test_attributes.py)
cd python/tests
"$python" -c 'import debias; about = debias.about(); assert about["backend"] == "compiled", about; print("check-torch:", about)'
"$python" -B -m pytest -q -p no:cacheprovider "${tests[@]}"
DEBIAS_ENGINE=none "$python" -B -m pytest -q -p no:cacheprovider "${tests[@]}"

#!/usr/bin/env bash
# scripts/check_wheel.sh ENVIRONMENT WHEEL: installs the wheel into a fresh environment, which sees the torch of ENVIRONMENT and nothing else
# of it, and tries it from another folder. Compiles and downloads nothing.
set -euo pipefail
usage="usage: scripts/check_wheel.sh ENVIRONMENT WHEEL"
python=$(realpath -s "${1:?$usage}")/bin/python
wheel=$(realpath "${2:?$usage}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

stop() { printf 'check-wheel: %s\n' "$*" >&2; exit 1; }

bytes=$(stat -c %s "$wheel")
[ "$bytes" -lt 10000000 ] || stop "$wheel has $bytes bytes, 10 MB are the most"
case $wheel in *-py3-none-manylinux_2_*_x86_64.whl) ;; *) stop "$wheel is not for every Python and a manylinux" ;; esac

"$python" -m venv "$work/fresh"
fresh=$work/fresh/bin/python
# torch and what it brings, but no debias of theirs.
"$python" - "$work/torch" >"$("$fresh" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth" <<'PYTHON'
import pathlib, sys, sysconfig
links = pathlib.Path(sys.argv[1])
links.mkdir()
for item in pathlib.Path(sysconfig.get_path("purelib")).iterdir():
    if not item.name.startswith(("debias", "pip", "setuptools", "distutils", "_distutils", "__pycache__")) and item.suffix != ".pth":
        (links / item.name).symlink_to(item)
print(links)
PYTHON
start=$SECONDS
"$fresh" -m pip --disable-pip-version-check install -q --no-index --no-deps "$wheel"
echo "check-wheel: $(basename "$wheel"), $bytes bytes, installed in $((SECONDS - start)) s"
cd "$work"
OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} "$fresh" -B -W error::UserWarning - "$work" <<'PYTHON'
import importlib.metadata, pathlib, re, subprocess, sys
import torch
import debias
fresh = pathlib.Path(sys.argv[1])
assert fresh in pathlib.Path(debias.__file__).parents, debias.__file__
metadata = importlib.metadata.metadata("debias")
assert metadata["License"] == "Apache-2.0" and metadata["Version"] == debias.__version__, metadata
names = {path.name for path in importlib.metadata.files("debias")}
assert {"LICENSE", "LICENSE-carried-libraries.txt", "objectives.json"} <= names, names
# Only torch, libraries of its own folder, and what every Linux has.
own = pathlib.Path(debias.__file__).parent / "lib"
everywhere = re.compile(r"lib(torch_cpu|c10|stdc\+\+|m|gcc_s|c|pthread|dl)\.so|ld-linux")
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for library in own.iterdir():
    shown = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    for needed in re.findall(r"NEEDED.*\[(.*)\]", shown):
        assert everywhere.match(needed) or (own / needed).exists(), (library.name, needed)
loaded = [path for path in mapped if re.search(r"lib(yaml-cpp|fmt|hwy)", path)]
assert loaded and all(pathlib.Path(path).parent == own for path in loaded), loaded
z0, z1 = torch.randn(64, 16, requires_grad=True), torch.randn(64, 16)
loss = debias.DebiasedNegativesLoss(0.5)
loss(z0, z1).backward()
assert loss.fused and z0.grad.isfinite().all()
assert debias.metrics.knn_accuracy(z1, list(range(64)), z1, list(range(64)), k=1) == 1
print(f"check-wheel: torch {torch.__version__}, Python {sys.version.split()[0]}: {loss.evidence}")
PYTHON

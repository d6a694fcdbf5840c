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
case $wheel in
  *-py3-none-manylinux_2_*_x86_64.whl) half=compiled ;;
  *-py3-none-any.whl) half=plain ;;
  *) stop "$wheel is neither for every Python and a manylinux nor for every platform" ;;
esac

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
if [ $half = plain ]; then
  OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} "$fresh" -B -W ignore::UserWarning - <<'PYTHON'
import importlib.metadata
import torch
import debias
about = debias.about()
assert about["backend"] == "plain" and about["debias"] == importlib.metadata.version("debias-learn"), about
assert not [path for path in importlib.metadata.files("debias-learn") if path.suffix == ".so"]
torch.manual_seed(0)
labels, bias, computed = torch.arange(12) % 3, torch.arange(12) % 2, 0
for entry in debias.objectives():
    loss = getattr(debias, debias.class_name(entry["name"]))()
    z = torch.randn((12, 4) if entry["kind"] == "logits" else (12, 2, 8), requires_grad=True)
    given = {"weights": torch.rand(12, 3) + 0.1} if entry["name"] == "softcon" else {"bias_labels": bias}
    value = loss(z) if entry["min_views"] == 2 and not entry["needs_labels"] else loss(z, labels=labels) if entry["min_views"] == 2 else \
        loss(z, labels, **given)
    value.backward()
    computed += bool(value.isfinite() and z.grad.isfinite().all())
assert computed == len(debias.objectives()) == 19, computed
rows, classes = torch.eye(6), list(range(6))
assert debias.metrics.knn_accuracy(rows, classes, rows, classes, k=1) == 1
assert debias.prior.from_labels([0, 0, 1, 1]).tau_plus > 0
debias.TwoTowerLoss()(torch.randn(8, 4, requires_grad=True), torch.randn(8, 4)).backward()
print(f"check-wheel: torch {torch.__version__}, the plain half: {computed} of 19 objectives")
PYTHON
  exit
fi
OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} "$fresh" -B -W error::UserWarning - "$work" <<'PYTHON'
import importlib.metadata, pathlib, re, subprocess, sys
import torch
import debias
fresh = pathlib.Path(sys.argv[1])
assert fresh in pathlib.Path(debias.__file__).parents, debias.__file__
metadata = importlib.metadata.metadata("debias-learn")
assert metadata["License"] == "Apache-2.0" and metadata["Version"] == debias.__version__, metadata
names = {path.name for path in importlib.metadata.files("debias-learn")}
assert {"LICENSE", "LICENSE-carried-libraries.txt", "objectives.json"} <= names, names
# Only torch, libraries of its own folder, and what every Linux has.
own = pathlib.Path(debias.__file__).parent / "lib"
everywhere = re.compile(r"lib(torch_cpu|c10|stdc\+\+|m|gcc_s|c|pthread|dl)\.so|ld-linux")
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
for library in own.iterdir():
    shown = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    for needed in re.findall(r"NEEDED.*\[(.*)\]", shown):
        assert everywhere.match(needed) or (own / needed).exists(), (library.name, needed)
loaded = [path for path in mapped if re.search(r"libhwy", path)]
assert loaded and all(pathlib.Path(path).parent == own for path in loaded), loaded
z0, z1 = torch.randn(512, 16, requires_grad=True), torch.randn(512, 16)  # smaller batches need no engine
loss = debias.DebiasedNegativesLoss(0.5)
loss(z0, z1).backward()
assert loss.fused and z0.grad.isfinite().all()
assert debias.metrics.knn_accuracy(z1, list(range(512)), z1, list(range(512)), k=1) == 1
print(f"check-wheel: torch {torch.__version__}, Python {sys.version.split()[0]}: {loss.diagnostics}")
PYTHON

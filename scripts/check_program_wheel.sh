#!/usr/bin/env bash
# scripts/check_program_wheel.sh ENVIRONMENT WHEEL: installs the program's wheel into a fresh environment, which sees the torch of ENVIRONMENT,
# and trains with it from another folder. Nothing is compiled or downloaded; the libraries that it loads are its own, torch's and those that
# every manylinux has.
set -euo pipefail
usage="usage: scripts/check_program_wheel.sh ENVIRONMENT WHEEL"
python=$(realpath -s "${1:?$usage}")/bin/python
wheel=$(realpath "${2:?$usage}")
package=$PWD/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stop() { printf 'check-program-wheel: %s\n' "$*" >&2; exit 1; }

bytes=$(stat -c %s "$wheel")
[ "$bytes" -lt 40000000 ] || stop "$wheel has $bytes bytes, 40 MB are the most"
[[ $wheel =~ -py3-none-manylinux_2_([0-9]+)_ ]] || stop "$wheel is not for every Python and a manylinux"
glibc=${BASH_REMATCH[1]}
"$python" -m venv --without-pip "$work/fresh"
site=$("$work/fresh/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# torch and what it brings, as links in this environment; no debias of theirs.
"$python" - "$site" <<'PYTHON'
import pathlib, sys, sysconfig
for item in pathlib.Path(sysconfig.get_path("purelib")).iterdir():
    if not item.name.startswith(("debias", "pip", "__pycache__")) and item.suffix != ".pth":
        (pathlib.Path(sys.argv[1]) / item.name).symlink_to(item)
PYTHON
start=$SECONDS
"$python" -m pip --disable-pip-version-check --python "$work/fresh/bin/python" install -q --no-index "$wheel"
echo "check-program-wheel: $(basename "$wheel"), $bytes bytes, installed in $((SECONDS - start)) s"
cd "$work"
own=$site/debias_cli
clean=(env -i "PATH=$work/fresh/bin:/usr/bin:/bin" "HOME=$work" "OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}")
"${clean[@]}" debias --version | grep -qE '^debias [0-9]' || stop "debias --version prints no version"
"${clean[@]}" debias list recipes >recipes
grep -q '^demo/infonce: ' recipes || stop "debias list recipes finds no recipes of the wheel"
[ -f "$own/share/debias/docs/index.md" ] || stop "the wheel holds no pages"

# What the loader takes, and from where.
torch=$(realpath "$site/torch")
"${clean[@]}" ldd "$own/bin/debias" >loaded
! grep 'not found' loaded || stop "the program lacks a library"
while read -r name _ file _; do
  [[ $name =~ ^(linux-vdso|libc|libm|libdl|librt|libpthread|libutil|libstdc\+\+|libgcc_s)\.so ]] && continue
  [[ $name =~ ld-linux ]] && continue
  case $(realpath "$file") in
    "$own"/lib/* | "$torch"/lib/* | */nvidia/* | "$(realpath "$site")"/*) ;;
    *) stop "$name is taken from $file, which another machine may lack" ;;
  esac
done <loaded
newest=$(for file in "$own"/bin/* "$own"/lib/*; do objdump -T "$file"; done | sed -nE 's/.*\(GLIBC_2\.([0-9]+).*/\1/p' | sort -n | tail -n 1)
[ "$newest" -le "$glibc" ] || stop "the wheel says glibc 2.$glibc and needs 2.$newest"
echo "check-program-wheel: $(wc -l <loaded) libraries, of the system only those of every manylinux; glibc 2.$newest of 2.$glibc is needed"

"${clean[@]}" debias train demo/infonce train.epochs=1 data.train.train_count=1024 output=runs/first --quiet --json >trained
"${clean[@]}" debias report runs/first --out report.html --quiet >/dev/null
"$work/fresh/bin/python" - "$own" "$package" <<'PYTHON'
import json, os, pathlib, subprocess, sys
own, package = sys.argv[1:]
assert json.load(open("trained"))["epochs"] == 1 and pathlib.Path("report.html").stat().st_size > 10000
# From Python: the losses' package finds the program of the wheel, and opens what it wrote.
sys.path.insert(0, package)
os.environ["PATH"], os.environ["DEBIAS_ENGINE"] = "/usr/bin:/bin", "none"
import warnings
warnings.simplefilter("ignore", UserWarning)
import debias
assert debias._program.path() == f"{own}/bin/debias", debias._program.path()
run = debias.train("demo/infonce", train={"epochs": 1}, data={"train": {"train_count": 512}}, output="runs/second", progress=False)
assert run.last["train_loss"] > 0 and run.state_dict()["conv1.weight"].shape[0] == 16
# Another torch is named, in one line.
for name, content in (("torch/__init__.py", ""), ("torch-9.8.7.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 9.8.7\n")):
    file = pathlib.Path("other") / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
done = subprocess.run([f"{own}/../../../../bin/debias", "--version"], env={"PYTHONPATH": "other"}, capture_output=True, text=True)
assert done.returncode == 1 and "found torch 9.8.7; pip install 'torch==" in done.stderr and done.stderr.count("\n") == 1, done
print("check-program-wheel: a demo by the command and one from Python, of the environment's torch")
PYTHON

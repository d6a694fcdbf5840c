#!/usr/bin/env bash
# scripts/bootstrap.sh [--lint] [--python] [--site] [--rl] [--dicom] [--cuda | --cpu] [--prefix DIR | --bundle FILE]: installs what the build needs
# and this machine lacks, on Debian 12 or Ubuntu 24.04.
#
# Packages come from apt (as root, or with sudo); --lint adds clang-format and clang-tidy 14, --python
# the means to make a virtual environment, --site the same, Doxygen and KaTeX, which the site is made with, --rl MuJoCo and an OpenGL that draws
# without a display (170 MB), --dicom DCMTK, which reads DICOM files. libtorch is, in this order: the folder LIBTORCH names; the one found last time (the link build/libtorch); the torch package of python3; the cache folder; a download.
# Where an NVIDIA driver is loaded, or with --cuda, it has to be the whole of torch, with the libraries that CUDA devices need; --cpu does
# without them. The last choice is remembered in build/device-choice.
# --prefix needs neither root nor sudo: the packages are unpacked into the folder DIR. The link build/prefix remembers it: later calls and builds
# use it as well. --bundle writes the file FILE for a machine without a network: the source and the packages, without libtorch and a compiler.
# With nothing missing it only says so. Where it cannot go on it stops with one line that says what to do.
set -euo pipefail
export LC_ALL=C

torch_version=$("$(dirname "${BASH_SOURCE[0]}")/torch_version.sh")
torch_wheels=("torch==$torch_version" nvidia-cuda-runtime==13.2.86 nvidia-cuda-cupti==13.2.86)  # libtorch_cpu.so links the last two
nccl_wheel=nvidia-cuda-crt==13.2.86  # headers for libdebias_nccl that torch does not ask for
torch_download="553 MB"
torch_unpacked_kb=2500000  # the wheels and what they unpack to, side by side
cuda_download="some 2.6 GB"
cuda_unpacked_kb=9000000
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
also_versions=$("$root/scripts/torch_version.sh" --also)

say() { printf 'bootstrap: %s\n' "$*"; }
stop() { printf 'bootstrap: %s\n' "$*" >&2; exit 1; }
. "$root/scripts/bootstrap_prefix.sh"

# Linux, or Windows' subsystem for Linux.
driver_is_loaded() { [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

# Libraries that CUDA devices need and the loader does not find for the libtorch in folder $1; the driver's own is not asked for.
missing_cuda_libraries() {
  [ -e "$1/lib/libtorch_cuda.so" ] || { echo libtorch_cuda.so; return; }
  { ldd "$1/lib/libtorch_cuda.so" 2>&1 || true; } | sed -nE 's/^\s*(\S+) => not found$/\1/p' | grep -vx 'libcuda.so.1' || true
}

# What is wrong with the libtorch in folder $1, in words; nothing when it can be used. $2: versions that will do besides.
torch_fault() {
  local fault missing
  fault=$(cpu_fault "$@")
  if [ -z "$fault" ] && [ "$devices" = cuda ]; then
    missing=$(missing_cuda_libraries "$1")
    fault=${missing:+${missing%%$'\n'*} was not found, which CUDA devices need}
  fi
  echo "$fault"
}

version_in() { cat "$1/version.py" "$1/build-version" 2>/dev/null | sed -nE "s/^(__version__ = ')?([0-9]+\.[0-9]+\.[0-9]+).*/\2/p" | head -n 1; }

cpu_fault() {
  local version needed
  version=$(version_in "$1")
  [ -n "$version" ] || { echo "no torch there"; return; }
  [ "$version" = "$torch_version" ] || [[ " ${2:-} " == *" $version "* ]] ||
    { echo "torch $version there, $torch_version is needed${2:+ (or ${2// /, })}"; return; }
  for needed in lib/libtorch_cpu.so lib/libc10.so include/ATen/ATen.h include/c10/macros/Macros.h include/torch/csrc/api/include/torch/types.h; do
    [ -e "$1/$needed" ] || { echo "$needed is missing there"; return; }
  done
  compgen -G "$1/lib/libgomp*.so*" >/dev/null || { echo "lib/libgomp is missing there"; return; }
  { ldd "$1/lib/libtorch_cpu.so" 2>&1 || true; } | sed -nE 's/^\s*(\S+) => not found$/libtorch_cpu.so does not find \1/p; s/^.*(not a dynamic executable|error.*)$/libtorch_cpu.so cannot be loaded: \1/p' | head -n 1
}

torch_cache() {
  local kind=""
  [ "$devices" = cpu ] || kind=-cuda
  echo "$cache/torch-$torch_version$kind"
}

find_torch() {
  torch=""
  local folder fault also=()
  [ -z "$prefix" ] || also=("$also_versions")  # what LIBTORCH named last time: another may not be to be had
  if [ -n "${LIBTORCH:-}" ]; then
    fault=$(torch_fault "$LIBTORCH" "$also_versions")
    [ -z "$fault" ] || stop "LIBTORCH=$LIBTORCH: $fault; name the folder that holds include/ and lib/, or unset LIBTORCH"
    torch=$(realpath "$LIBTORCH")
    return
  fi
  local of_python
  of_python='import importlib.util as u; s = u.find_spec("torch"); print((s and s.submodule_search_locations or [""])[0])'
  for folder in "$root/build/libtorch" "@python" "$(torch_cache)/torch"; do
    [ "$folder" != "@python" ] || folder=$(python3 -c "$of_python" 2>/dev/null || true)
    if [ -n "$folder" ] && [ -z "$(torch_fault "$folder" "${also[@]}")" ]; then
      torch=$(realpath "$folder")
      return
    fi
  done
}

# cuda or cpu: as asked now, as asked last time, or by whether a driver is loaded. `devices_reason` says which.
choose_devices() {
  local remembered="$root/build/device-choice"
  devices_reason="asked for"
  if [ -n "$devices" ]; then
    devices_to_remember=$devices
  elif [ -s "$remembered" ]; then
    devices=$(cat "$remembered")
  elif driver_is_loaded; then
    devices=cuda devices_reason="an NVIDIA driver is loaded"
  else
    devices=cpu
  fi
}

missing_packages() {
  local tool package
  for tool in g++ make cmake ninja:ninja-build ccache pkg-config python3 "$@"; do
    command -v "${tool%%:*}" >/dev/null || echo "${tool##*:}"
  done
  [ -z "$prefix" ] || outdated_tools
  for package in "${libraries[@]}"; do
    in_prefix "$package" || dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
  # Debian's python3 has neither pip nor the means to make an environment with one.
  if [ -n "$prefix" ]; then
    [ -n "$torch" ] || python3 -c 'import pip' 2>/dev/null || in_prefix python3-pip-whl || echo python3-pip-whl
  elif { [ -n "$python" ] || { [ -z "$torch" ] && ! python3 -c 'import pip' 2>/dev/null; }; } && ! python3 -c 'import ensurepip' 2>/dev/null; then
    echo python3-venv
  fi
}

install_packages() {
  local as_root=() log size start=$SECONDS
  command -v apt-get >/dev/null || stop "no apt-get here (Debian 12 or Ubuntu 24.04 is expected); install the equivalents of: $*"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || stop "not root and no sudo here; have this run as root: apt-get install -y --no-install-recommends $*"
    as_root=(sudo)
    [ -t 0 ] || sudo -n true 2>/dev/null || stop "sudo asks for a password and there is no terminal; run: sudo apt-get install -y --no-install-recommends $*"
  fi
  log=$(mktemp)
  say "installing with apt: $*"
  "${as_root[@]}" apt-get update -q >"$log" 2>&1 || { tail -n 5 "$log" >&2; stop "apt-get update failed (its last lines are above)"; }
  size=$(apt-get install -y --no-install-recommends --print-uris "$@" 2>>"$log" | sed -nE 's/^Need to get (.*) of archives.*/\1/p' || true)
  say "downloading ${size:-an unknown amount} of packages"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1 ||
    { grep '^E:' "$log" >&2 || tail -n 5 "$log" >&2; stop "apt-get could not install: $*"; }
  rm -f "$log"
  say "packages installed in $((SECONDS - start)) s"
}

check_versions() {
  local found
  found=$(cmake --version | sed -nE 's/^cmake version ([0-9.]+).*/\1/p')
  printf '3.25\n%s\n' "$found" | sort -CV || stop "cmake $found found ($(command -v cmake)), 3.25 or newer is needed"
  [ -n "${CXX:-}" ] && return
  found=$(g++ -dumpversion)
  [ "${found%%.*}" -ge 12 ] || stop "g++ $found found ($(command -v g++)), 12 or newer is needed"
}

# A lost connection is a warning to pip, whose last line then speaks of a missing version.
pip_reason() {
  { grep -m 1 -oE 'connection broken by .*' "$1" || tail -n 1 "$1"; } | cut -c 1-200
}

download_torch() {
  local pip=(python3 -m pip) target start=$SECONDS free fault quiet=() needed_kb=$torch_unpacked_kb size=$torch_download wheels=(--no-deps "${torch_wheels[@]}")
  target=$(torch_cache)
  if [ "$devices" = cuda ]; then
    needed_kb=$cuda_unpacked_kb size=$cuda_download wheels=("${torch_wheels[0]}" "$nccl_wheel")
  fi
  [ "$(uname -m)" = x86_64 ] || stop "the wheel to download is for x86_64 and this is $(uname -m); set LIBTORCH to a libtorch $torch_version for it"
  mkdir -p "$cache" || stop "cannot make the folder $cache"
  free=$(df -Pk "$cache" | awk 'NR == 2 {print $4}')
  [ "$free" -ge $needed_kb ] || stop "$cache has $((free / 1024)) MB free, unpacking libtorch takes $((needed_kb / 1024)) MB"
  work=$(mktemp -d "$cache/unpacking-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  if python3 -c 'import pip' 2>/dev/null; then
    :
  elif [ -n "$prefix" ]; then
    pip=(python3 "$(compgen -G "$prefix/usr/share/python-wheels/pip-*.whl")/pip")
  else
    python3 -m venv "$work/venv" >"$work/log" 2>&1 || stop "python3 -m venv failed: $(tail -n 1 "$work/log")"
    pip=("$work/venv/bin/python" -m pip)
  fi
  [ "$devices" = cpu ] || say "torch for CUDA devices: $devices_reason; scripts/bootstrap.sh --cpu does without"
  say "downloading libtorch: ${wheels[*]} ($size) into $target"
  [ -t 1 ] || quiet=(-q)
  mkdir "$work/tmp"
  # The wheel of one Python version serves all: only its C++ half is used. TMPDIR: unpacked where it is to stay.
  TMPDIR="$work/tmp" "${pip[@]}" --disable-pip-version-check install "${quiet[@]}" --no-compile --no-cache-dir --retries 2 \
    --target "$work/unpacked" --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 \
    --platform=manylinux2014_x86_64 --platform=manylinux_2_{17..28}_x86_64 "${wheels[@]}" 2>"$work/log" ||
    stop "cannot download libtorch; check the network, or set LIBTORCH=DIR; pip says: $(pip_reason "$work/log")"
  fault=$(torch_fault "$work/unpacked/torch")
  [ -z "$fault" ] || stop "the downloaded libtorch cannot be used: $fault"
  [ ! -e "$target" ] || mv -T "$target" "$work/incomplete"
  mv -T "$work/unpacked" "$target"
  torch="$target/torch"
  say "libtorch $torch_version in $torch: $(du -sh "$target" | cut -f 1), $((SECONDS - start)) s"
}

usage="scripts/bootstrap.sh [--lint] [--python] [--site] [--rl] [--dicom] [--cuda | --cpu] [--prefix DIR | --bundle FILE]"
libraries=(libcli11-dev libyaml-cpp-dev nlohmann-json3-dev libfmt-dev libturbojpeg0-dev libjpeg-dev libpng-dev libwebp-dev libtiff-dev
  zlib1g-dev libssl-dev libprotobuf-dev libboost-math-dev libhwy-dev libgtest-dev libgmock-dev libbenchmark-dev)
tools=() python="" devices="" prefix="" prefix_asked="" bundle=""
while [ $# -gt 0 ]; do
  case "$1" in
    --lint) tools+=(clang-format-14 clang-tidy-14) ;;
    --python) python=yes ;;
    --site) python=yes tools+=(doxygen) libraries+=(libjs-katex) ;;
    --rl) libraries+=(libmujoco-dev libegl-dev libopengl-dev libegl1 libegl-mesa0 libgl1-mesa-dri) ;;
    --dicom) libraries+=(libdcmtk-dev) ;;
    --cuda | --cpu) devices=${1#--} ;;
    --prefix | --bundle)
      [ -n "${2:-}" ] && [[ $2 != -* ]] || stop "$1 takes a name, found '${2:-}'; usage: $usage"
      if [ "$1" = --prefix ]; then prefix_asked=$2; else bundle=$2; fi
      shift ;;
    -h | --help) sed -n '2,/^set -/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'; exit ;;
    *) stop "unknown argument $1; usage: $usage" ;;
  esac
  shift
done
[ -z "$bundle" ] || [ -z "$prefix_asked" ] || stop "--prefix and --bundle are two calls; usage: $usage"
mkdir -p "$root/build"
if [ -n "$bundle" ]; then
  write_bundle "$bundle" cmake ninja-build ccache pkg-config "${libraries[@]}"
  exit
fi
choose_devices
cache="${XDG_CACHE_HOME:-${HOME:?bootstrap: HOME is not set}/.cache}/debias"

choose_prefix "$prefix_asked"
find_torch
mapfile -t missing < <(missing_packages "${tools[@]}")
[ -z "$prefix" ] || check_prefix_can
if [ ${#missing[@]} -eq 0 ]; then
  [ -z "$prefix_asked" ] || remember_prefix
elif [ -n "$prefix" ]; then
  fill_prefix "${missing[@]}"
else
  install_packages "${missing[@]}"
fi
check_versions
[ -n "$torch" ] || download_torch
[ "$(readlink "$root/build/libtorch" || true)" = "$torch" ] || ln -sfn "$torch" "$root/build/libtorch"
[ -z "${devices_to_remember:-}" ] || echo "$devices_to_remember" >"$root/build/device-choice"
say "ready, with libtorch $(version_in "$torch") in $torch, for $([ "$devices" = cpu ] && echo the CPU || echo CUDA devices)"

#!/usr/bin/env bash
# scripts/check_cuda.sh TORCH: whether the CUDA half loads where no GPU is: libtorch_cuda.so of the whole torch in folder TORCH with every
# library that it names, and libdebias_nccl.so of build/release in it. Downloads nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
torch=$(realpath "${1:?usage: scripts/check_cuda.sh TORCH}")
nccl=build/release/lib/libdebias_nccl.so

missing=$({ ldd "$torch/lib/libtorch_cuda.so" || true; } | sed -nE 's/^\s*(\S+) => not found$/\1/p' | { grep -vx 'libcuda.so.1' || true; })
[ -z "$missing" ] || { printf 'check-cuda: %s: libtorch_cuda.so needs %s\n' "$torch" "$(echo $missing)" >&2; exit 1; }
[ -e "$nccl" ] || { echo "check-cuda: $nccl was not built; see the line of cmake's configuration that says why" >&2; exit 1; }
# The libraries of the folder first: libdebias_nccl.so names those that it was linked with.
LD_LIBRARY_PATH=$torch/lib python3 -B - "$torch" "$nccl" <<'PYTHON'
import ctypes, sys
torch, nccl = sys.argv[1:]
for name in ("libc10.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so"):
    ctypes.CDLL(f"{torch}/lib/{name}", ctypes.RTLD_GLOBAL)
version = ctypes.CDLL(nccl).debias_nccl_version()
assert version > 20000, version
print(f"check-cuda: libtorch_cuda.so loads, and libdebias_nccl.so with NCCL {version // 10000}.{version // 100 % 100}.{version % 100}")
PYTHON

#!/usr/bin/env bash
# scripts/check_cuda.sh TORCH: whether the CUDA half loads where no GPU is: libtorch_cuda.so of the whole torch in folder TORCH with every
# library that it names, and libdebias_nccl.so, which is built with that torch, its headers of CUDA and NCCL, in build/cuda; and what the
# built program says with that torch where a driver has no device. Downloads nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
torch=$(realpath "${1:?usage: scripts/check_cuda.sh TORCH}")
nccl=build/cuda/lib/libdebias_nccl.so

missing=$({ ldd "$torch/lib/libtorch_cuda.so" || true; } | sed -nE 's/^\s*(\S+) => not found$/\1/p' | { grep -vx 'libcuda.so.1' || true; })
[ -z "$missing" ] || { printf 'check-cuda: %s: libtorch_cuda.so needs %s\n' "$torch" "$(echo $missing)" >&2; exit 1; }
mkdir -p build/cuda
cmake -S . -B build/cuda -G Ninja -DCMAKE_BUILD_TYPE=Release -DDEBIAS_TESTS=OFF -DDEBIAS_BENCHMARKS=OFF -DDEBIAS_PCH=OFF -DDEBIAS_NCCL=ON \
  -DLIBTORCH="$torch" >build/cuda/log 2>&1 || { tail -n 20 build/cuda/log >&2; echo "check-cuda: cmake failed" >&2; exit 1; }
cmake --build build/cuda --target debias_nccl
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
[ ! -x build/release/bin/debias ] || DEBIAS_WHOLE_TORCH=$torch python3 -B tests/scripts/stub_driver_test.py

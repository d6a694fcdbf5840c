#!/usr/bin/env bash
# scripts/jobs.sh: how many compilers are to run at a time: one for each processor, as far as there are 3 GB of memory for each.
set -euo pipefail
# nproc obeys these two, which bound the threads of a program and not a build.
cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)
awk -v cores="$cores" '/^MemTotal:/ {n = int($2 / 3000000); print n < 1 ? 1 : n < cores ? n : cores}' /proc/meminfo

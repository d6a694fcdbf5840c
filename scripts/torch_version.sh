#!/usr/bin/env bash
# scripts/torch_version.sh [--also]: the version of torch that the program is built with, or with --also those that LIBTORCH may name besides.
sed -nE "s/^$([ "${1:-}" = --also ] && echo 'set\(LibTorch_ALSO' || echo 'find_package\(LibTorch') ([0-9.]+( [0-9.]+)*).*/\1/p" \
  "$(dirname "${BASH_SOURCE[0]}")/../cmake/Dependencies.cmake"

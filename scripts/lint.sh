#!/usr/bin/env bash
# scripts/lint.sh: the order of the includes, the format of every source, and clang-tidy
# on the sources that differ from origin/main (from the commit before, where that is the same). LINT_FILES (default: no limit) and
# LINT_SECONDS (default 3600) bound clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${LINT_SECONDS:-3600}

python3 -B scripts/check_includes.py
git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-14 --dry-run -Werror || { echo "lint: make format mends these" >&2; exit 1; }
echo "lint: $(git ls-files '*.h' '*.cpp' | wc -l) files are formatted"

base=$(git merge-base HEAD origin/main 2>/dev/null || true)
if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then base=$(git rev-parse -q --verify HEAD~1 || true); fi
if [ -z "$base" ]; then
  echo "lint: no earlier commit to compare with, clang-tidy is left out"
  exit 0
fi
# A changed header is checked through the source beside it.
mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" -- '*.h' '*.cpp' | sed 's/\.h$/.cpp/' | sort -u |
  while read -r file; do [ ! -f "$file" ] || echo "$file"; done | grep -v '^examples/' || true)
total=${#sources[@]}
sources=("${sources[@]:0:${LINT_FILES:-$total}}")
echo "lint: clang-tidy on ${#sources[@]} of $total changed sources"
[ ${#sources[@]} -gt 0 ] || exit 0

cmake --preset lint >/dev/null
sed -i 's/ -fvect-cost-model=[a-z]*//' build/lint/compile_commands.json  # gcc's alone; clang stops at it
# clang has no OpenMP runtime here, and torch's headers do without; gcc's warning options are not all clang's.
status=0
printf '%s\0' "${sources[@]}" | timeout "$seconds" xargs -0 -n 1 -P "${JOBS:-$(scripts/jobs.sh)}" clang-tidy-14 -p build/lint --quiet \
  --extra-arg=-fno-openmp --extra-arg=-Wno-unknown-warning-option 2>build/lint/tidy.log | tee build/lint/findings || status=$?
if grep -q 'error:' build/lint/findings; then
  echo "lint: clang-tidy has objections (above)" >&2
  exit 1
elif [ "$status" = 124 ]; then
  echo "lint: nothing found in $seconds s; the files that clang-tidy did not come to are left out"
elif [ "$status" != 0 ]; then
  cat build/lint/tidy.log >&2
  exit 1
fi

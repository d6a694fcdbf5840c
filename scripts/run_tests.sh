#!/usr/bin/env bash
# scripts/run_tests.sh PRESET [ctest arguments]: runs the tests of build/PRESET; the last line is "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/run_tests.sh PRESET [ctest arguments]}
report=$PWD/build/$preset/tests.xml
gtest=$PWD/build/$preset/gtest
rm -rf "$report" "$gtest"

status=0
ctest --preset "$preset" -j2 --output-on-failure --no-tests=error --output-junit "$report" "${@:2}" || status=$?
python3 -B scripts/count_tests.py "$report" "$gtest" "$status"

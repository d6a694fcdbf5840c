#!/usr/bin/env bash
# scripts/run_thread_sanitizer.sh: builds the tests of what has threads of its own with gcc's thread sanitizer (preset tsan) and runs them.
#
# That is the loader with its workers, its cache and its ring of batches, and the passes over data sets: loader_test, and of data_test and
# core_test the tests that start threads. OpenMP gets one thread: gcc's library of it is not built for the sanitizer, which would take each
# of its barriers for none. cmake/thread_sanitizer.supp says what else is passed over, and why. Status 1 on any race.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset tsan >/dev/null
cmake --build --preset tsan -j "${JOBS:-$(scripts/jobs.sh)}" --target core_test data_test loader_test

export OMP_NUM_THREADS=1 DEBIAS_TEST_DATA=${DEBIAS_TEST_DATA:-../shared/data}
export TSAN_OPTIONS="suppressions=$PWD/cmake/thread_sanitizer.supp halt_on_error=0 exitcode=66"
status=0
for run in 'loader_test *' 'data_test DataCheck*:DataMake*:*ingerprint*:*Survey*' 'core_test *AtomicFile*:*Progress*:*Thread*'; do
  read -r program filter <<<"$run"
  # Without the randomness of addresses, for which this sanitizer has too little room on some kernels.
  setarch "$(uname -m)" --addr-no-randomize "build/tsan/bin/$program" --gtest_brief=1 --gtest_filter="$filter" || status=1
done
exit $status

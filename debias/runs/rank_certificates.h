// Self-test of ranks (`debias certify ranks`): trainings of several processes against those of one.
//
// The trials are processes of the calling program (rank_launcher.h), which has to understand `certify trial` as debias does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/process/stop_signals.h"
#include "debias/runs/certificate.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct RankSelfTest {
  std::string recipe;  // a file or the name of a recipe
  std::vector<std::string> overrides = {};
  std::vector<int64_t> ranks = {2, 3, 4};
  int64_t steps = 20;          // of each trial
  std::string device = "cpu";  // each process takes one of its own; tensors of the CPU are compared by bytes, others within a tolerance
};

// Thrown where a trial ends with an exit code of its own. It has reported why.
struct TrialEnded {
  int exit_code;
};

// A signal in `signals` is passed on to the trials, and then ends the test with an error of kind kInterrupted; no trial is kept. Costs are
// of processor time, one entry for each number of ranks. Usage errors: fewer than two ranks, no step, batches of less than two images a
// rank.
Certificate certify_ranks(const RankSelfTest& test, const StopSignals& signals, const CertificateObserver& observer = {});

}  // namespace debias

// Self-test of ranks (`debias certify ranks`): compares trainings by several processes with those by one.
//
// The trials are processes of the calling program (rank_launcher.h), which must implement `certify trial` as debias does.
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
  std::string device = "cpu";  // one per process; CPU tensors are compared by bytes, others within a tolerance
};

// Thrown if a trial fails with an exit code. The trial has reported the reason.
struct TrialEnded {
  int exit_code;
};

// A signal in `signals` is passed on to the trials and then ends the test with an error of kind kInterrupted. Files of trials are removed.
// Costs are processor times, one entry per number of ranks. Usage errors: fewer than two ranks, no step, fewer than two images per rank and
// batch.
Certificate certify_ranks(const RankSelfTest& test, const StopSignals& signals, const CertificateObserver& observer = {});

}  // namespace debias

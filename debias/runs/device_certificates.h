// Self-test of a device (`debias certify device`): compares its results with the CPU's, and measures the cost of a step.
//
//   const Certificate found = certify_device({.device = "cuda"});
//   found.all_hold();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/ranks/ranks.h"
#include "debias/runs/certificate.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

struct DeviceSelfTest {
  std::string device = "cuda";
  std::string recipe = "";                  // a file or the name of a recipe; empty: a small one on glyphs
  std::vector<std::string> overrides = {};  // key=value of the recipe
  int64_t steps = 20;                       // of the short training
};

// Compares the device with the CPU: every objective in float32 against float64 on the CPU (the first one on all devices of that type), one
// step of gradient descent, a short training in float32 and in bfloat16, and that training stopped and resumed. Without a recipe it also
// trains with a queue and a momentum encoder. Costs are {"seconds_per_step", "seconds_per_cached_step", "peak_bytes"}. Usage error if the
// device is not available.
Certificate certify_device(const DeviceSelfTest& test, const CertificateObserver& observer = {});

// A few steps of a training without a run folder, for `debias certify ranks`.
struct Trial {
  int64_t steps = 20;  // in all; fewer if the recipe's epochs have fewer
  std::string from;    // checkpoint of a trial to resume from; empty: start anew
  std::string out;     // checkpoint that rank 0 writes
};

struct TrialCost {  // of this process, without its first step
  int64_t steps = 0;
  double cpu_seconds = 0;
  double last_loss = 0;
  Traffic rows, statistics, sums;
};

TrialCost run_trial(const Recipe& recipe, std::shared_ptr<const Dataset> dataset, const Ranks& ranks, const Trial& trial);

}  // namespace debias

// Self-test of a device (`debias certify device`): whether it computes what the CPU computes, and what a step costs there.
//
//   const Certificate found = certify_device({.device = "cuda"});
//   found.all_hold();
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/runs/certificate.h"

namespace debias {

struct DeviceSelfTest {
  std::string device = "cuda";
  std::string recipe = "";                  // a file or the name of a recipe; empty: a small one on drawn glyphs
  std::vector<std::string> overrides = {};  // key=value of the recipe
  int64_t steps = 20;                       // of the short training
};

// Every objective in float32 there against float64 on the CPU, the first one on all devices of that type; one step of gradient descent, and
// a short training in float32 and bfloat16, on both; the training stopped and resumed; without a recipe also one with a queue and a
// momentum copy. Costs are
// {"seconds_per_step", "seconds_per_cached_step", "peak_bytes"}. A usage error where the device is not available.
Certificate certify_device(const DeviceSelfTest& test, const CertificateObserver& observer = {});

}  // namespace debias

// Self-test of a device (`debias certify device`): compares its results with the CPU's, and measures the cost of a step.
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
  std::string recipe = "";                  // a file or the name of a recipe; empty: a small one on glyphs
  std::vector<std::string> overrides = {};  // key=value of the recipe
  int64_t steps = 20;                       // of the short training
};

// Compares the device with the CPU: every objective in float32 against float64 on the CPU (the first one on all devices of that type), one
// step of gradient descent, a short training in float32 and in bfloat16, and that training stopped and resumed. Without a recipe it also
// trains with a queue and a momentum encoder. Costs are {"seconds_per_step", "seconds_per_cached_step", "peak_bytes"}. Usage error if the
// device is not available.
Certificate certify_device(const DeviceSelfTest& test, const CertificateObserver& observer = {});

}  // namespace debias

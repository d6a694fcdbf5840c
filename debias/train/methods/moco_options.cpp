#include "debias/train/methods/moco.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace debias {

MocoOptions MocoOptions::resolved() const {
  const bool v3 = version == MocoVersion::kV3;
  MocoOptions all = *this;
  if (!momentum) all.momentum = v3 ? 0.99 : 0.999;
  if (!momentum_schedule) all.momentum_schedule = v3 ? MomentumSchedule::kCosine : MomentumSchedule::kConstant;
  if (!queue) all.queue = v3 ? 0 : 4096;
  if (!symmetric) all.symmetric = v3;
  if (!predictor) all.predictor = v3 ? 4096 : 0;
  return all;
}

double momentum_at(const MocoOptions& options, int64_t done, int64_t steps) {
  const double momentum = *options.momentum;
  if (*options.momentum_schedule == MomentumSchedule::kConstant) return momentum;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, steps)));
  return 1 - (1 - momentum) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

}  // namespace debias

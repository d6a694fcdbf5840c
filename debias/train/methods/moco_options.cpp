#include "debias/train/methods/moco.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace debias {

const OptionTable<MocoOptions>& MocoOptions::table() {
  using Self = MocoOptions;
  static const auto table =
      OptionTable<Self>()
          .add("version", &Self::version_, "v2: a queue of keys; v3: the batch's own keys, both directions, a predictor")
          .add("momentum", &Self::momentum_, Range::closed(0, 1), "momentum of the key encoder; auto: 0.999 in v2, 0.99 in v3")
          .add("momentum_schedule", &Self::momentum_schedule_, "cosine: rises to 1 over the run; auto: constant in v2, cosine in v3")
          .add("queue", &Self::queue_, Range::closed(0, 1 << 24),
               "number of keys in the queue, a multiple of the keys per step; auto: 4096 in v2, 0 (no queue) in v3")
          .add("symmetric", &Self::symmetric_, "use each view as queries for the keys of the other; auto: true in v3")
          .add("predictor", &Self::predictor_, Range::closed(0, 65536),
               "hidden width of the predictor, a head on the queries only; 0: no predictor; auto: 0 in v2, 4096 in v3")
          .add("shuffle_bn", &Self::shuffle_bn_, Range::closed(1, 65536),
               "number of groups of the shuffled batch that the momentum encoder normalises separately, a divisor of the batch size; 1: no "
               "shuffling");
  return table;
}

MocoOptions MocoOptions::resolved() const {
  const bool v3 = version() == MocoVersion::kV3;
  MocoOptions all = *this;
  if (!momentum()) all.momentum(v3 ? 0.99 : 0.999);
  if (!momentum_schedule()) all.momentum_schedule(v3 ? MomentumSchedule::kCosine : MomentumSchedule::kConstant);
  if (!queue()) all.queue(v3 ? 0 : 4096);
  if (!symmetric()) all.symmetric(v3);
  if (!predictor()) all.predictor(v3 ? 4096 : 0);
  return all;
}

double momentum_at(const MocoOptions& options, int64_t done, int64_t steps) {
  const double momentum = *options.momentum();
  if (*options.momentum_schedule() == MomentumSchedule::kConstant) return momentum;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, steps)));
  return 1 - (1 - momentum) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

}  // namespace debias

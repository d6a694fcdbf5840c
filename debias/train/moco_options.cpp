#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc bug 80635: takes the number of an empty Auto<double> for one that is read
#endif

#include "debias/train/moco.h"

namespace debias {

const OptionTable<MocoOptions>& MocoOptions::table() {
  using Self = MocoOptions;
  static const auto table =
      OptionTable<Self>()
          .add("version", &Self::version_, "v2: a queue of keys; v3: the batch's own keys, both directions, a predictor")
          .add("momentum", &Self::momentum_, Range::closed(0, 1), "of the copy that makes keys; auto: 0.999 in v2, 0.99 in v3")
          .add("queue", &Self::queue_, Range::closed(0, 1 << 24),
               "keys kept, a multiple of those of a step; auto: 4096 in v2, 0 (none) in v3")
          .add("symmetric", &Self::symmetric_, "either view asks for the other's keys; auto: true in v3")
          .add("predictor", &Self::predictor_, Range::closed(0, 65536),
               "width of the hidden layer of a head on the queries alone, 0: none; auto: 0 in v2, 4096 in v3");
  return table;
}

MocoOptions MocoOptions::resolved() const {
  const bool v3 = version() == MocoVersion::kV3;
  MocoOptions all = *this;
  if (!momentum()) all.momentum(v3 ? 0.99 : 0.999);
  if (!queue()) all.queue(v3 ? 0 : 4096);
  if (!symmetric()) all.symmetric(v3);
  if (!predictor()) all.predictor(v3 ? 4096 : 0);
  return all;
}

}  // namespace debias

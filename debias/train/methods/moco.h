// Momentum contrast: keys come from a copy of the network that follows it slowly, and from a queue of earlier keys.
//
//   q = projection of one view by the network, k = projection of the other by the copy, both of unit norm
//   after each step: copy <- momentum copy + (1 - momentum) network (parameters; running statistics are the copy's own)
//
// version v2 (He et al. 2020, Algorithm 1; Chen et al. 2020): each q has its own k as positive and the queue's K keys as negatives; then
//   the batch's keys take the place of the oldest. The queue begins with random rows of unit norm.
// version v3 (Chen, Xie and He 2021): no queue; the keys of the batch are compared with, in both directions, and q passes a predictor (two
//   layers with batch normalisation) that the copy lacks. `queue: 0` with any other option is its shape without one. Its momentum rises to 1
//   by half a cosine: 1 - (1 - momentum) (1 + cos(pi f)) / 2 with the share f of the run's steps that is done.
//
// The ids of the samples and, where known, their labels travel with the keys: keys of the anchor's own image are not negatives, objectives
// over classes find their positives in the queue, and the share of the negatives that are of the anchor's class is logged
// (false_negative_share).
//
// shuffle_bn G (ShuffleBN, He et al. section 3.3): a query and its positive key are normalised with statistics of the same set of images, the
// keys of the queue with those of other batches, so that the statistics give the positive away. With G > 1 the copy's batch is permuted, each
// of G groups is normalised by itself, and the keys are put back in order; the permutation follows from seed and step. Queries keep the
// statistics of the whole batch. G divides the batch and leaves at least two images in a group; with several ranks it is rejected, since a
// group needs images of all of them.
#pragma once

#include <cstdint>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

enum class MomentumSchedule { kConstant, kCosine };
constexpr auto enum_words(MomentumSchedule) { return named("constant", "cosine"); }

enum class MocoVersion { kV2, kV3 };
constexpr auto enum_words(MocoVersion) { return named("v2", "v3"); }

struct MocoOptions {
  MocoVersion version = MocoVersion::kV2;
  Auto<double> momentum = {};
  Auto<MomentumSchedule> momentum_schedule = {};
  Auto<int64_t> queue = {};
  Auto<bool> symmetric = {};
  Auto<int64_t> predictor = {};
  int64_t shuffle_bn = 1;
  void describe(OptionVisitor& o) {
    o("version", version, "v2: a queue of keys; v3: the batch's own keys, both directions, a predictor");
    o("momentum", momentum, Range::closed(0, 1), "momentum of the key encoder; auto: 0.999 in v2, 0.99 in v3");
    o("momentum_schedule", momentum_schedule, "cosine: rises to 1 over the run; auto: constant in v2, cosine in v3");
    o("queue", queue, Range::closed(0, 1 << 24),
      "number of keys in the queue, a multiple of the keys per step; auto: 4096 in v2, 0 (no queue) in v3");
    o("symmetric", symmetric, "use each view as queries for the keys of the other; auto: true in v3");
    o("predictor", predictor, Range::closed(0, 65536),
      "hidden width of the predictor, a head on the queries only; 0: no predictor; auto: 0 in v2, 4096 in v3");
    o("shuffle_bn", shuffle_bn, Range::closed(1, 65536),
      "number of groups of the shuffled batch that the momentum encoder normalises separately, a divisor of the batch size; 1: no "
      "shuffling");
  }

  MocoOptions resolved() const;  // `auto` by version
};

// The momentum of resolved options once `done` of `steps` steps are.
double momentum_at(const MocoOptions& options, int64_t done, int64_t steps);

MethodEntry moco_entry();

}  // namespace debias

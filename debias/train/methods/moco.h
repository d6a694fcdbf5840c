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
#include <utility>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

enum class MomentumSchedule { kConstant, kCosine };
template <>
struct EnumNames<MomentumSchedule> {
  static constexpr std::array<std::pair<std::string_view, MomentumSchedule>, 2> values = {
      {{"constant", MomentumSchedule::kConstant}, {"cosine", MomentumSchedule::kCosine}}};
};

enum class MocoVersion { kV2, kV3 };
template <>
struct EnumNames<MocoVersion> {
  static constexpr std::array<std::pair<std::string_view, MocoVersion>, 2> values = {{{"v2", MocoVersion::kV2}, {"v3", MocoVersion::kV3}}};
};

class MocoOptions {
 public:
  DEBIAS_OPTION(MocoOptions, MocoVersion, version, MocoVersion::kV2)
  DEBIAS_OPTION(MocoOptions, Auto<double>, momentum, {})
  DEBIAS_OPTION(MocoOptions, Auto<MomentumSchedule>, momentum_schedule, {})
  DEBIAS_OPTION(MocoOptions, Auto<int64_t>, queue, {})
  DEBIAS_OPTION(MocoOptions, Auto<bool>, symmetric, {})
  DEBIAS_OPTION(MocoOptions, Auto<int64_t>, predictor, {})
  DEBIAS_OPTION(MocoOptions, int64_t, shuffle_bn, 1)
  static const OptionTable<MocoOptions>& table();

  MocoOptions resolved() const;  // `auto` by version
};

// The momentum of resolved options once `done` of `steps` steps are.
double momentum_at(const MocoOptions& options, int64_t done, int64_t steps);

MethodEntry moco_entry();

}  // namespace debias

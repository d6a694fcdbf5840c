// Momentum contrast: keys come from a copy of the network that follows it slowly, and from a queue of earlier keys.
//
//   q = projection of one view by the network, k = projection of the other by the copy, both of unit norm
//   after each step: copy <- momentum copy + (1 - momentum) network (parameters; running statistics are the copy's own)
//
// version v2 (He et al. 2020, Algorithm 1; Chen et al. 2020): each q has its own k as positive and the queue's K keys as negatives; then
//   the batch's keys take the place of the oldest. The queue begins with random rows of unit norm.
// version v3 (Chen, Xie and He 2021): no queue; the keys of the batch are compared with, in both directions, and q passes a predictor (two
//   layers with batch normalisation) that the copy lacks. `queue: 0` with any other option is its shape without one.
//
// The ids of the samples and, where known, their labels travel with the keys: keys of the anchor's own image are no negatives, objectives
// over classes find their positives in the queue, and the share of the negatives that are of the anchor's class is logged
// (false_negative_share). Batch normalisation sees one pass of one network at a time: a batch's keys are normalised among themselves, and
// are not shuffled over devices as in the released code, which has several.
#pragma once

#include <cstdint>
#include <utility>

#include "debias/core/options.h"
#include "debias/train/method.h"

namespace debias {

enum class MocoVersion { kV2, kV3 };
template <>
struct EnumNames<MocoVersion> {
  static constexpr std::array<std::pair<std::string_view, MocoVersion>, 2> values = {{{"v2", MocoVersion::kV2}, {"v3", MocoVersion::kV3}}};
};

class MocoOptions {
 public:
  DEBIAS_OPTION(MocoOptions, MocoVersion, version, MocoVersion::kV2)
  DEBIAS_OPTION(MocoOptions, Auto<double>, momentum, {})
  DEBIAS_OPTION(MocoOptions, Auto<int64_t>, queue, {})
  DEBIAS_OPTION(MocoOptions, Auto<bool>, symmetric, {})
  DEBIAS_OPTION(MocoOptions, Auto<int64_t>, predictor, {})
  static const OptionTable<MocoOptions>& table();

  MocoOptions resolved() const;  // `auto` by version
};

MethodEntry moco_entry();

}  // namespace debias

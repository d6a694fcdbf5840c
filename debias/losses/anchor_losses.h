// From one loss per anchor to an objective's value and diagnostics.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "debias/losses/objective.h"
#include "debias/losses/two_view.h"

namespace debias {

struct AnchorLosses {
  at::Tensor loss;  // [anchors], finite everywhere
  at::Tensor used;  // bool [anchors]; undefined: all are
  LateNumber clamped;
  std::optional<LateNumber> min_estimate;
  std::optional<LateNumber> effective_sample_size{};  // mean over these anchors, if negatives are weighted
};

// The mean over the used anchors times `scale`; 0 without any. `engines` computed the sums behind the losses (Rows::engines,
// ObjectiveInput::engines).
ObjectiveResult mean_over_anchors(const AnchorLosses& losses, double scale, const std::shared_ptr<EngineRecord>& engines);

// The mean of the two-view losses of all unordered pairs of the input's views; pairs without a used anchor are left out. The value of an
// anchor is its mean over the pairs that use it; clamped anchors are summed over pairs. With keys: the loss of all rows against the keys.
ObjectiveResult mean_over_view_pairs(const ObjectiveInput& input, double scale, const char* objective,
                                     const std::function<AnchorLosses(const ViewPair&)>& pair_losses);

// The same for the parts of keyed_parts.
ObjectiveResult mean_over_parts(const std::vector<ViewPair>& parts, double scale,
                                const std::function<AnchorLosses(const ViewPair&)>& part_losses);

// InfoNCE of a sum over the anchor's negatives: log(1 + e^{log_negatives - positive}), log_negatives being the log of that sum.
AnchorLosses losses_against(const at::Tensor& log_negatives, const at::Tensor& positive);

// A loss of 0 for every row, that of an anchor without negatives (a single sample). It is part of the graph.
AnchorLosses no_negatives(const at::Tensor& positive);

// The minimum over rows of estimate * e^shift in double, limited to finite values.
LateNumber smallest_estimate(const at::Tensor& estimate, const at::Tensor& shift);

}  // namespace debias

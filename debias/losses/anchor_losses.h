// From a loss per anchor to an objective's value and diagnostics.
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
  std::optional<LateNumber> effective_sample_size{};  // the mean over these anchors, where negatives are weighted
};

// The mean over the anchors in use (0 when there is none), times `scale`. `engines`: that computed the sums behind the losses
// (Rows::engines, ObjectiveInput::engines).
ObjectiveResult mean_over_anchors(const AnchorLosses& losses, double scale, const std::shared_ptr<EngineRecord>& engines);

// The mean of the two-view losses of all unordered pairs of the input's views, leaving out pairs without an anchor in use. An anchor's own
// value is its mean over the pairs in which it was used; clamped anchors are summed over pairs. With keys: of all rows against them.
ObjectiveResult mean_over_view_pairs(const ObjectiveInput& input, double scale, const char* objective,
                                     const std::function<AnchorLosses(const ViewPair&)>& pair_losses);

// The same of parts that keyed_parts has made.
ObjectiveResult mean_over_parts(const std::vector<ViewPair>& parts, double scale,
                                const std::function<AnchorLosses(const ViewPair&)>& part_losses);

// log(1 + e^{log_negatives - positive}), log_negatives the log of a sum over the anchor's negatives: InfoNCE of that sum.
AnchorLosses losses_against(const at::Tensor& log_negatives, const at::Tensor& positive);

// A loss of 0 for every row: what an anchor without negatives (one sample) costs. It stays part of the graph.
AnchorLosses no_negatives(const at::Tensor& positive);

// min over rows of estimate * e^shift in double, held within the finite doubles.
LateNumber smallest_estimate(const at::Tensor& estimate, const at::Tensor& shift);

}  // namespace debias

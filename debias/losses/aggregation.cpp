#include "debias/losses/aggregation.h"

#include <ATen/ATen.h>

namespace debias {

AggregatedViews::AggregatedViews(const ObjectiveInput& input, const Request& request, const char* objective)
    : input_(input), objective_(objective), aggregation_(request.aggregation) {
  if (request.drop_false_negatives) require_labels(input, objective, "drop_false_negatives");
  TwoViewRequest two = {
      .temperature = request.temperature, .drop_false_negatives = request.drop_false_negatives, .with_self = request.with_self};
  if (input.keys.defined()) {
    for (const auto& part : keyed_parts(input, objective)) {
      sums_.emplace(std::pair(static_cast<int64_t>(sums_.size()), int64_t{0}), two_view_sums(part, two, objective));
    }
    return;
  }
  const bool grouping = aggregation_ == Aggregation::kGrouping;
  const int64_t views = input.z.size(1), last_first = grouping ? 1 : views - 1;
  two.group_positives = grouping && views > 2;
  for (int64_t first = 0; first < last_first; ++first) {
    for (int64_t second = first + 1; second < (grouping ? 2 : views); ++second) {
      sums_.emplace(std::pair(first, second), two_view_sums({input, first, second, {}}, two, objective));
    }
  }
}

ObjectiveResult AggregatedViews::mean(double scale, const std::function<AnchorLosses(const TwoViewSums&)>& losses) const {
  int64_t part = 0;  // mean_over_view_pairs visits parts in their order
  const auto pair_losses = [&](const ViewPair& pair) {
    return losses(input_.keys.defined() ? sums_.at({part++, 0}) : sums_.at({pair.first, pair.second}));
  };
  if (input_.keys.defined() || aggregation_ != Aggregation::kGrouping) {
    return mean_over_view_pairs(input_, scale, objective_, pair_losses);
  }
  return mean_over_anchors(losses(sums_.at({0, 1})), scale, input_.engines);
}

}  // namespace debias

#include "debias/losses/aggregation.h"

#include <ATen/ATen.h>

namespace debias {

AggregatedViews::AggregatedViews(const ObjectiveInput& input, const Request& request, const char* objective)
    : input_(input), objective_(objective), aggregation_(request.aggregation) {
  if (request.drop_false_negatives) require_labels(input, objective, "drop_false_negatives");
  TwoViewRequest two = {
      .temperature = request.temperature, .drop_false_negatives = request.drop_false_negatives, .with_self = request.with_self};
  if (input.keys.defined()) {
    parts_ = keyed_parts(input, objective);
    for (const auto& part : parts_) sums_.emplace(std::pair(part.first, part.second), two_view_sums(part, two, objective));
    return;
  }
  const bool grouping = aggregation_ == Aggregation::kGrouping;
  const int64_t views = input.z.size(1), last_first = grouping ? 1 : views - 1;
  two.group_positives = grouping && views > 2;
  for (int64_t first = 0; first < last_first; ++first) {
    for (int64_t second = first + 1; second < (grouping ? 2 : views); ++second) {
      sums_.emplace(std::pair(first, second), two_view_sums(view_pair(input, first, second), two, objective));
    }
  }
}

ObjectiveResult AggregatedViews::mean(double scale, const std::function<AnchorLosses(const TwoViewSums&)>& losses) const {
  const auto pair_losses = [&](const ViewPair& pair) { return losses(sums_.at({pair.first, pair.second})); };
  if (input_.keys.defined()) return mean_over_parts(parts_, scale, pair_losses);
  if (aggregation_ != Aggregation::kGrouping) return mean_over_view_pairs(input_, scale, objective_, pair_losses);
  return mean_over_anchors(losses(sums_.at({0, 1})), scale, input_.engines);
}

}  // namespace debias

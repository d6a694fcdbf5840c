#include "debias/losses/aggregation.h"

#include <ATen/ATen.h>

namespace debias {

AggregatedViews::AggregatedViews(const ObjectiveInput& input, const Request& request, const char* objective)
    : input_(input), aggregation_(request.aggregation) {
  if (request.drop_false_negatives) require_labels(input, objective, "drop_false_negatives");
  const bool grouping = aggregation_ == Aggregation::kGrouping;
  const int64_t views = input.z.size(1), last_first = grouping ? 1 : views - 1;
  for (int64_t first = 0; first < last_first; ++first) {
    for (int64_t second = first + 1; second < (grouping ? 2 : views); ++second) {
      const TwoViewRequest two = {.first = first,
                                  .second = second,
                                  .temperature = request.temperature,
                                  .drop_false_negatives = request.drop_false_negatives,
                                  .group_positives = grouping && views > 2,
                                  .with_self = request.with_self};
      sums_.emplace(std::pair(first, second), two_view_sums(input, two, objective));
    }
  }
}

ObjectiveResult AggregatedViews::mean(double scale, const std::function<AnchorLosses(const TwoViewSums&)>& losses) const {
  const auto pair_losses = [&](int64_t first, int64_t second) { return losses(sums_.at({first, second})); };
  ObjectiveResult result = aggregation_ == Aggregation::kGrouping ? mean_over_anchors(pair_losses(0, 1), scale)
                                                                  : mean_over_view_pairs(input_, scale, pair_losses);
  result.fused = takes_fused(input_.engine, input_.z);
  return result;
}

}  // namespace debias

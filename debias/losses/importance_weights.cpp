#include "debias/losses/importance_weights.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/two_view.h"

namespace debias {
namespace {

WeightedRows weighted_rows(const ViewPair& pair, double temperature, const char* objective) {
  WeightedRows rows;
  rows.pairs = rows_of(pair, temperature, false, objective);
  rows.positives = positives_of(pair, rows.pairs);
  rows.negatives =
      rows.pairs.square() ? 2 * pair.input.z.size(0) - 2 : set_sizes(rows.pairs, PairSet::kUnequal)[0].to(at::kLong).item<int64_t>();
  return rows;
}

}  // namespace

ObjectiveResult mean_over_weighted_rows(const ObjectiveInput& input, double temperature, double scale, const char* objective,
                                        const std::function<WeightedLosses(const WeightedRows&)>& losses) {
  LateNumber sample_sizes;
  double total = 0;
  const auto pair_losses = [&](const ViewPair& pair) {
    const WeightedRows rows = weighted_rows(pair, temperature, objective);
    if (rows.negatives == 0) return no_negatives(rows.positives.numerator);
    WeightedLosses own = losses(rows);
    const double share = pair.rows.defined() ? static_cast<double>(rows.pairs.size()) : 1;
    sample_sizes += own.effective_sample_size.times(share);
    total += share;
    return std::move(own.losses);
  };
  ObjectiveResult result = mean_over_view_pairs(input, scale, objective, pair_losses);
  if (total > 0) result.effective_sample_size = sample_sizes.over(total);
  return result;
}

at::Tensor log_normalised(const WeightedSum& sum, int64_t negatives) {
  const at::Tensor value = sum.log_sum - sum.log_weights + std::log(static_cast<double>(negatives));
  if (!sum.detach_weights) return value;
  const at::Tensor own = sum.log_sum / (1 + sum.beta);
  return value.detach() + (own - own.detach());
}

LateNumber effective_sample_size(const at::Tensor& log_weights, const at::Tensor& log_squares, int64_t negatives) {
  const at::Tensor sizes = (2 * log_weights.detach() - log_squares.detach()).to(at::kDouble).exp();
  return LateNumber(sizes.clamp(1, static_cast<double>(negatives)).mean());
}

}  // namespace debias

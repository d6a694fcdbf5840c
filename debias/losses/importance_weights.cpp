#include "debias/losses/importance_weights.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/pair_keys.h"

namespace debias {
namespace {

// Rows in the order of the input, view within sample: sorted by group as they are.
WeightedRows weighted_rows(const ObjectiveInput& input, int64_t first, int64_t second, double temperature, const char* objective) {
  const int64_t samples = input.z.size(0);
  const bool all_views = input.z.size(1) == 2 && first == 0;
  const at::Tensor pair = all_views ? input.z : at::stack({input.z.select(1, first), input.z.select(1, second)}, 1);
  WeightedRows rows;
  rows.pairs = {.z = pair.reshape({2 * samples, -1}),
                .group = pair_keys(input, 1, objective).sample.repeat_interleave(2),
                .temperature = temperature,
                .engine = input.engine,
                .memory_budget = input.memory_budget,
                .bfloat16_products = input.bfloat16_products};
  rows.positive = log_sums(rows.pairs, {{.set = PairSet::kEqual}})[0];  // the one equal row is the partner
  rows.negatives = 2 * samples - 2;
  return rows;
}

}  // namespace

ObjectiveResult mean_over_weighted_rows(const ObjectiveInput& input, double temperature, double scale, const char* objective,
                                        const std::function<WeightedLosses(const WeightedRows&)>& losses) {
  double sample_sizes = 0;
  int64_t pairs = 0;
  bool fused = false;
  const auto by_view = [&](const at::Tensor& per_row) { return per_row.view({-1, 2}).t().reshape(-1); };
  const auto pair_losses = [&](int64_t first, int64_t second) {
    const WeightedRows rows = weighted_rows(input, first, second, temperature, objective);
    fused = rows.pairs.fused();
    if (rows.negatives == 0) return no_negatives(rows.positive);
    WeightedLosses own = losses(rows);
    sample_sizes += own.effective_sample_size;
    ++pairs;
    own.losses.loss = by_view(own.losses.loss);
    if (own.losses.used.defined()) own.losses.used = by_view(own.losses.used);
    return std::move(own.losses);
  };
  ObjectiveResult result = mean_over_view_pairs(input, scale, pair_losses);
  if (pairs > 0) result.effective_sample_size = sample_sizes / static_cast<double>(pairs);
  result.fused = fused;
  return result;
}

at::Tensor log_normalised(const WeightedSum& sum, int64_t negatives) {
  const at::Tensor value = sum.log_sum - sum.log_weights + std::log(static_cast<double>(negatives));
  if (!sum.detach_weights) return value;
  const at::Tensor own = sum.log_sum / (1 + sum.beta);
  return value.detach() + (own - own.detach());
}

double effective_sample_size(const at::Tensor& log_weights, const at::Tensor& log_squares, int64_t negatives) {
  const at::Tensor sizes = (2 * log_weights.detach() - log_squares.detach()).to(at::kDouble).exp();
  return sizes.clamp(1, static_cast<double>(negatives)).mean().item<double>();
}

}  // namespace debias

#include "debias/losses/importance_weights.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/pair_keys.h"

namespace debias {
namespace {

WeightedRows weighted_rows(const ObjectiveInput& input, int64_t first, int64_t second, double temperature, const char* objective) {
  const int64_t samples = input.z.size(0);
  WeightedRows rows;
  rows.pairs = {.z = at::cat({input.z.select(1, first), input.z.select(1, second)}),
                .group = pair_keys(input, 2, objective).sample,
                .temperature = temperature,
                .engine = input.engine,
                .memory_budget = input.memory_budget};
  rows.positive = (rows.pairs.z / temperature * rows.pairs.z.roll(samples, 0)).sum(1);
  rows.negatives = 2 * samples - 2;
  return rows;
}

}  // namespace

ObjectiveResult mean_over_weighted_rows(const ObjectiveInput& input, double temperature, double scale, const char* objective,
                                        const std::function<WeightedLosses(const WeightedRows&)>& losses) {
  double sample_sizes = 0;
  int64_t pairs = 0;
  bool fused = false;
  const auto pair_losses = [&](int64_t first, int64_t second) {
    const WeightedRows rows = weighted_rows(input, first, second, temperature, objective);
    fused = rows.pairs.fused();
    if (rows.negatives == 0) return no_negatives(rows.positive);
    WeightedLosses own = losses(rows);
    sample_sizes += own.effective_sample_size;
    ++pairs;
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

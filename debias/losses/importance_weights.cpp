#include "debias/losses/importance_weights.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/two_view.h"

namespace debias {
namespace {

// Unequal rows, or keys, of rows that are grouped by sample.
class RowNegatives final : public NegativeSums {
 public:
  explicit RowNegatives(const Rows& rows) : rows_(rows) {}
  std::vector<at::Tensor> log_sums(const std::vector<NegativeSum>& requests) const override {
    std::vector<PairSum> sums;
    for (const auto& [multiplier, constant] : requests) sums.push_back({PairSet::kUnequal, multiplier, constant});
    return debias::log_sums(rows_, sums);
  }
  std::vector<at::Tensor> ranked_log_sums(const std::vector<RankedSum>& requests) const override {
    return debias::ranked_log_sums(rows_, requests);
  }

 private:
  const Rows& rows_;
};

int64_t negatives_of_each(const ViewPair& pair, const Rows& rows) {
  if (rows.square()) return 2 * pair.input.z.size(0) - 2;
  return set_sizes(rows, PairSet::kUnequal)[0].to(at::kLong).item<int64_t>();
}

}  // namespace

ObjectiveResult mean_over_weighted_rows(const ObjectiveInput& input, double temperature, double scale, const char* objective,
                                        const LossOfAnchors& losses) {
  LateNumber sample_sizes;
  double total = 0;
  const auto pair_losses = [&](const ViewPair& pair) {
    const Rows rows = rows_of(pair, temperature, false, objective);
    const Positives positives = positives_of(pair, rows);
    const int64_t negatives = negatives_of_each(pair, rows);
    if (negatives == 0) return no_negatives(positives.numerator);
    const AnchorLosses own = losses({RowNegatives(rows), positives.numerator, positives.log_mean, negatives});
    const double share = pair.rows.defined() ? static_cast<double>(rows.size()) : 1;
    sample_sizes += own.effective_sample_size->times(share);
    total += share;
    return own;
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

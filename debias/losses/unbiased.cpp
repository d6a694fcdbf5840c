#include "debias/losses/unbiased.h"

#include <ATen/ATen.h>

#include <cmath>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/keyed_input.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kUnbiasedName[] = "unbiased";

}  // namespace

const OptionTable<UnbiasedOptions>& UnbiasedOptions::table() {
  static const auto table = table_with_temperatures<UnbiasedOptions>()
                                .add("negatives", &UnbiasedOptions::negatives_, "N times the mean over true negatives, or their sum")
                                .with_variants()
                                .variant("authors", "negatives", "drop");
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& given, const UnbiasedOptions& options) {
  const ObjectiveInput input = checked_views(given, kUnbiasedName);
  require_one_positive(input, kUnbiasedName);
  require_labels(input, kUnbiasedName, "the choice of true negatives");
  return mean_over_view_pairs(input, loss_scale(options), kUnbiasedName, [&](const ViewPair& pair) -> AnchorLosses {
    const auto sums = two_view_sums(pair, {.temperature = options.temperature(), .drop_false_negatives = true}, kUnbiasedName);
    at::Tensor log_weight = sums.log_kept;
    if (options.negatives() == TrueNegatives::kRescale) {
      log_weight = log_weight + (std::max<double>(sums.negatives, 1) / sums.kept.clamp_min(1)).log();
    }
    return {.loss = log_one_plus_exp(log_weight - sums.positive), .used = sums.kept.gt(0), .clamped = 0, .min_estimate = {}};
  });
}

}  // namespace

ObjectiveResult unbiased(const ObjectiveInput& input, const UnbiasedOptions& options) {
  return computed(input, verified(options, kUnbiasedName));
}

ObjectiveResult unbiased(const at::Tensor& z, const at::Tensor& labels, const UnbiasedOptions& options) {
  return unbiased(ObjectiveInput{.z = z, .labels = labels}, options);
}

ObjectiveEntry unbiased_entry() {
  ObjectiveEntry entry;
  entry.name = kUnbiasedName;
  entry.summary = "InfoNCE with negatives of other classes only, chosen by label (Chuang et al. 2020 eq. 2)";
  entry.min_views = 2;
  entry.takes_keys = true;
  entry.needs_labels = true;
  return with_options<UnbiasedOptions>(std::move(entry), computed);
}

}  // namespace debias

#include "examples/new_objective/decoupled.h"

#include <ATen/ATen.h>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/temperature_options.h"
#include "debias/losses/two_view.h"

namespace debias {
namespace {

constexpr char kName[] = "decoupled";

}  // namespace

const OptionTable<DecoupledOptions>& DecoupledOptions::table() {
  static const auto table = table_with_temperatures<DecoupledOptions>().with_variants();
  return table;
}

namespace {

ObjectiveResult computed(const ObjectiveInput& given, const DecoupledOptions& options) {
  const ObjectiveInput input = checked_views(given, kName);
  return mean_over_view_pairs(input, loss_scale(options), kName, [&](const ViewPair& pair) -> AnchorLosses {
    const auto sums = two_view_sums(pair, {.temperature = options.temperature()}, kName);
    if (sums.negatives == 0) return no_negatives(sums.positive);
    return {.loss = sums.log_negatives - sums.positive, .used = {}, .clamped = 0, .min_estimate = {}};
  });
}

}  // namespace

ObjectiveResult decoupled(const ObjectiveInput& input, const DecoupledOptions& options) {
  return computed(input, verified(options, kName));
}

ObjectiveEntry decoupled_entry() {
  ObjectiveEntry entry;
  entry.name = kName;
  entry.summary = "InfoNCE without the positive in its denominator (Yeh et al. 2022 eq. 6)";
  entry.min_views = 2;
  entry.takes_keys = true;
  return with_options<DecoupledOptions>(std::move(entry), computed);
}

}  // namespace debias

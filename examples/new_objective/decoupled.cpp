#include "examples/new_objective/decoupled.h"

#include <ATen/ATen.h>

#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective_entry.h"
#include "debias/losses/two_view.h"

namespace debias {

void DecoupledOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o.with_variants();
}

ObjectiveResult DecoupledOptions::loss(const ObjectiveInput& given) const {
  const ObjectiveInput input = checked_views(given, kName);
  return mean_over_view_pairs(input, loss_scale(*this), kName, [&](const ViewPair& pair) -> AnchorLosses {
    const auto sums = two_view_sums(pair, {.temperature = temperature}, kName);
    if (sums.negatives == 0) return no_negatives(sums.positive);
    return {.loss = sums.log_negatives - sums.positive, .used = {}, .clamped = 0, .min_estimate = {}};
  });
}

}  // namespace debias

#include "examples/new_objective/decoupled.h"

#include <ATen/ATen.h>

#include "debias/losses/comparison.h"
#include "debias/losses/objective_entry.h"

namespace debias {

void DecoupledOptions::describe(OptionVisitor& o) {
  describe_temperatures(o, temperature, base_temperature);
  o.with_variants();
}

ObjectiveResult DecoupledOptions::loss(const ObjectiveInput& input) const {
  const BatchComparison batch(input, {.objective = kName, .temperature = temperature});
  return batch.mean(loss_scale(*this), [](const Anchors& anchors) -> AnchorLosses {
    if (anchors.negatives == 0) return no_negatives(anchors.positive);
    return {.loss = anchors.log_negatives - anchors.positive};
  });
}

}  // namespace debias

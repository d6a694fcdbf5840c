#include "debias/losses/debiased_negatives.h"
#include "debias/losses/debiased_positives.h"
#include "debias/losses/infonce.h"
#include "debias/losses/objective.h"
#include "debias/losses/unbiased.h"

namespace debias {

const std::vector<ObjectiveEntry>& objective_registry() {
  static const std::vector<ObjectiveEntry> registry = {
      infonce_entry(),
      unbiased_entry(),
      debiased_negatives_entry(),
      debiased_positives_entry(),
  };
  return registry;
}

}  // namespace debias

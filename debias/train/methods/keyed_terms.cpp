#include "debias/train/methods/keyed_terms.h"

#include <fmt/ranges.h>

#include "debias/core/error.h"

namespace debias {

std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method) {
  const std::string& where = recipe.method.where;
  std::vector<Term> pairwise;
  for (auto& term : make_terms(recipe, dataset)) {
    if (term.kind() != InputKind::kPairs) continue;
    if (!term.takes_keys()) {
      throw usage_error(
          "{}method '{}': objective '{}' compares rows of a batch with each other and takes no keys; choose one that does, or "
          "method {}",
          where, method, term.label(), fmt::join(methods_with(&MethodEntry::takes_any_terms), " or "));
    }
    if (term.on() != TermInput::kProjection) {
      throw usage_error("{}method '{}': objective '{}' must read the projection, of which the keys are; leave its `on` out", where, method,
                        term.label());
    }
    pairwise.push_back(std::move(term));
  }
  return pairwise;
}

Metric false_negative_metric() {
  return {kFalseNegativeShare, "share of false negatives", Unit::kShare, Better::kNeither, Standing::kTraining};
}

}  // namespace debias

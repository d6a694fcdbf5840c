#include "debias/train/keyed_terms.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"

namespace debias {

std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method) {
  const std::string where = recipe.method.prefix();
  std::vector<Term> pairwise;
  for (auto& term : make_terms(recipe, dataset)) {
    if (term.kind() != InputKind::kPairs) continue;
    if (!term.takes_keys()) {
      throw usage_error(
          "{}method '{}': objective '{}' compares rows of a batch with each other and takes no keys; choose one that does, or "
          "method simclr",
          where, method, term.label());
    }
    if (term.on() != TermInput::kProjection) {
      throw usage_error("{}method '{}': objective '{}' must read the projection, of which the keys are; leave its `on` out", where, method,
                        term.label());
    }
    pairwise.push_back(std::move(term));
  }
  return pairwise;
}

ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share) {
  ObjectiveResult all = parts.front();
  all.clampable = all.clamped_of();
  std::vector<at::Tensor> per_anchor = {all.per_anchor};
  for (size_t i = 1; i < parts.size(); ++i) {
    const ObjectiveResult& part = parts[i];
    all.value = all.value + part.value;
    per_anchor.push_back(part.per_anchor);
    all.anchors += part.anchors;
    all.anchors_used += part.anchors_used;
    all.clamped += part.clamped;
    all.clampable += part.clamped_of();
    keep_smallest(all.min_estimate, part.min_estimate);
    if (part.effective_sample_size) *all.effective_sample_size += *part.effective_sample_size;
  }
  all.value = all.value * share;
  all.per_anchor = at::cat(per_anchor);
  if (all.effective_sample_size) all.effective_sample_size = all.effective_sample_size->over(static_cast<double>(parts.size()));
  return all;
}

}  // namespace debias

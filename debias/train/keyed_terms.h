// What methods whose keys are not the batch's own rows share.
#pragma once

#include <string>
#include <vector>

#include "debias/losses/objective.h"
#include "debias/train/method.h"

namespace debias {

// Usage errors, naming the method and the term: a pairwise objective that takes no keys, or reads something else than the projection.
// Returns the pairwise terms.
std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method);

// The results of one term in several directions as one: values are added, times `share`.
ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share);

}  // namespace debias

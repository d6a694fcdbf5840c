#pragma once

#include <string>
#include <vector>

#include "debias/train/methods/method.h"

namespace debias {

// Usage errors, naming the method and the term: a pairwise objective that takes no keys, or reads something else than the projection.
// Returns the pairwise terms.
std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method);

// Share of the pairs of an anchor and a key of another image, both with labels, that are of one class: tau_plus estimates it.
inline constexpr const char* kFalseNegativeShare = "false_negative_share";
Metric false_negative_metric();

}  // namespace debias

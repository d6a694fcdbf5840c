#pragma once

#include <string>
#include <vector>

#include "debias/train/methods/method.h"

namespace debias {

// Usage errors, naming the method and the term: a pairwise objective that takes no keys, or reads something else than the projection.
// Returns the pairwise terms.
std::vector<Term> require_keyed_terms(const Recipe& recipe, const SampleTable& dataset, const std::string& method);

// Of the pairs of an anchor and a key of another image that both have labels, the share that are of one class: what tau_plus estimates.
inline constexpr const char* kFalseNegativeShare = "false_negative_share";
Metric false_negative_metric();

}  // namespace debias

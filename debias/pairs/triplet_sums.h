// Sums over pairs of a positive and a negative of each anchor.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/pairs/rows.h"

namespace debias {

// [n]: the sum over equal rows i and unequal rows j of log(e^{-epsilon} + e^{s_j - s_i}). No sum per row expresses it: n |P| N terms.
// Engines blocked and auto compute them in panels of at most panel_terms (8 MB in double, of which a panel holds a handful) and again in the
// backward pass, which has no derivative itself (usage error). Engine dense holds all of them and can be differentiated any number of times;
// more than kDenseTerms are a usage error. Engine fused is one. Takes no keys.
inline constexpr int64_t kPanelTerms = int64_t{1} << 20;
inline constexpr int64_t kDenseTerms = int64_t{1} << 27;
at::Tensor log_add_triplet_sums(const Rows& rows, double epsilon, int64_t panel_terms = kPanelTerms);

}  // namespace debias

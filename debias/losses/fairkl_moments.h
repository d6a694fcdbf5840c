// The moments of cosines over the four sets of pairs that FairKL compares.
//
// The sets contain ordered pairs (a, j), a != j, of n rows: positive = same label, negative = different labels, aligned = same bias label,
// conflicting = different ones. With bias features in place of bias labels a pair is in both sets: aligned with weight w_aj = cosine of the
// features clipped to [0, 1], conflicting with 1 - w_aj. Over a set with weights w and values x:
//
//   mean = sum w x / W,   variance = sum w (x - mean)^2 / W,   W = sum w
//
// pair_moments is the definition and holds n x n matrices. group_moments sums by groups of rows and forms no pair.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>

#include "debias/losses/group_moments.h"

namespace debias {

struct FairKlMoments {
  at::Tensor weight;    // sum of w (number of pairs), [1] over all anchors or [n] by anchor
  at::Tensor mean;      // 0 up to rounding for an empty set
  at::Tensor variance;  // >= 0 up to rounding
  // If requested, the variance of w x over all n^2 pairs, zero outside the set, divided by n^2 - 1; >= 0 up to rounding.
  at::Tensor zero_filled{};
};

// Indices of the sets.
enum FairKlSet { kPositiveAligned, kPositiveConflicting, kNegativeAligned, kNegativeConflicting };
using FairKlSets = std::array<FairKlMoments, 4>;

struct FairKlMomentRequest {
  bool by_anchor = false;
  bool self_pairs = false;      // positive aligned includes the pairs (a, a)
  bool log_distances = false;   // x = ln(2 - 2c + kDistanceOffset) in place of x = c; pair_moments only
  bool zero_filled = false;     // the variance over all pairs as well; not by anchor
  bool divide_by_rows = false;  // W = n for each anchor, n^2 for all; pair_moments only
};

inline constexpr double kDistanceOffset = 1e-6;
inline constexpr double kLeastWeight = 1e-6;  // of bias features: a set with a smaller sum is empty

// `features` is double [n, F] with rows of unit norm; if undefined, rows.bias is used.
FairKlSets pair_moments(const KeyedRows& rows, const at::Tensor& features, const FairKlMomentRequest& request);

// Computes in double for any dtype of the rows. Holds a D x D matrix of doubles for each non-empty (label, bias) group.
FairKlSets group_moments(const KeyedRows& rows, const RowGroups& groups, const FairKlMomentRequest& request);

}  // namespace debias

// The sums that two-view objectives are made of, in log space.
//
// Two views u and v of B samples give 2B rows, all of them anchors: rows 0..B-1 are view u, rows B..2B-1 view v, and the partner of row a
// is row (a + B) mod 2B. With s_ab = z_a . z_b / t, the negatives of a are all rows but itself and its partner: N = 2B - 2. Exponentials
// are never formed without the row's maximum subtracted, so t = 1e-3 is as safe as t = 1. Cost: one 2B x D x 2B product and one 2B x 2B
// matrix.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "debias/losses/objective.h"

namespace debias {

// Throws unless z is [B, V, D], floating point, not empty, with V >= 2 (too few views is a usage error, the others data errors). Returns
// the input with z in float32 or float64: bfloat16 and float16 are computed in float32, products of bfloat16 rows excepted.
ObjectiveInput checked_views(const ObjectiveInput& input, const char* objective);
void require_labels(const ObjectiveInput& input, const char* objective, const char* reason);  // usage error without labels

struct TwoViewRequest {
  int64_t first = 0, second = 1;  // views
  double temperature = 0.5;
  bool drop_false_negatives = false;
  bool group_positives = false;  // the other views join the positives of both
  bool with_self = false;        // self is wanted, and kept even if none is dropped
};

struct TwoViewSums {
  int64_t negatives = 0;     // N
  at::Tensor positive;       // [2B] s_ap
  at::Tensor mean_positive;  // [2B] log of the mean of e^s over the anchor's positives: s_ap unless positives are grouped
  at::Tensor self;           // [2B] s_aa, if asked for
  at::Tensor log_negatives;  // [2B] log of the sum of e^s over all N negatives
  at::Tensor log_kept;       // [2B] the same over those that are kept: log_negatives unless false negatives are dropped
  at::Tensor kept;           // [2B] how many those are, in the dtype of z, if some are dropped or it is asked for
};

// `input` from checked_views; needs labels when false negatives are dropped. The log of an empty sum is kLogOfNothing.
inline constexpr double kLogOfNothing = -1e30;
TwoViewSums two_view_sums(const ObjectiveInput& input, const TwoViewRequest& request, const char* objective);

// log(1 + e^x) without torch's default cut at x = 20, which is off by 2e-9.
at::Tensor log_one_plus_exp(const at::Tensor& x);
// The relative error of e^s at temperature t in the dtype of `like`, with room: an estimate this close to its floor has not fallen below
// it.
double exponential_slack(const at::Tensor& like, double temperature);

}  // namespace debias

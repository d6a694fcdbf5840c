// The sums of label-free objectives, in log space.
//
// Two views u and v of B samples give 2B rows, all of them anchors: rows 0..B-1 are view u, rows B..2B-1 are view v, and the positive of
// row a is row (a + B) mod 2B. With s_ab = z_a . z_b / t, the negatives of a are all rows except a and its positive: N = 2B - 2. No
// exponential is formed without subtracting a maximum or a bound, so t = 1e-3 is as safe as t = 1.
//
// With keys (ObjectiveInput::keys) all V*B rows are anchors. The negatives of a are the keys of other samples; its positives are the given
// ones, or the keys of its own sample.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/losses/objective.h"
#include "debias/pairs/pair_sums.h"

namespace debias {

// Returns the input with all rows in float32 or float64. bfloat16 and float16 are computed in float32, except products of bfloat16 rows.
// Data error unless z is [B, V, D], floating point and not empty, and the keys fit. Usage error for V < 2 without keys.
ObjectiveInput checked_views(const ObjectiveInput& input, const char* objective);
void require_labels(const ObjectiveInput& input, const char* objective, const char* reason);  // usage error if they are missing

// Input of a two-view loss: two views of the input or, with keys, rows with the same number of negatives.
struct ViewPair {
  ObjectiveInput input;
  int64_t first = 0, second = 1;  // views; with keys, the index of the part and 0
  int64_t negatives = 0;          // N of each anchor
  at::Tensor rows{};              // int64: with keys, the rows of the whole input; undefined: all
};

ViewPair view_pair(const ObjectiveInput& input, int64_t first, int64_t second);

// All rows against the keys, in one part for each number of negatives.
std::vector<ViewPair> keyed_parts(const ObjectiveInput& input, const char* objective);

// Anchors and keys grouped by sample, or by class if `by_class`, in the form of Rows.
Rows rows_of(const ViewPair& pair, double temperature, bool by_class, const char* objective);

// The log of the mean of e^s over each anchor's positives, and s of the positive in the numerator. With one positive both are the same.
struct Positives {
  at::Tensor numerator, log_mean;  // [rows]
};
Positives positives_of(const ViewPair& pair, const Rows& by_sample);

struct TwoViewRequest {
  double temperature = 0.5;
  bool drop_false_negatives = false;
  bool group_positives = false;  // further views are positives of both
  bool with_self = false;        // requests self, and kept even if no negative is dropped
};

struct TwoViewSums {
  int64_t negatives = 0;     // N
  at::Tensor positive;       // [rows] s_ap
  at::Tensor mean_positive;  // [rows] log of the mean of e^s over the anchor's positives
  at::Tensor self;           // [rows] s_aa, if requested
  at::Tensor log_negatives;  // [rows] log of the sum of e^s over all N negatives
  at::Tensor log_kept;       // [rows] the same over the kept negatives: log_negatives unless false negatives are dropped
  at::Tensor labelled;       // [rows] bool, if false negatives are dropped: whether the anchor has a label
  at::Tensor kept;           // [rows] number of kept negatives in the dtype of z, if false negatives are dropped or with_self
};

// `pair` is of an input from checked_views, with labels if false negatives are dropped. The log of an empty sum is kLogOfNothing.
TwoViewSums two_view_sums(const ViewPair& pair, const TwoViewRequest& request, const char* objective);

// log(1 + e^x) without torch's default threshold at x = 20, which has an error of 2e-9.
at::Tensor log_one_plus_exp(const at::Tensor& x);
// A generous bound on the relative error of e^s at temperature t in the dtype of `like`. An estimate this close to its floor does not
// count as below it.
double exponential_slack(const at::Tensor& like, double temperature);

}  // namespace debias

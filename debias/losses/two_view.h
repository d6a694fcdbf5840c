// The sums of label-free objectives, in log space.
//
// Two views u and v of B samples give 2B rows, all of them anchors: rows 0..B-1 are view u, rows B..2B-1 view v, and the positive of row a
// is row (a + B) mod 2B. With s_ab = z_a . z_b / t, the negatives of a are all rows but itself and its positive: N = 2B - 2. Exponentials
// are never formed without a maximum or a bound subtracted, so t = 1e-3 is as safe as t = 1.
//
// With keys (ObjectiveInput::keys) all V*B rows are anchors, the negatives of a are the keys of other samples, and its positives those
// given, or the keys of its own sample.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/losses/objective.h"
#include "debias/pairs/pair_sums.h"

namespace debias {

// Throws unless z is [B, V, D], floating point, not empty, with V >= 2 unless there are keys (too few views is a usage error, the others
// data errors), and unless keys and what belongs to them fit. Returns the input with all rows in float32 or float64: bfloat16 and float16
// are computed in float32, products of bfloat16 rows excepted.
ObjectiveInput checked_views(const ObjectiveInput& input, const char* objective);
void require_labels(const ObjectiveInput& input, const char* objective, const char* reason);  // usage error without labels

// Input of a two-view loss: two views of the input, or, with keys, rows that have one number of negatives.
struct ViewPair {
  ObjectiveInput input;
  int64_t first = 0, second = 1;  // views; with keys the number of the part, and 0
  int64_t negatives = 0;          // N of each anchor
  at::Tensor rows{};              // int64: with keys, which rows of the whole input these are; undefined: all
};

ViewPair view_pair(const ObjectiveInput& input, int64_t first, int64_t second);

// All rows with keys, in one part or, where the number of negatives differs, several.
std::vector<ViewPair> keyed_parts(const ObjectiveInput& input, const char* objective);

// Groups of anchors and keys by sample, or by class where `by_class`, as Rows takes them.
Rows rows_of(const ViewPair& pair, double temperature, bool by_class, const char* objective);

// log of the mean of e^s over each anchor's positives, and s of the one in the numerator (the same where there is one).
struct Positives {
  at::Tensor numerator, log_mean;  // [rows]
};
Positives positives_of(const ViewPair& pair, const Rows& by_sample);

struct TwoViewRequest {
  double temperature = 0.5;
  bool drop_false_negatives = false;
  bool group_positives = false;  // the other views join the positives of both
  bool with_self = false;        // self is wanted, and kept even if none is dropped
};

struct TwoViewSums {
  int64_t negatives = 0;     // N
  at::Tensor positive;       // [rows] s_ap
  at::Tensor mean_positive;  // [rows] log of the mean of e^s over the anchor's positives: s_ap where there is one
  at::Tensor self;           // [rows] s_aa, if requested
  at::Tensor log_negatives;  // [rows] log of the sum of e^s over all N negatives
  at::Tensor log_kept;       // [rows] the same over those that are kept: log_negatives unless false negatives are dropped
  at::Tensor labelled;       // [rows] bool, if some are dropped: whether the anchor has a label, so that some could be
  at::Tensor kept;           // [rows] how many those are, in the dtype of z, if some are dropped or it is requested
};

// `pair` of an input from checked_views; needs labels when false negatives are dropped. The log of an empty sum is kLogOfNothing.
TwoViewSums two_view_sums(const ViewPair& pair, const TwoViewRequest& request, const char* objective);

// log(1 + e^x) without torch's default cut at x = 20, which is off by 2e-9.
at::Tensor log_one_plus_exp(const at::Tensor& x);
// The relative error of e^s at temperature t in the dtype of `like`, with room: an estimate this close to its floor has not fallen below
// it.
double exponential_slack(const at::Tensor& like, double temperature);

}  // namespace debias

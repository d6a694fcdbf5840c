// FairKL: a regulariser that makes the distances of pairs equal across bias labels and within one.
//
//   R = D(positive aligned, positive conflicting) + D(negative aligned, negative conflicting)
//
// The sets contain ordered pairs a != j of the n = V*B rows: positive = same label, negative = different labels, aligned = same bias label,
// conflicting = different ones. mu and sigma^2 (population) are the moments of d = |z_a - z_j|^2 = 2 - 2c, c = z_a . z_j, over a set.
// `mode` is the distance D of two sets A and C:
//   authors    of c, not d: (mu_A - mu_C)^2 + kld (sigma_A - sigma_C)^2, less mu_C for positives, plus mu_A for negatives;
//              pairs (a, a) count as positive aligned; sigma^2 is taken over all n^2 entries of the matrix of c, zeros outside the set, and
//              divided by n^2 - 1
//   mean       (mu_A - mu_C)^2
//   stats      (mu_A - mu_C)^2 + kld (sigma_A - sigma_C)^2
//   kl         1/2 [ (sigma_A^2 + (mu_A - mu_C)^2) / sigma_C^2 - ln(sigma_A^2 / sigma_C^2) - 1 ], each sigma^2 at least variance_floor
//   jeffreys   the same plus its mirror, with A and C exchanged
//   lognormal  kl of ln(d + 1e-6), variance_floor in those units
// The default is authors, or mean with pooling anchor, which authors does not support; ObjectiveResult::mode names the mode that was
// computed. kl is the paper's formula; without a variance floor its mean accuracy was below no regulariser at every measured weight
// (docs/results/fairkl.md). A variance_floor below 1e-12 acts as 1e-12, because a collapsed set has no finite value without a
// floor.
//
// pooling batch forms one set for all anchors. pooling anchor forms the sets of each anchor, and each D is a mean over the anchors that
// have both of its sets. A set is too small if it has no pair, or, for kl, jeffreys, stats and lognormal with pooling anchor, fewer than
// two. empty skip leaves out D of such a set. empty zero treats only an empty set, as mean cosine 0 and sigma 0. auto is zero in authors,
// else skip. With nothing to compare, the value is 0 and no anchor is used.
//
// Input: z [B, V, D] with rows of unit norm, V >= 1; labels, and bias labels or `weights`. A row with an unknown label or bias label (-1)
// is in no pair and has no value. weights [B, F] are features of a frozen bias model and work in every mode: pair (a, j) is aligned with
// weight b = cosine of the features clipped to [0, 1] and conflicting with weight 1 - b; moments are weighted, and bias labels are ignored.
// In authors, b and 1 - b are the masks, and sigma^2 is that of the matrix of b c or (1 - b) c. A set whose weights sum to less than 1e-6
// is empty, and there is no minimum number of pairs. Apart from that, one-hot features give the result of bias labels. normaliser divides
// moments by the sum of weights, or (batch) by the number of rows for each anchor.
//
// Diagnostics: per_anchor is the value for every row (pooling batch), or the anchor's contribution, scaled so that the mean is the value.
// clamped counts the sets that were too small or had their variance floored.
// Engines: sums over pairs are products of group moments, linear in n (group_moments.h), except in lognormal and with weights, where engine
// fused is rejected.
// Errors: usage error for options out of range and missing labels or bias labels; data error for shapes, dtypes, and a zero row of weights.
//
// Sources: Barbano et al. 2023 (ICLR), eqs. 10 and 11, appendix B.2.4 for weights. authors is the released code, which contains no KL
// divergence. variant: paper is kl with moments by anchor, divided by the batch size, as printed; the released code pools over the batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class FairKlMode { kAuthors, kMean, kStats, kKl, kJeffreys, kLogNormal };
enum class FairKlPooling { kBatch, kAnchor };
enum class FairKlEmpty { kAuto, kSkip, kZero };
enum class FairKlNormaliser { kWeights, kBatch };

constexpr auto enum_words(FairKlMode) { return named("authors", "mean", "stats", "kl", "jeffreys", "lognormal"); }
constexpr auto enum_words(FairKlPooling) { return named("batch", "anchor"); }
constexpr auto enum_words(FairKlEmpty) { return named("auto", "skip", "zero"); }
constexpr auto enum_words(FairKlNormaliser) { return named("weights", "batch"); }

struct FairKlOptions {
  static constexpr char kName[] = "fairkl";
  std::optional<FairKlMode> mode = {};  // by default authors, or mean with pooling by anchor, which authors does not support
  double kld = 1;
  FairKlPooling pooling = FairKlPooling::kBatch;
  FairKlEmpty empty = FairKlEmpty::kAuto;
  double variance_floor = 1e-4;
  FairKlNormaliser normaliser = FairKlNormaliser::kWeights;
  void describe(OptionVisitor& o);

  FairKlMode chosen_mode() const { return mode.value_or(pooling == FairKlPooling::kAnchor ? FairKlMode::kMean : FairKlMode::kAuthors); }
  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
  std::string caution() const;
};

inline ObjectiveResult fairkl(const ObjectiveInput& input, const FairKlOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult fairkl(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const FairKlOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels, .bias = bias}, options);
}

}  // namespace debias

// FairKL: a regulariser that makes pairs of rows as near to each other across bias values as within one.
//
//   R = D(positive aligned, positive conflicting) + D(negative aligned, negative conflicting)
//
// Over ordered pairs a != j of the n = V*B rows: positive = same label, negative = different labels, aligned = same bias value, conflicting
// = different ones. With mu and sigma^2 (population) of d = |z_a - z_j|^2 = 2 - 2c, c = z_a . z_j, over a set, D of sets A and C is
//   kl         1/2 [ (sigma_A^2 + (mu_A - mu_C)^2) / sigma_C^2 - ln(sigma_A^2 / sigma_C^2) - 1 ], each sigma^2 at least variance_floor
//   jeffreys   the same plus its mirror, A and C exchanged
//   mean       (mu_A - mu_C)^2
//   stats      (mu_A - mu_C)^2 + kld (sigma_A - sigma_C)^2
//   lognormal  kl of ln(d + 1e-6), variance_floor in those units
//   authors    of c, not d: (mu_A - mu_C)^2 + kld (sigma_A - sigma_C)^2, less mu_C for positives, plus mu_A for negatives;
//              pairs (a, a) count as positive aligned; sigma^2 over all n^2 entries of the matrix of c, zeros outside the set, divided by
//              n^2 - 1
// A variance_floor below 1e-12 acts as 1e-12, or a collapsed set would have no finite value.
//
// pooling batch: one set for all anchors. pooling anchor: sets of one anchor, each D a mean over the anchors that have both of its sets.
// A set is too small when it has no pair; for kl, jeffreys, stats and lognormal under pooling anchor, when it has fewer than two.
// empty skip: then D is left out. empty zero: only an empty set counts, and has mean cosine 0 and sigma 0. auto: zero in authors, else
// skip. With nothing to compare the value is 0 and no anchor is used.
//
// z [B, V, D], V >= 1, rows of unit norm; labels, and bias values or `weights`. A row of unknown (-1) label or bias value is in no pair
// and has no value. weights [B, F] are features of a frozen bias model: pair (a, j) is then aligned with weight w = cosine of the features
// clipped to [0, 1] and conflicting with 1 - w, moments are weighted, a set of less than 1e-6 is empty, and bias values are not read.
// normaliser: moments divided by sum w, or (batch) by the number of rows for each anchor.
//
// Evidence: per_anchor is the value for every row (pooling batch), or what the anchor adds to it, scaled so that the mean is the value;
// clamped counts sets that were too small or had their variance floored. Engines: sums over pairs are products of group moments, linear in
// n (group_moments.h), except in lognormal and with weights, where engine fused is refused.
// Throws: usage error on options out of range, missing labels or bias; data error on shapes and dtypes.
//
// Sources: Barbano et al. 2023 (ICLR), eq. 10 and 11, appendix B.2.4 for weights; authors is the released code, which holds no KL
// divergence. The paper divides by the batch size (normaliser batch) and takes moments by anchor, which variant: paper is; its code pools
// over the batch.
#pragma once

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

namespace debias {

enum class FairKlMode { kKl, kJeffreys, kMean, kStats, kLogNormal, kAuthors };
enum class FairKlPooling { kBatch, kAnchor };
enum class FairKlEmpty { kAuto, kSkip, kZero };
enum class FairKlNormaliser { kWeights, kBatch };

template <>
struct EnumNames<FairKlMode> {
  static constexpr std::array<std::pair<std::string_view, FairKlMode>, 6> values = {{{"kl", FairKlMode::kKl},
                                                                                     {"jeffreys", FairKlMode::kJeffreys},
                                                                                     {"mean", FairKlMode::kMean},
                                                                                     {"stats", FairKlMode::kStats},
                                                                                     {"lognormal", FairKlMode::kLogNormal},
                                                                                     {"authors", FairKlMode::kAuthors}}};
};
template <>
struct EnumNames<FairKlPooling> {
  static constexpr std::array<std::pair<std::string_view, FairKlPooling>, 2> values = {
      {{"batch", FairKlPooling::kBatch}, {"anchor", FairKlPooling::kAnchor}}};
};
template <>
struct EnumNames<FairKlEmpty> {
  static constexpr std::array<std::pair<std::string_view, FairKlEmpty>, 3> values = {
      {{"auto", FairKlEmpty::kAuto}, {"skip", FairKlEmpty::kSkip}, {"zero", FairKlEmpty::kZero}}};
};
template <>
struct EnumNames<FairKlNormaliser> {
  static constexpr std::array<std::pair<std::string_view, FairKlNormaliser>, 2> values = {
      {{"weights", FairKlNormaliser::kWeights}, {"batch", FairKlNormaliser::kBatch}}};
};

class FairKlOptions {
 public:
  DEBIAS_OPTION(FairKlOptions, FairKlMode, mode, FairKlMode::kKl)
  DEBIAS_OPTION(FairKlOptions, double, kld, 1)
  DEBIAS_OPTION(FairKlOptions, FairKlPooling, pooling, FairKlPooling::kBatch)
  DEBIAS_OPTION(FairKlOptions, FairKlEmpty, empty, FairKlEmpty::kAuto)
  DEBIAS_OPTION(FairKlOptions, double, variance_floor, 1e-4)
  DEBIAS_OPTION(FairKlOptions, FairKlNormaliser, normaliser, FairKlNormaliser::kWeights)
  static const OptionTable<FairKlOptions>& table();
};

ObjectiveResult fairkl(const ObjectiveInput& input, const FairKlOptions& options);
ObjectiveResult fairkl(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias, const FairKlOptions& options = {});

class FairKlImpl : public ObjectiveModule<FairKlOptions, fairkl> {
 public:
  using ObjectiveModule::ObjectiveModule;
  ObjectiveResult forward(const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias) {
    return fairkl(z, labels, bias, options);
  }
};
TORCH_MODULE(FairKl);

ObjectiveEntry fairkl_entry();

}  // namespace debias

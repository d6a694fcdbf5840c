// FairKL: a regulariser that makes rows as near to each other across bias labels as within one.
//
//   R = D(positive aligned, positive conflicting) + D(negative aligned, negative conflicting)
//
// Over ordered pairs a != j of the n = V*B rows: positive = same label, negative = different labels, aligned = same bias label, conflicting
// = different ones. mu and sigma^2 (population) are the moments of d = |z_a - z_j|^2 = 2 - 2c, c = z_a . z_j, over a set. D of sets A and C:
//   authors    of c, not d: (mu_A - mu_C)^2 + kld (sigma_A - sigma_C)^2, less mu_C for positives, plus mu_A for negatives;
//              pairs (a, a) count as positive aligned; sigma^2 is taken over all n^2 entries of the matrix of c, zeros outside the set, and
//              divided by n^2 - 1
//   mean       (mu_A - mu_C)^2
//   stats      (mu_A - mu_C)^2 + kld (sigma_A - sigma_C)^2
//   kl         1/2 [ (sigma_A^2 + (mu_A - mu_C)^2) / sigma_C^2 - ln(sigma_A^2 / sigma_C^2) - 1 ], each sigma^2 at least variance_floor
//   jeffreys   the same plus its mirror, A and C exchanged
//   lognormal  kl of ln(d + 1e-6), variance_floor in those units
// The default is authors, or mean with pooling anchor, which authors does not have; ObjectiveResult::mode names the one computed. kl, the
// paper's formula, trained worse than no regulariser in our measurements. A variance_floor below 1e-12 acts as 1e-12: without a floor a
// collapsed set has no finite value.
//
// pooling batch: one set for all anchors. pooling anchor: sets of one anchor, each D a mean over the anchors that have both of its sets.
// A set is too small when it has no pair; for kl, jeffreys, stats and lognormal under pooling anchor, when it has fewer than two.
// empty skip: D of such a set is left out. empty zero: only an empty set counts, and has mean cosine 0 and sigma 0. auto: zero in authors,
// else skip. With nothing to compare the value is 0 and no anchor is used.
//
// z [B, V, D], V >= 1, rows of unit norm; labels, and bias labels or `weights`. A row of unknown (-1) label or bias label is in no pair
// and has no value. weights [B, F] are features of a frozen bias model, in every mode: pair (a, j) is aligned with weight b = cosine of the
// features clipped to [0, 1] and conflicting with 1 - b, moments are weighted, and bias labels are not read. b and 1 - b are the masks of
// authors, which takes sigma^2 of the matrix of b c or (1 - b) c. A set of less than 1e-6 is empty, and no number of pairs is requested
// beyond that; else one-hot features are bias labels.
// normaliser: moments divided by the sum of weights, or (batch) by the number of rows for each anchor.
//
// Diagnostics: per_anchor is the value for every row (pooling batch), or what the anchor adds to it, scaled so that the mean is the value;
// clamped counts sets that were too small or had their variance floored. Engines: sums over pairs are products of group moments, linear in
// n (group_moments.h), except in lognormal and with weights, where engine fused is rejected.
// Throws: usage error on options out of range, missing labels or bias; data error on shapes and dtypes, and on a zero row of weights.
//
// Sources: Barbano et al. 2023 (ICLR), eq. 10 and 11, appendix B.2.4 for weights; authors is the released code, which holds no KL
// divergence. variant: paper is kl with moments by anchor and divided by the batch size, as printed; the code pools over the batch.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

namespace debias {

enum class FairKlMode { kAuthors, kMean, kStats, kKl, kJeffreys, kLogNormal };
enum class FairKlPooling { kBatch, kAnchor };
enum class FairKlEmpty { kAuto, kSkip, kZero };
enum class FairKlNormaliser { kWeights, kBatch };

template <>
struct EnumNames<FairKlMode> {
  static constexpr std::array<std::pair<std::string_view, FairKlMode>, 6> values = {{{"authors", FairKlMode::kAuthors},
                                                                                     {"mean", FairKlMode::kMean},
                                                                                     {"stats", FairKlMode::kStats},
                                                                                     {"kl", FairKlMode::kKl},
                                                                                     {"jeffreys", FairKlMode::kJeffreys},
                                                                                     {"lognormal", FairKlMode::kLogNormal}}};
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
  FairKlOptions& mode(FairKlMode chosen) {
    mode_ = chosen;
    return *this;
  }
  // The chosen mode. By default authors, or mean with pooling by anchor, which authors does not have.
  FairKlMode mode() const { return mode_.value_or(pooling_ == FairKlPooling::kAnchor ? FairKlMode::kMean : FairKlMode::kAuthors); }
  std::optional<FairKlMode> mode_;
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

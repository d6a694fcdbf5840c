// Losses that take the share of an anchor's own class out of the negatives, or put it into the positive: debiased_negatives,
// debiased_positives and their mixture, combined_debiased.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "debias/core/options.h"
#include "debias/losses/comparison.h"
#include "debias/losses/objective.h"

namespace debias {

// The sum over an anchor's negatives without those of its own class, estimated without labels, and the contrastive loss of that estimate.
//
//   g = (1 / tau_minus) ( S / N - tau_plus P ),     L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ]
//
// S is the sum of e^s over the N negatives, or an importance-weighted sum in its place; P is the mean of e^s over the positives. g
// estimates a mean of e^s and can fall below the smallest possible value of that mean; Clamp sets what then happens to the anchor.
enum class Clamp { kFloor, kFallback, kPositive, kNone };

constexpr auto enum_words(Clamp) { return named("floor", "fallback", "positive", "none"); }

// Losses, clamped anchors, and the smallest g before any clamp. log_sum [anchors] is log S, kLogOfNothing (rows.h) for an empty sum;
// multiplier: of s in the terms of S, which scales the rounding error. Without negatives every loss is 0.
AnchorLosses negatives_estimate(const Anchors& anchors, const at::Tensor& log_sum, double tau_plus, Clamp clamp, double multiplier = 1);

// The debiased contrastive loss: InfoNCE whose sum over negatives is corrected, without labels, for negatives of the anchor's class.
//
//   g = (1 / tau_minus) ( mean over the N negatives of e^{s_aj}  -  tau_plus mean over the M positives of e^{s_am} )
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ],      value = mean over the anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; tau_plus is the probability that two samples share a class; tau_minus = 1
// - tau_plus; N = 2B - 2. g estimates a mean of e^s and can fall below the smallest possible value of that mean. `clamp` sets what then
// happens to the anchor:
//   floor     g = e^{-1/t}, the smallest e^s of unit rows
//   positive  g = 1e-30 of the row's largest e^s, for rows of any norm
//   fallback  the anchor's InfoNCE loss (N g = sum over negatives)
//   none      nothing; an anchor with e^{s_ap} + N g <= 0 has no loss and leaves the mean
// Where floor or positive acts, N g is a constant and has no gradient. tau_plus = 0 is InfoNCE, because e^s of unit rows is above the
// floor.
//
// Input: z [B, V, D] with rows of unit norm. For V > 2, `aggregation` grouping takes the rows of views 0 and 1 as anchors and negatives,
// and the M = V - 1 other views of an anchor as positives; only its positive view is in the numerator. pairs averages the two-view loss
// over all unordered pairs of views. With drop_false_negatives, which needs labels, negatives of the anchor's class count as zero and N is
// unchanged. A single sample has no negatives and loss 0.
// Scores (objective.h): draws from a bank with clamp fallback at temperatures of at least 2e-3, and neighbours in a text with clamp positive.
// Scores have neither unit rows, which the floor e^{-1/t} assumes, nor labels or views. With tau_plus = 0 the loss of scores is infonce's.
// Diagnostics: min_estimate is the smallest g before any clamp, per negative (null without negatives); clamped counts the anchors on which
// floor, fallback or positive acted.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Source: Chuang et al. 2020, eqs. 7 and 8 (Q = N). Differences from their code: it has M = 1 and `floor` only; it sums raw exponentials,
// where sums here stay in log space. Both divide cosines by t once; the text's sphere of radius 1/t would give the floor e^{-1/t^2}. Small
// temperatures need `fallback` (t = 0.07 with CMC on ImageNet-100).
struct DebiasedNegativesOptions {
  static constexpr char kName[] = "debiased_negatives";
  static constexpr std::array kScoreForms = {ScoreForm::kDraws, ScoreForm::kNeighbours};
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  double tau_plus = 0.1;
  Clamp clamp = Clamp::kFloor;
  Aggregation aggregation = Aggregation::kGrouping;
  bool drop_false_negatives = false;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
  ObjectiveResult on_scores(const Scores& scores) const;
  std::string unfit_for(ScoreForm form) const;
};

inline ObjectiveResult debiased_negatives(const ObjectiveInput& input, const DebiasedNegativesOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult debiased_negatives(const at::Tensor& z, const DebiasedNegativesOptions& options = {},
                                          const at::Tensor& labels = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

// The contrastive loss with a corrected positive: an estimate of the expectation over true positives, without labels.
//
//   P  = (S + p + e^{s_aa}) / (N + 2),  P- = S / N          S = sum over the N negatives of e^{s_aj},  p = e^{s_ap}
//   num = P - tau_minus P-,             L_a = -log[ num / (num + N tau_plus P-) ] >= 0,      value = mean over the anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; s_aa = 1/t for unit rows; tau_plus is the probability that two samples
// share a class; tau_minus = 1 - tau_plus; N = 2B - 2. The option `form`:
//   eq12   as above
//   sum    P = S + p + e^{s_aa} and P- = S: sums in place of means; num > 0 always
//   final  as eq12, but different with drop_false_negatives, see below
// num of eq12 is positive for N >= 2 tau_minus / tau_plus and may be negative below that (tau_plus = 0.1, t = 0.5: N <= 6). `guard` sets
// what happens to an anchor whose num is below tau_plus e^{-1/t}, the smallest value of what it estimates:
//   floor     num takes that value, a constant without gradient
//   fallback  the anchor's InfoNCE loss
//   none      nothing; an anchor with num <= 0 has no loss and leaves the mean
// With tau_plus = 0, L_a = 0 where num > 0, and log(1 + S e^{1/t}), the limit, where the floor acts. L_a tends to log(N + 1) as N grows.
// The positive pair enters with weight 1/(N + 2) only, so gradients are small: train with Adam rather than SGD at an InfoNCE learning rate.
//
// Input: z [B, V, D] with rows of unit norm. For V > 2, `aggregation` grouping takes the rows of views 0 and 1 as anchors and negatives,
// and p in num is the mean of e^s over the anchor's M = V - 1 other views (one entry; the divisors are unchanged). pairs averages the
// two-view loss over all unordered pairs of views. A single sample, or an anchor without true negatives, has loss 0.
// drop_false_negatives (needs labels): P still includes all rows, P- only true negatives (eq12: divided by their number; N tau_plus P-
// keeps N = 2B - 2). Images of the anchor's class then raise num and attract the anchor, so eq12 and sum become supervised. final is the
// control without this: it drops rows of the anchor's class from P too, including the anchor's own entry but not its positive, and divides
// by 2B and N as if nothing were dropped.
// Diagnostics: min_estimate is the smallest num before any guard (null without negatives); clamped counts the anchors on which the guard
// acted.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Source: "Mitigating Biases in Contrastive Learning", eqs. 12 to 16. Differences from the authors' code: it has no guard (NaN for small
// batches). Its last version is `final`; in eq12 both averages are over the rows that they estimate. `sum` is the version behind its
// figures 1 to 4. Here all sums stay in log space.
enum class PositiveForm { kEq12, kSum, kFinal };
enum class Guard { kFloor, kFallback, kNone };

constexpr auto enum_words(PositiveForm) { return named("eq12", "sum", "final"); }

constexpr auto enum_words(Guard) { return named("floor", "fallback", "none"); }

struct DebiasedPositivesOptions {
  static constexpr char kName[] = "debiased_positives";
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  double tau_plus = 0.1;
  PositiveForm form = PositiveForm::kEq12;
  Guard guard = Guard::kFloor;
  Aggregation aggregation = Aggregation::kGrouping;
  bool drop_false_negatives = false;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult debiased_positives(const ObjectiveInput& input, const DebiasedPositivesOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult debiased_positives(const at::Tensor& z, const DebiasedPositivesOptions& options = {},
                                          const at::Tensor& labels = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

// A mixture of both debiased losses: one corrects the sum over negatives, the other the positive.
//
//   value = mix debiased_negatives + (1 - mix) debiased_positives,     mix in [0, 1]
//
// debiased_negatives and debiased_positives define the parts and their special cases. Options that both have are shared, and so are the
// similarities. A part with share 0 is not computed, so that mix = 1 and mix = 0 are the parts themselves, with their diagnostics. In
// between, an anchor that one part drops (clamp none, guard none) leaves the mean of that part only, and its own value is NaN. clamped is
// the sum over the parts, min_estimate the smaller of g and num. At equal value debiased_positives has far smaller gradients than
// debiased_negatives, so mix = 0.5 mostly trains the latter.
//
// Input: z [B, V, D] with rows of unit norm; `aggregation` applies to both parts for V > 2. A single sample has no negatives and loss 0.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes, dtypes, labels and sample keys.
//
// Source: the released code of "Mitigating Biases in Contrastive Learning"; the paper does not have this combination.
struct CombinedDebiasedOptions {
  static constexpr char kName[] = "combined_debiased";
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  double mix = 0.5;
  double tau_plus = 0.1;
  Clamp clamp = Clamp::kFloor;
  PositiveForm form = PositiveForm::kEq12;
  Guard guard = Guard::kFloor;
  Aggregation aggregation = Aggregation::kGrouping;
  bool drop_false_negatives = false;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult combined_debiased(const ObjectiveInput& input, const CombinedDebiasedOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult combined_debiased(const at::Tensor& z, const CombinedDebiasedOptions& options = {}, const at::Tensor& labels = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

}  // namespace debias

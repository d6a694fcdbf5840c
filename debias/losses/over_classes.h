// Losses whose positives are the rows of the anchor's class: supcon, eps_supcon, eps_supinfonce.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

// Reduction of an anchor's terms, one for each positive.
enum class OverPositives { kMean, kSum };

constexpr auto enum_words(OverPositives) { return named("mean", "sum"); }

// SupCon, the supervised contrastive loss: every row of the anchor's class is a positive.
//
//   out:  L_a = -1/|P| sum over p in P(a) of log[ e^{s_ap} / sum over k != a of e^{s_ak} ]
//   in:   L_a = -log[ 1/|P| sum over p in P(a) of e^{s_ap} / sum over k != a of e^{s_ak} ],     s_ab = z_a . z_b / t
//
// P(a) contains the other rows of a's class (comparison.h); without labels a's other views, V >= 2, and with two views that is InfoNCE. in
// <= out, with equality where all positives are equally near. value = mean over all n = V*B rows. An anchor without positives has loss 0
// and counts in the mean.
// Input: z [B, V, D] with rows of unit norm. base_temperature multiplies the loss by t / base_temperature.
// Errors: usage error for options out of range and for one view without labels; data error for shapes and dtypes.
//
// Source: Khosla et al. 2020, eqs. 2 and 3. Differences from their code: it always multiplies by t / 0.07 (variant `authors`) and has `out`
// only. Older copies of it give NaN for an anchor without positives, and treat unknown labels as one class.
enum class SupConForm { kOut, kIn };

constexpr auto enum_words(SupConForm) { return named("out", "in"); }

struct SupConOptions {
  static constexpr char kName[] = "supcon";
  double temperature = 0.1;
  std::optional<double> base_temperature = std::nullopt;
  SupConForm form = SupConForm::kOut;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult supcon(const ObjectiveInput& input, const SupConOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult supcon(const at::Tensor& z, const at::Tensor& labels, const SupConOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

// SupCon with a margin between positives and negatives, and no margin among positives.
//
//   L_a = epsilon - 1/|P| sum over i in P(a) of log[ e^{s_i} / ( sum over t in P(a) of e^{s_t - epsilon} + sum over j of e^{s_j} ) ]
//
// Symbols: s_i, s_t and s_j are the similarities z_a . z_b / t of the anchor to positives (comparison.h) and to the N rows of other
// classes. L_a is the smooth form of max(0, s_j - s_i + epsilon, s_t - s_i); epsilon = 0 is SupCon's `out`. value = mean over all n = V*B
// rows.
// Options: add_epsilon = false leaves the leading epsilon out, as the released code does; gradients are the same. It must be false for
// epsilon = inf, where the positives leave the denominator (InfoL1O). over_positives = sum gives |P| times the mean. base_temperature
// multiplies the loss by t / base_temperature.
// Input: z [B, V, D] with rows of unit norm, V >= 1. An anchor without positives has loss 0 and counts in the mean. Without negatives the
// denominator has the positives alone; for epsilon = inf the loss is then 0.
// Errors: usage error for options out of range, missing labels, and an infinite epsilon with add_epsilon; data error for shapes and dtypes.
//
// Source: Barbano et al. 2023, eq. 5. Differences from their code: it adds no epsilon, multiplies by t / 0.07 (variant `authors`), and adds
// 1e-6 inside the log in units of the row's largest e^s, which log space does not need.
struct EpsSupConOptions {
  static constexpr char kName[] = "eps_supcon";
  double temperature = 0.1;
  std::optional<double> base_temperature = std::nullopt;
  double epsilon = 0.25;
  bool add_epsilon = true;
  OverPositives over_positives = OverPositives::kMean;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult eps_supcon(const ObjectiveInput& input, const EpsSupConOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult eps_supcon(const at::Tensor& z, const at::Tensor& labels, const EpsSupConOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

// InfoNCE with a margin whose positives are the rows of the anchor's class, each compared with the negatives alone.
//
// s_j and s_i are the similarities z_a . z_b / t of anchor a to a negative j (another class, N of them) and a positive i (comparison.h, |P|
// of them). All forms agree for |P| = N = 1:
//   c   L_a = sum over i of log( e^{-eps} + sum over j of e^{s_j - s_i} )          the method
//   a   L_a = log( e^{-eps} + sum over i and j of e^{s_j - s_i} )
//   b   L_a = sum over j of log( e^{-eps} + sum over i of e^{s_j - s_i} )
//   d   L_a = sum over i and j of log( e^{-eps} + e^{s_j - s_i} )
//   in  L_a = -log[ sum over i of e^{s_i} / ( e^{-eps} / |P| sum over i of e^{s_i} + sum over j of e^{s_j} ) ]
// value = mean over all n = V*B rows. over_positives = mean divides by the number of outer terms (c |P|, b N, d |P| N, a and in 1). epsilon
// = 0 is not SupCon, because other positives are never in the denominator. epsilon = inf drops e^{-eps}: InfoL1O in form c.
//
// Input: z [B, V, D] with rows of unit norm, V >= 1. An anchor without positives has loss 0 and counts in the mean. Without negatives the
// loss is -eps for each outer term in c and a, -eps - log |P| in form in (0 for epsilon = inf), and 0 in b and d. log_eps (form c) adds
// log_eps e^{m} to the sum over j of e^{s_j}, as the released code does. m is the row's maximum without gradient, s_aa for unit rows; the
// term matters only if all negatives are far and e^{-eps} is tiny. base_temperature multiplies the loss by t / base_temperature.
// Cost: form d costs n |P| N, computed in panels without a second derivative; engine dense holds all of them. The other forms are sums over
// rows.
// Errors: usage error for options out of range and missing labels; data error for shapes and dtypes.
//
// Source: Barbano et al. 2023, eq. 4 (c, as a sum), eq. 17 (a to d). Differences from their code: it has c as a mean over positives,
// multiplied by t / 0.07, with log_eps = 1e-6 (variant `authors`), and `in`; it uses raw exponentials, this code log space.
enum class EpsForm { kC, kA, kB, kD, kIn };

constexpr auto enum_words(EpsForm) { return named("c", "a", "b", "d", "in"); }

struct EpsSupInfoNceOptions {
  static constexpr char kName[] = "eps_supinfonce";
  double temperature = 0.1;
  std::optional<double> base_temperature = std::nullopt;
  double epsilon = 0.25;
  EpsForm form = EpsForm::kC;
  OverPositives over_positives = OverPositives::kMean;
  double log_eps = 0;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult eps_supinfonce(const ObjectiveInput& input, const EpsSupInfoNceOptions& options) {
  return checked_loss(input, options);
}
inline ObjectiveResult eps_supinfonce(const at::Tensor& z, const at::Tensor& labels, const EpsSupInfoNceOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

}  // namespace debias

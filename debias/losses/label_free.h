// Losses of views alone whose negatives are taken as they are: infonce, unbiased, eps_infonce.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

// InfoNCE, also called NT-Xent or SimCLR's loss: the contrastive loss without a correction for sampling bias.
//
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + sum over the negatives j of e^{s_aj}) ],   s_ab = z_a . z_b / t,   value = mean over the 2B anchors
//
// p is the other view of a's sample; the negatives are both views of every other sample, N = 2B - 2 (comparison.h). L_a >= 0.
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives and loss 0. With drop_false_negatives, which needs labels, negatives of the anchor's class count as zero; if none is left, L_a
// = 0. base_temperature multiplies the loss by t / base_temperature (Khosla et al. 2020, released code).
// Scores (objective.h): draws from a bank, also by noise-contrastive estimation, at temperatures of at least 2e-3; neighbours in a text, with
// the official negatives unless the method sets others. Scores have no labels, so drop_false_negatives is rejected for them.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Sources: van den Oord et al. 2018, eq. 4; Chen et al. 2020 (SimCLR), eq. 1; "biased" in Chuang et al. 2020, eq. 1. The released programs
// sum raw exponentials in the network's precision; here sums stay in log space, and half precision is computed in float32.
struct InfoNceOptions {
  static constexpr char kName[] = "infonce";
  static constexpr std::array kScoreForms = {ScoreForm::kDraws, ScoreForm::kNceDraws, ScoreForm::kNeighbours};
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  bool drop_false_negatives = false;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
  ObjectiveResult on_scores(const Scores& scores) const;
  std::string unfit_for(ScoreForm form) const;
};

inline ObjectiveResult infonce(const ObjectiveInput& input, const InfoNceOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult infonce(const at::Tensor& z, const InfoNceOptions& options = {}, const at::Tensor& labels = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

// InfoNCE with true negatives only: it uses the labels to compute the loss that debiasing estimates without them.
//
//   rescale   L_a = -log[ e^{s_ap} / (e^{s_ap} + N mean over true negatives of e^{s_aj}) ]
//   drop      their sum in place of N times their mean
//
// Symbols: s_ab = z_a . z_b / t; N = 2B - 2. True negatives are the rows of other samples with another label; -1 (unknown) differs from
// every label, including -1. An anchor without true negatives leaves the mean; with no anchor left the value is 0. value = mean over the
// anchors that are used.
// Input: z [B, V, D] with rows of unit norm, and labels; for V > 2 the loss is the mean over all unordered pairs of views.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Sources: rescale is Chuang et al. 2020, eq. 2 with Q = N (their code does not compute it). drop is the released code of the "Mitigating
// Biases" paper: masked entries become zero, and N is unchanged.
enum class TrueNegatives { kRescale, kDrop };

constexpr auto enum_words(TrueNegatives) { return named("rescale", "drop"); }

struct UnbiasedOptions {
  static constexpr char kName[] = "unbiased";
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  TrueNegatives negatives = TrueNegatives::kRescale;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult unbiased(const ObjectiveInput& input, const UnbiasedOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult unbiased(const at::Tensor& z, const at::Tensor& labels, const UnbiasedOptions& options = {}) {
  return checked_loss({.z = z, .labels = labels}, options);
}

// InfoNCE with a margin: each negative should be less similar than the positive by at least epsilon.
//
//   L_a = -log[ e^{s_ap} / (e^{s_ap - epsilon} + sum over the negatives j of e^{s_aj}) ]
//       = log( e^{-epsilon} + e^{x_a} ),   x_a = log of the sum over negatives of e^{s_aj} - s_ap,   value = mean over the 2B anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the other view of a's sample; the negatives are both views of every other sample, N = 2B - 2. L_a is
// the smooth maximum of -epsilon and s_aj - s_ap. It decreases in epsilon, from InfoNCE at epsilon = 0 to InfoL1O (L_a = x_a) at epsilon =
// inf, and may be negative (L_a >= -epsilon). epsilon is in units of s: it is a margin of epsilon * t between cosines, useful up to 2 / t.
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives: L_a = -epsilon, and 0 for epsilon = inf. base_temperature multiplies the loss by t / base_temperature.
// Errors: usage error for V < 2 and options out of range; data error for shapes and dtypes.
//
// Sources: Barbano et al. 2023, eq. 2; InfoL1O: Poole et al. 2019. Differences from their code, where this loss is the label-free case of
// eps_supinfonce: it adds 1e-6 inside the log, in units of the row's largest e^s, and multiplies by t / 0.07 (variant `authors`).
struct EpsInfoNceOptions {
  static constexpr char kName[] = "eps_infonce";
  double temperature = 0.1;
  std::optional<double> base_temperature = std::nullopt;
  double epsilon = 0.25;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult eps_infonce(const ObjectiveInput& input, const EpsInfoNceOptions& options) { return checked_loss(input, options); }
inline ObjectiveResult eps_infonce(const at::Tensor& z, const EpsInfoNceOptions& options = {}) { return checked_loss({.z = z}, options); }

}  // namespace debias

// InfoNCE, also called NT-Xent or SimCLR's loss: the contrastive loss without a correction for sampling bias.
//
//   L_a = -log[ e^{s_ap} / (e^{s_ap} + sum over the negatives j of e^{s_aj}) ],   s_ab = z_a . z_b / t,   value = mean over the 2B anchors
//
// p is the other view of a's sample; the negatives are both views of every other sample, N = 2B - 2 (two_view.h). L_a >= 0.
// Input: z [B, V, D] with rows of unit norm; for V > 2 the loss is the mean over all unordered pairs of views. A single sample has no
// negatives and loss 0. With drop_false_negatives, which needs labels, negatives of the anchor's class count as zero; if none is left, L_a
// = 0. base_temperature multiplies the loss by t / base_temperature (Khosla et al. 2020, released code).
// Scores (scores.h): draws from a bank, also by noise-contrastive estimation, at temperatures of at least 2e-3; neighbours in a text, with
// the official negatives unless the method sets others. Scores have no labels, so drop_false_negatives is rejected for them.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Sources: van den Oord et al. 2018, eq. 4; Chen et al. 2020 (SimCLR), eq. 1; "biased" in Chuang et al. 2020, eq. 1. The released programs
// sum raw exponentials in the network's precision; here sums stay in log space, and half precision is computed in float32.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

class InfoNceOptions {
 public:
  DEBIAS_OPTION(InfoNceOptions, double, temperature, 0.5)
  DEBIAS_OPTION(InfoNceOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(InfoNceOptions, bool, drop_false_negatives, false)
  static const OptionTable<InfoNceOptions>& table();
};

ObjectiveResult infonce(const ObjectiveInput& input, const InfoNceOptions& options);
ObjectiveResult infonce(const at::Tensor& z, const InfoNceOptions& options = {}, const at::Tensor& labels = {});

ObjectiveEntry infonce_entry();

}  // namespace debias

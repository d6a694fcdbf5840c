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
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

class EpsInfoNceOptions {
 public:
  DEBIAS_OPTION(EpsInfoNceOptions, double, temperature, 0.1)
  DEBIAS_OPTION(EpsInfoNceOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(EpsInfoNceOptions, double, epsilon, 0.25)
  static const OptionTable<EpsInfoNceOptions>& table();
};

ObjectiveResult eps_infonce(const ObjectiveInput& input, const EpsInfoNceOptions& options);
ObjectiveResult eps_infonce(const at::Tensor& z, const EpsInfoNceOptions& options = {});

ObjectiveEntry eps_infonce_entry();

}  // namespace debias

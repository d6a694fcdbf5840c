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
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class TrueNegatives { kRescale, kDrop };

template <>
struct EnumNames<TrueNegatives> {
  static constexpr std::array<std::pair<std::string_view, TrueNegatives>, 2> values = {
      {{"rescale", TrueNegatives::kRescale}, {"drop", TrueNegatives::kDrop}}};
};

class UnbiasedOptions {
 public:
  DEBIAS_OPTION(UnbiasedOptions, double, temperature, 0.5)
  DEBIAS_OPTION(UnbiasedOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(UnbiasedOptions, TrueNegatives, negatives, TrueNegatives::kRescale)
  static const OptionTable<UnbiasedOptions>& table();
};

ObjectiveResult unbiased(const ObjectiveInput& input, const UnbiasedOptions& options);
ObjectiveResult unbiased(const at::Tensor& z, const at::Tensor& labels, const UnbiasedOptions& options = {});

ObjectiveEntry unbiased_entry();

}  // namespace debias

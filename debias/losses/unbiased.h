// InfoNCE with true negatives only: the loss that debiasing estimates without labels, here computed with them.
//
//   rescale   L_a = -log[ e^{s_ap} / (e^{s_ap} + N mean over true negatives of e^{s_aj}) ]
//   drop      their sum in place of N times their mean
//
// s_ab = z_a . z_b / t; true negatives are the rows of other samples whose label differs from a's (a label of -1 differs from every label,
// -1 included); N = 2B - 2. An anchor without true negatives leaves the mean; with no anchor left the value is 0. Value: mean over the
// anchors in use. z [B, V, D], rows of unit norm; V > 2: the mean over all unordered pairs of views. Needs labels.
// Throws: usage error on V < 2, options out of range, missing labels; data error on shapes and dtypes.
//
// Sources: rescale is Chuang et al. 2020 eq. 2 with Q = N (no program of theirs computes it); drop is what the released code of the
// "Mitigating Biases" paper does: masked entries become zero, N stays.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

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

class UnbiasedImpl : public ObjectiveModule<UnbiasedOptions, unbiased> {
 public:
  using ObjectiveModule::ObjectiveModule;
};
TORCH_MODULE(Unbiased);

ObjectiveEntry unbiased_entry();

}  // namespace debias

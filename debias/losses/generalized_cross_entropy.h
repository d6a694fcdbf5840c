// Generalized cross-entropy, between cross-entropy (q near 0) and the mean absolute error (q = 1). It gives less weight to samples that the
// network finds hard. Debiasing methods train their biased network with it.
//
//   standard: L_a = (1 - p_a^q) / q              lff: L_a = q p_a^q (-log p_a), the factor q p_a^q without gradient
//
// Input: z [N, C] logits, not normalised; p_a = softmax(z_a) at the label y_a; q in (0, 1]. value = mean over the rows of known label (-1
// is unknown), 0 without one. The gradient of lff is q times that of standard. Powers are computed from log p, so that nothing overflows
// and p = 0 has gradient 0.
// Errors: usage error for options out of range and missing labels; data error for shapes, dtypes and labels outside -1..C-1.
//
// Sources: Zhang and Sabuncu 2018 (NeurIPS); lff is the released code of Nam et al. 2020 (LfF), which Lee et al. 2021 (DFA) use as well.
#pragma once

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class GceForm { kStandard, kLff };

template <>
struct EnumNames<GceForm> {
  static constexpr std::array<std::pair<std::string_view, GceForm>, 2> values = {
      {{"standard", GceForm::kStandard}, {"lff", GceForm::kLff}}};
};

class GeneralizedCrossEntropyOptions {
 public:
  DEBIAS_OPTION(GeneralizedCrossEntropyOptions, double, q, 0.7)
  DEBIAS_OPTION(GeneralizedCrossEntropyOptions, GceForm, form, GceForm::kStandard)
  static const OptionTable<GeneralizedCrossEntropyOptions>& table();
};

ObjectiveResult generalized_cross_entropy(const ObjectiveInput& input, const GeneralizedCrossEntropyOptions& options);
ObjectiveResult generalized_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                          const GeneralizedCrossEntropyOptions& options = {});

ObjectiveEntry generalized_cross_entropy_entry();

}  // namespace debias

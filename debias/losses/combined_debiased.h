// A mixture of both debiased losses: one corrects the sum over negatives, the other the positive.
//
//   value = mix debiased_negatives + (1 - mix) debiased_positives,     mix in [0, 1]
//
// debiased_negatives.h and debiased_positives.h define the parts and their special cases. Options that both have are shared, and so are the
// similarities. A part with share 0 is not computed, so that mix = 1 and mix = 0 are the parts themselves, with their diagnostics. In
// between, an anchor that one part drops (clamp none, guard none) leaves the mean of that part only, and its own value is NaN. clamped is
// the sum over the parts, min_estimate the smaller of g and num. At equal value debiased_positives has far smaller gradients than
// debiased_negatives, so mix = 0.5 mostly trains the latter.
//
// Input: z [B, V, D] with rows of unit norm; `aggregation` applies to both parts for V > 2. A single sample has no negatives and loss 0.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes, dtypes, labels and sample keys.
//
// Source: the released code of "Mitigating Biases in Contrastive Learning"; the paper does not have this combination.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/debiased_negatives.h"
#include "debias/losses/debiased_positives.h"
#include "debias/losses/objective.h"

namespace debias {

class CombinedDebiasedOptions {
 public:
  DEBIAS_OPTION(CombinedDebiasedOptions, double, temperature, 0.5)
  DEBIAS_OPTION(CombinedDebiasedOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(CombinedDebiasedOptions, double, mix, 0.5)
  DEBIAS_OPTION(CombinedDebiasedOptions, double, tau_plus, 0.1)
  DEBIAS_OPTION(CombinedDebiasedOptions, Clamp, clamp, Clamp::kFloor)
  DEBIAS_OPTION(CombinedDebiasedOptions, PositiveForm, form, PositiveForm::kEq12)
  DEBIAS_OPTION(CombinedDebiasedOptions, Guard, guard, Guard::kFloor)
  DEBIAS_OPTION(CombinedDebiasedOptions, Aggregation, aggregation, Aggregation::kGrouping)
  DEBIAS_OPTION(CombinedDebiasedOptions, bool, drop_false_negatives, false)
  static const OptionTable<CombinedDebiasedOptions>& table();

  DebiasedNegativesOptions negatives_part() const;
  DebiasedPositivesOptions positives_part() const;
};

ObjectiveResult combined_debiased(const ObjectiveInput& input, const CombinedDebiasedOptions& options);
ObjectiveResult combined_debiased(const at::Tensor& z, const CombinedDebiasedOptions& options = {}, const at::Tensor& labels = {});

ObjectiveEntry combined_debiased_entry();

}  // namespace debias

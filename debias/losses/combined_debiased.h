// Both debiased losses at once: the negatives' sum corrected in one, the positive in the other.
//
//   value = mix debiased_negatives + (1 - mix) debiased_positives,     mix in [0, 1]
//
// Each part has its own formulas, symbols and edges (debiased_negatives.h, debiased_positives.h); all options they share have one value,
// and they share the similarities. A part whose share is 0 is not computed, so that mix = 1 and mix = 0 are the parts themselves, with
// their diagnostics. In between, an anchor that one part drops (clamp none, guard none) leaves that part's mean only, and its own value is
// NaN; clamped is the sum over the parts, min_estimate the smaller of g and num. debiased_positives has far smaller gradients than
// debiased_negatives at equal value, so that mix = 0.5 trains mostly the latter.
//
// z [B, V, D], rows of unit norm; V > 2 as `aggregation` says for either part. One sample has no negatives: its loss is 0.
// Throws: usage error on V < 2, options out of range, missing labels; data error on shapes, dtypes, labels and sample keys.
//
// Sources: the released code of "Mitigating Biases in Contrastive Learning" has this combination, the paper does not.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/debiased_negatives.h"
#include "debias/losses/debiased_positives.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

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

class CombinedDebiasedImpl : public ObjectiveModule<CombinedDebiasedOptions, combined_debiased> {
 public:
  using ObjectiveModule::ObjectiveModule;
};
TORCH_MODULE(CombinedDebiased);

ObjectiveEntry combined_debiased_entry();

}  // namespace debias

// SupCon, the supervised contrastive loss: every row of the anchor's class is a positive.
//
//   out:  L_a = -1/|P| sum over p in P(a) of log[ e^{s_ap} / sum over k != a of e^{s_ak} ]
//   in:   L_a = -log[ 1/|P| sum over p in P(a) of e^{s_ap} / sum over k != a of e^{s_ak} ],     s_ab = z_a . z_b / t
//
// P(a) contains the other rows of a's class (class_rows.h); without labels a's other views, V >= 2, and with two views that is InfoNCE. in
// <= out, with equality where all positives are equally near. value = mean over all n = V*B rows. An anchor without positives has loss 0
// and counts in the mean.
// Input: z [B, V, D] with rows of unit norm. base_temperature multiplies the loss by t / base_temperature.
// Errors: usage error for options out of range and for one view without labels; data error for shapes and dtypes.
//
// Source: Khosla et al. 2020, eqs. 2 and 3. Differences from their code: it always multiplies by t / 0.07 (variant `authors`) and has `out`
// only. Older copies of it give NaN for an anchor without positives, and treat unknown labels as one class.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

enum class SupConForm { kOut, kIn };

template <>
struct EnumNames<SupConForm> {
  static constexpr std::array<std::pair<std::string_view, SupConForm>, 2> values = {{{"out", SupConForm::kOut}, {"in", SupConForm::kIn}}};
};

class SupConOptions {
 public:
  DEBIAS_OPTION(SupConOptions, double, temperature, 0.1)
  DEBIAS_OPTION(SupConOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(SupConOptions, SupConForm, form, SupConForm::kOut)
  static const OptionTable<SupConOptions>& table();
};

ObjectiveResult supcon(const ObjectiveInput& input, const SupConOptions& options);
ObjectiveResult supcon(const at::Tensor& z, const at::Tensor& labels, const SupConOptions& options = {});

ObjectiveEntry supcon_entry();

}  // namespace debias

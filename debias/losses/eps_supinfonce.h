// InfoNCE with a margin whose positives are the rows of the anchor's class, each compared with the negatives alone.
//
// s_j and s_i are the similarities z_a . z_b / t of anchor a to a negative j (another class, N of them) and a positive i (class_rows.h, |P|
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
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/losses/class_rows.h"
#include "debias/losses/objective.h"

namespace debias {

enum class EpsForm { kC, kA, kB, kD, kIn };

template <>
struct EnumNames<EpsForm> {
  static constexpr std::array<std::pair<std::string_view, EpsForm>, 5> values = {
      {{"c", EpsForm::kC}, {"a", EpsForm::kA}, {"b", EpsForm::kB}, {"d", EpsForm::kD}, {"in", EpsForm::kIn}}};
};

class EpsSupInfoNceOptions {
 public:
  DEBIAS_OPTION(EpsSupInfoNceOptions, double, temperature, 0.1)
  DEBIAS_OPTION(EpsSupInfoNceOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(EpsSupInfoNceOptions, double, epsilon, 0.25)
  DEBIAS_OPTION(EpsSupInfoNceOptions, EpsForm, form, EpsForm::kC)
  DEBIAS_OPTION(EpsSupInfoNceOptions, OverPositives, over_positives, OverPositives::kMean)
  DEBIAS_OPTION(EpsSupInfoNceOptions, double, log_eps, 0)
  static const OptionTable<EpsSupInfoNceOptions>& table();
};

ObjectiveResult eps_supinfonce(const ObjectiveInput& input, const EpsSupInfoNceOptions& options);
ObjectiveResult eps_supinfonce(const at::Tensor& z, const at::Tensor& labels, const EpsSupInfoNceOptions& options = {});

ObjectiveEntry eps_supinfonce_entry();

}  // namespace debias

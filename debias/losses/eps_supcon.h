// SupCon with a margin between positives and negatives, and no margin among positives.
//
//   L_a = epsilon - 1/|P| sum over i in P(a) of log[ e^{s_i} / ( sum over t in P(a) of e^{s_t - epsilon} + sum over j of e^{s_j} ) ]
//
// Symbols: s_i, s_t and s_j are the similarities z_a . z_b / t of the anchor to positives (class_rows.h) and to the N rows of other
// classes. L_a is the smooth form of max(0, s_j - s_i + epsilon, s_t - s_i); epsilon = 0 is SupCon's `out`. value = mean over all n = V*B
// rows.
// Options: add_epsilon = false leaves the leading epsilon out, as the released code does; gradients are the same. It must be false for
// epsilon = inf, where the positives leave the denominator (InfoL1O). over_positives = sum gives |P| times the mean. base_temperature
// multiplies the loss by t / base_temperature.
// Input: z [B, V, D] with rows of unit norm, V >= 1. An anchor without positives has loss 0 and counts in the mean. Without negatives the
// denominator has the positives alone; for epsilon = inf the loss is then 0.
// Errors: usage error for options out of range, missing labels, and an infinite epsilon with add_epsilon; data error for shapes and dtypes.
//
// Source: Barbano et al. 2023, eq. 5. Differences from their code: it adds no epsilon, multiplies by t / 0.07 (variant `authors`), and adds
// 1e-6 inside the log in units of the row's largest e^s, which log space does not need.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/class_rows.h"
#include "debias/losses/objective.h"

namespace debias {

class EpsSupConOptions {
 public:
  DEBIAS_OPTION(EpsSupConOptions, double, temperature, 0.1)
  DEBIAS_OPTION(EpsSupConOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(EpsSupConOptions, double, epsilon, 0.25)
  DEBIAS_OPTION(EpsSupConOptions, bool, add_epsilon, true)
  DEBIAS_OPTION(EpsSupConOptions, OverPositives, over_positives, OverPositives::kMean)
  static const OptionTable<EpsSupConOptions>& table();
};

ObjectiveResult eps_supcon(const ObjectiveInput& input, const EpsSupConOptions& options);
ObjectiveResult eps_supcon(const at::Tensor& z, const at::Tensor& labels, const EpsSupConOptions& options = {});

ObjectiveEntry eps_supcon_entry();

}  // namespace debias

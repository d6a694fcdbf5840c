// The contrastive loss with a corrected positive: an estimate of the expectation over true positives, without labels.
//
//   P  = (S + p + e^{s_aa}) / (N + 2),  P- = S / N          S = sum over the N negatives of e^{s_aj},  p = e^{s_ap}
//   num = P - tau_minus P-,             L_a = -log[ num / (num + N tau_plus P-) ] >= 0,      value = mean over the anchors
//
// Symbols: s_ab = z_a . z_b / t; p is the anchor's positive view; s_aa = 1/t for unit rows; tau_plus is the probability that two samples
// share a class; tau_minus = 1 - tau_plus; N = 2B - 2. The option `form`:
//   eq12   as above
//   sum    P = S + p + e^{s_aa} and P- = S: sums in place of means; num > 0 always
//   final  as eq12, but different with drop_false_negatives, see below
// num of eq12 is positive for N >= 2 tau_minus / tau_plus and may be negative below that (tau_plus = 0.1, t = 0.5: N <= 6). `guard` sets
// what happens to an anchor whose num is below tau_plus e^{-1/t}, the smallest value of what it estimates:
//   floor     num takes that value, a constant without gradient
//   fallback  the anchor's InfoNCE loss
//   none      nothing; an anchor with num <= 0 has no loss and leaves the mean
// With tau_plus = 0, L_a = 0 where num > 0, and log(1 + S e^{1/t}), the limit, where the floor acts. L_a tends to log(N + 1) as N grows.
// The positive pair enters with weight 1/(N + 2) only, so gradients are small: train with Adam rather than SGD at an InfoNCE learning rate.
//
// Input: z [B, V, D] with rows of unit norm. For V > 2, `aggregation` grouping takes the rows of views 0 and 1 as anchors and negatives,
// and p in num is the mean of e^s over the anchor's M = V - 1 other views (one entry; the divisors are unchanged). pairs averages the
// two-view loss over all unordered pairs of views. A single sample, or an anchor without true negatives, has loss 0.
// drop_false_negatives (needs labels): P still includes all rows, P- only true negatives (eq12: divided by their number; N tau_plus P-
// keeps N = 2B - 2). Images of the anchor's class then raise num and attract the anchor, so eq12 and sum become supervised. final is the
// control without this: it drops rows of the anchor's class from P too, including the anchor's own entry but not its positive, and divides
// by 2B and N as if nothing were dropped.
// Diagnostics: min_estimate is the smallest num before any guard (null without negatives); clamped counts the anchors on which the guard
// acted.
// Errors: usage error for V < 2, options out of range and missing labels; data error for shapes and dtypes.
//
// Source: "Mitigating Biases in Contrastive Learning", eqs. 12 to 16. Differences from the authors' code: it has no guard (NaN for small
// batches). Its last version is `final`; in eq12 both averages are over the rows that they estimate. `sum` is the version behind its
// figures 1 to 4. Here all sums stay in log space.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/aggregation.h"
#include "debias/losses/objective.h"

namespace debias {

enum class PositiveForm { kEq12, kSum, kFinal };
enum class Guard { kFloor, kFallback, kNone };

template <>
struct EnumNames<PositiveForm> {
  static constexpr std::array<std::pair<std::string_view, PositiveForm>, 3> values = {
      {{"eq12", PositiveForm::kEq12}, {"sum", PositiveForm::kSum}, {"final", PositiveForm::kFinal}}};
};

template <>
struct EnumNames<Guard> {
  static constexpr std::array<std::pair<std::string_view, Guard>, 3> values = {
      {{"floor", Guard::kFloor}, {"fallback", Guard::kFallback}, {"none", Guard::kNone}}};
};

class DebiasedPositivesOptions {
 public:
  DEBIAS_OPTION(DebiasedPositivesOptions, double, temperature, 0.5)
  DEBIAS_OPTION(DebiasedPositivesOptions, std::optional<double>, base_temperature, std::nullopt)
  DEBIAS_OPTION(DebiasedPositivesOptions, double, tau_plus, 0.1)
  DEBIAS_OPTION(DebiasedPositivesOptions, PositiveForm, form, PositiveForm::kEq12)
  DEBIAS_OPTION(DebiasedPositivesOptions, Guard, guard, Guard::kFloor)
  DEBIAS_OPTION(DebiasedPositivesOptions, Aggregation, aggregation, Aggregation::kGrouping)
  DEBIAS_OPTION(DebiasedPositivesOptions, bool, drop_false_negatives, false)
  static const OptionTable<DebiasedPositivesOptions>& table();
};

ObjectiveResult debiased_positives(const ObjectiveInput& input, const DebiasedPositivesOptions& options);
ObjectiveResult debiased_positives(const at::Tensor& z, const DebiasedPositivesOptions& options = {}, const at::Tensor& labels = {});

// The losses of one pair of views. The sums must have the temperature and drop_false_negatives of these options.
AnchorLosses debiased_positives_losses(const TwoViewSums& sums, const DebiasedPositivesOptions& options);

ObjectiveEntry debiased_positives_entry();

}  // namespace debias

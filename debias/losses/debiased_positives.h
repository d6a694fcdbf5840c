// The contrastive loss with its positive corrected: an estimate of the expectation over true positives, without labels.
//
//   P  = (S + p + e^{s_aa}) / (N + 2),  P- = S / N          S = sum over the N negatives of e^{s_aj},  p = e^{s_ap}
//   num = P - tau_minus P-,             L_a = -log[ num / (num + N tau_plus P-) ] >= 0,      value = mean over the anchors
//
// s_ab = z_a . z_b / t, p the anchor's positive view, s_aa = 1/t for unit rows, tau_plus the probability that two samples share a class,
// tau_minus = 1 - tau_plus, N = 2B - 2.
//   form eq12  as above                  form sum   P = S + p + e^{s_aa} and P- = S: sums in place of means, num > 0 always
//   form final as eq12; other with drop_false_negatives, as below
// num of eq12 is positive for N >= 2 tau_minus / tau_plus and may fail to be below that (tau_plus = 0.1, t = 0.5: N <= 6). `guard` says
// what happens to an anchor whose num is below tau_plus e^{-1/t}, the least value of what it estimates:
//   floor  num takes that value, a constant (no gradient)     fallback  the anchor's InfoNCE loss
//   none   nothing; an anchor with num <= 0 has no loss and leaves the mean
// tau_plus = 0: L_a = 0 where num > 0, and log(1 + S e^{1/t}), the limit, where the floor acts. L_a tends to log(N + 1) as N grows: the
// positive pair enters with weight 1/(N + 2) only, and gradients are small (train with Adam rather than SGD at an InfoNCE learning rate).
//
// z [B, V, D], rows of unit norm. V > 2, aggregation grouping: anchors and negatives are the rows of views 0 and 1, and p in num is the
// mean of e^s over the anchor's M = V - 1 other views (one slot: divisors stay). pairs: the two-view loss of all unordered pairs of views,
// averaged. drop_false_negatives (needs labels): P is still taken over everything, P- over true negatives alone (eq12: divided by their
// count; N tau_plus P- keeps N = 2B - 2). Form final drops what is of the anchor's class from P too, the anchor's own entry included and
// its positive not, and divides by 2B and N as if nothing were dropped. Hence eq12 and sum with dropped
// false negatives are supervised: images of the anchor's class stay in P, raise num and attract the anchor; final is the control without.
// An anchor without true negatives has loss 0; so has a single sample. Diagnostics: min_estimate is the least num before any guard (null without negatives); clamped counts the anchors on which the guard
// acted. Throws: usage error on V < 2, options out of range, missing labels; data error on shapes and dtypes.
//
// Sources: "Mitigating Biases in Contrastive Learning", eqs. 12 to 16. Differences from the authors' code: it has no guard (NaN for small
// batches); its last version is `final`, where in eq12
// both averages are over what they estimate; `sum` is the version behind its figures 1 to 4. Here all stays in log space.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/aggregation.h"
#include "debias/losses/objective.h"
#include "debias/losses/objective_module.h"

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

class DebiasedPositivesImpl : public ObjectiveModule<DebiasedPositivesOptions, debiased_positives> {
 public:
  using ObjectiveModule::ObjectiveModule;
};
TORCH_MODULE(DebiasedPositives);

// The losses of one pair of views, for sums formed with these options' temperature and drop_false_negatives.
AnchorLosses debiased_positives_losses(const TwoViewSums& sums, const DebiasedPositivesOptions& options);

ObjectiveEntry debiased_positives_entry();

}  // namespace debias

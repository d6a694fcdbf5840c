// Bayesian contrastive learning: its densities, equation 10 and lemma 3.2.
#include <fmt/format.h>

#include <cmath>

#include "debias/losses/weighted.h"
#include "debias/study/estimators.h"
#include "debias/study/population.h"
#include "debias/study/theorems.h"

namespace debias {
namespace {

constexpr int64_t kQuantiles = 200000;
constexpr double kQuadratureError = 1e-5;  // of averages over that many quantiles

// e^{x/t} at the middle quantiles of the unlabelled law, in order: what N -> infinity samples look like.
std::vector<double> unlabelled_quantiles(const Proposal& proposal, double alpha, double tau_plus, double temperature) {
  const double tau_minus = 1 - tau_plus, a = (1 - 2 * alpha) * (tau_minus - tau_plus), b = 1 - a;
  std::vector<double> values;
  for (int64_t i = 0; i < kQuantiles; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(kQuantiles);
    const double phi = 2 * share / (b + std::sqrt(b * b + 4 * a * share));
    values.push_back(std::exp((proposal.low + (proposal.high - proposal.low) * phi) / temperature));
  }
  return values;
}

struct Consistency {
  BayesianForm form;
  double alpha, tau_plus, beta;
};

TheoremCheck lemma_3_2(const Consistency& of, Verdict when_true) {
  constexpr double t = 0.5;
  const Proposal proposal;
  const auto values = unlabelled_quantiles(proposal, of.alpha, of.tau_plus, t);
  const RankWeighting weighting{.form = of.form, .tau_plus = of.tau_plus, .alpha = of.alpha};
  std::vector<double> weights;
  for (int64_t rank = 1; rank <= kQuantiles; ++rank) weights.push_back(rank_weight(weighting, rank, kQuantiles));
  const bool paper = of.form == BayesianForm::kPaper;
  return evaluated({paper ? "BCL Lemma 3.2" : "BCL Lemma 3.2, corrected",
                    fmt::format("the estimate {} tends to the mean over true negatives",
                                paper ? "by the share at or below, as printed," : "by the inverted mixture"),
                    fmt::format("uniform on [-0.5, 0.5], t = 0.5, alpha = {}, tau_plus = {}, beta = {}", of.alpha, of.tau_plus, of.beta),
                    ranked_mean(values, weights, of.beta),
                    "=",
                    class_mean(SampleClass::kTrueNegative, of.alpha, proposal, t),
                    kQuadratureError,
                    {}},
                   when_true);
}

TheoremCheck unit_mass(SampleClass of, double alpha) {
  constexpr int kSteps = 1000;
  double mass = 0;
  for (int i = 0; i < kSteps; ++i) mass += class_density(of, alpha, (i + 0.5) / kSteps) / kSteps;
  return evaluated(
      {"BCL equations 5 and 6",
       fmt::format("the density of {} integrates to 1", of == SampleClass::kTrueNegative ? "true negatives" : "false negatives"),
       fmt::format("alpha = {}", alpha),
       mass,
       "=",
       1,
       0,
       {}});
}

// x = m p+ / p is the score of the best critic; the ratio p+ / p- is read off it.
TheoremCheck equation_10(double ratio, double tau_plus) {
  const double tau_minus = 1 - tau_plus, m = 0.7, x = m * ratio / (tau_plus * ratio + tau_minus);
  return evaluated({"BCL equation 10",
                    "p+/p- = x tau_minus / (m - x tau_plus) at the best critic, x < m/tau_plus",
                    fmt::format("p+/p- = {}, tau_plus = {}", ratio, tau_plus),
                    x * tau_minus / (m - x * tau_plus),
                    "=",
                    ratio,
                    0,
                    {}});
}

}  // namespace

std::vector<TheoremCheck> bcl_theorems(const StudyRun&) {
  std::vector<TheoremCheck> out;
  for (const double alpha : {0.5, 0.9, 1.0}) {
    for (const auto of : {SampleClass::kTrueNegative, SampleClass::kFalseNegative}) out.push_back(unit_mass(of, alpha));
  }
  out.push_back(equation_10(4, 0.1));
  const auto paper = BayesianForm::kPaper, corrected = BayesianForm::kCorrected;
  out.push_back(lemma_3_2({paper, 0.9, 0.1, 0}, Verdict::kHolds));
  out.push_back(lemma_3_2({paper, 0.5, 0.1, 0}, Verdict::kHolds));
  out.push_back(lemma_3_2({paper, 0.9, 0.5, 0}, Verdict::kHolds));
  out.push_back(lemma_3_2({paper, 0.9, 0.1, 1}, Verdict::kHolds));
  out.push_back(lemma_3_2({corrected, 0.9, 0.1, 0}, Verdict::kHoldsCorrected));
  out.push_back(lemma_3_2({corrected, 0.7, 0.3, 0}, Verdict::kHoldsCorrected));
  out.push_back(lemma_3_2({corrected, 0.9, 0.1, 1}, Verdict::kHoldsCorrected));
  return out;
}

}  // namespace debias

// Unbiased supervised contrastive learning: the order of its losses, its margin forms, its regulariser's invariance, its equation 3.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "debias/core/philox.h"
#include "debias/losses/label_free.h"
#include "debias/losses/over_classes.h"
#include "debias/study/theorems.h"

namespace debias {
namespace {

constexpr double kTemperature = 0.1;

struct Batch {
  at::Tensor z, labels;
};

// [samples, views, dimensions] of unit rows, in classes of two samples (an odd last one alone).
Batch random_batch(int64_t samples, int64_t views, int64_t dimensions, uint64_t seed) {
  Random random({.domain = RngDomain::kStudy, .seed = seed, .epoch = static_cast<uint64_t>(samples), .step = 8});
  Batch batch{at::empty({samples, views, dimensions}, at::kDouble), at::arange(samples, at::kLong).floor_divide(2)};
  double* values = batch.z.mutable_data_ptr<double>();
  for (int64_t i = 0; i < batch.z.numel(); ++i) values[i] = random.normal();
  batch.z = batch.z / batch.z.norm(2, -1, true);
  return batch;
}

double value(const ObjectiveResult& result) { return result.value.item<double>(); }

std::vector<TheoremCheck> order_of_losses(const Batch& batch) {
  const auto at_margin = [&](double epsilon) {
    return value(eps_infonce(batch.z, EpsInfoNceOptions{.temperature = kTemperature, .epsilon = epsilon}));
  };
  const double infonce_loss = value(infonce(batch.z, InfoNceOptions{.temperature = kTemperature}));
  const double without = at_margin(std::numeric_limits<double>::infinity()), quarter = at_margin(0.25), two = at_margin(2);
  const std::string setting = "random batch, t = 0.1";
  const auto check = [&](const char* claim, double left, const char* relation, double right) {
    return evaluated({"USC order of losses", claim, setting, left, relation, right, 0, {}});
  };
  return {check("InfoL1O <= eps-InfoNCE, epsilon = 0.25", without, "<=", quarter),
          check("eps-InfoNCE <= InfoNCE, epsilon = 0.25", quarter, "<=", infonce_loss),
          check("it falls with epsilon: at 2 <= at 0.25", two, "<=", quarter), check("eps-InfoNCE >= -epsilon, epsilon = 2", two, ">=", -2),
          check("eps-InfoNCE = InfoNCE at epsilon = 0", at_margin(0), "=", infonce_loss)};
}

TheoremCheck supcon_without_margin(const Batch& batch) {
  const double with = value(eps_supcon(batch.z, batch.labels, EpsSupConOptions{.temperature = kTemperature, .epsilon = 0}));
  return evaluated({"USC eps-SupCon",
                    "equals SupCon's L_out at epsilon = 0",
                    "random batch, t = 0.1",
                    with,
                    "=",
                    value(supcon(batch.z, batch.labels, SupConOptions{.temperature = kTemperature})),
                    0,
                    {}});
}

// One view of three samples, two of a class: each of these two anchors has one positive and one negative.
std::vector<TheoremCheck> margin_forms(uint64_t seed) {
  const Batch batch = random_batch(3, 1, 4, seed);
  const auto of = [&](EpsForm form) {
    return value(eps_supinfonce(batch.z, batch.labels, EpsSupInfoNceOptions{.temperature = kTemperature, .epsilon = 0.25, .form = form}));
  };
  std::vector<TheoremCheck> out;
  for (const auto& [name, form] : {std::pair{"a", EpsForm::kA}, {"b", EpsForm::kB}, {"d", EpsForm::kD}}) {
    out.push_back(evaluated({"USC equation 17",
                             fmt::format("forms {} and c agree for one positive and one negative", name),
                             "t = 0.1, epsilon = 0.25",
                             of(form),
                             "=",
                             of(EpsForm::kC),
                             0,
                             {}}));
  }
  return out;
}

// KL of normal laws; under x -> 2 - 2 x means and deviations scale alike and it stays.
double normal_divergence(double mean1, double deviation1, double mean2, double deviation2) {
  const double ratio = deviation1 / deviation2, apart = (mean1 - mean2) / deviation2;
  return 0.5 * (ratio * ratio + apart * apart - 1) - std::log(ratio);
}

TheoremCheck divergence_of_distances() {
  return evaluated({"USC FairKL",
                    "the divergence is the same on cosines c and on squared distances 2 - 2c",
                    "N(0.3, 0.2) against N(0.1, 0.4)",
                    normal_divergence(2 - 2 * 0.3, 2 * 0.2, 2 - 2 * 0.1, 2 * 0.4),
                    "=",
                    normal_divergence(0.3, 0.2, 0.1, 0.4),
                    0,
                    {}});
}

struct InformationBounds {
  double information = 0, infonce = 0, without_positive = 0;  // E ln of the ratios of equation 3
};

// X uniform on {+1, -1}, Y = X with probability q = e / (e + 1/e): e^{xy} is the best critic, and the number of negatives equal to X is
// binomial, so that all is exact.
InformationBounds information_bounds(int n) {
  const double match = std::exp(1.0), differ = std::exp(-1.0), q = match / (match + differ);
  InformationBounds out{std::log(2.0) + q * std::log(q) + (1 - q) * std::log(1 - q), 0, 0};
  for (int equal = 0; equal <= n; ++equal) {
    const double share = std::exp(std::lgamma(n + 1) - std::lgamma(equal + 1) - std::lgamma(n - equal + 1) - n * std::log(2.0));
    const double negatives = equal * match + (n - equal) * differ;
    for (const auto& [probability, positive] : {std::pair{q, match}, {1 - q, differ}}) {
      out.infonce += share * probability * std::log(positive / (positive + negatives));
      out.without_positive += share * probability * std::log(positive / negatives);
    }
  }
  return out;
}

std::vector<TheoremCheck> equation_3(int n) {
  const InformationBounds at = information_bounds(n);
  const std::string setting = fmt::format("two noisy poles with the best critic, N = {}", n);
  return {
      evaluated({"USC equation 3", "E ln(e^s+ / (e^s+ + sum)) <= I, as printed", setting, at.infonce, "<=", at.information, 0, {}}),
      evaluated({"USC equation 3", "I <= E ln(e^s+ / sum), as printed", setting, at.information, "<=", at.without_positive, 0, {}}),
      evaluated(
          {"USC equation 3, corrected", "ln(N + 1) - InfoNCE <= I", setting, std::log(n + 1.0) + at.infonce, "<=", at.information, 0, {}},
          Verdict::kHoldsCorrected),
      evaluated({"USC equation 3, corrected",
                 "I <= ln N - InfoL1O, at the best critic",
                 setting,
                 at.information,
                 "<=",
                 std::log(n) + at.without_positive,
                 0,
                 {}},
                Verdict::kHoldsCorrected)};
}

}  // namespace

std::vector<TheoremCheck> usc_theorems(const StudyRun& run) {
  const Batch batch = random_batch(16, 2, 8, run.seed);
  std::vector<TheoremCheck> out = order_of_losses(batch);
  const auto add = [&](std::vector<TheoremCheck> checks) { out.insert(out.end(), checks.begin(), checks.end()); };
  add({supcon_without_margin(batch)});
  add(margin_forms(run.seed));
  add({divergence_of_distances()});
  add(equation_3(16));
  return out;
}

}  // namespace debias

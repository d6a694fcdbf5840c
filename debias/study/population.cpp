#include "debias/study/population.h"

#include <algorithm>
#include <cmath>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/study/estimator_errors.h"

namespace debias {
namespace {

struct Quadratic {
  double a = 0, b = 1;  // a Phi^2 + b Phi
};

Quadratic distribution_of(SampleClass of, double alpha) {
  if (of == SampleClass::kTrueNegative) return {1 - 2 * alpha, 2 * alpha};
  return {2 * alpha - 1, 2 * (1 - alpha)};
}

void check(const char* name, double value, double low, double high, const char* range) {
  if (!(value >= low && value <= high)) throw usage_error("study: {} must be in {}, found {}; give a value inside", name, range, value);
}

RngKey stream(const AnchorKey& key, uint16_t step) {
  return {.domain = RngDomain::kStudy, .seed = key.seed, .epoch = key.repetition, .sample = key.anchor, .step = step};
}

}  // namespace

void verify(const Population& population) {
  const double t = population.temperature;
  check("alpha", population.alpha, 0.5, 1, "[0.5, 1]");
  check("tau_plus", population.tau_plus, 0, std::nextafter(1, 0), "[0, 1)");
  check("temperature", t, 0.1, 100, "[0.1, 100]");
  check("gamma", population.gamma, 0, 1, "[0, 1]");
  const double least_half = population.reading == ProposalReading::kText ? 0.5 - population.gamma : 1;
  if (least_half <= 0) {
    throw usage_error(
        "study: gamma = {} slides both ends of the interval [-0.5, 0.5] past each other, which leaves it empty; give less than 0.5",
        population.gamma);
  }
}

Proposal draw_proposal(const Population& population, Random& random) {
  const double bound = 1 / (population.temperature * population.temperature), gamma = population.gamma;
  if (population.reading == ProposalReading::kCode) {
    const double low = random.uniform(-bound, -(1 - gamma) * bound);
    return {low, random.uniform((1 - gamma) * bound, bound)};
  }
  const double low = -0.5 + random.uniform(-gamma, gamma), high = 0.5 + random.uniform(-gamma, gamma);
  return {std::max(low, -bound), std::min(high, bound)};
}

double class_distribution(SampleClass of, double alpha, double phi) {
  const auto [a, b] = distribution_of(of, alpha);
  return (a * phi + b) * phi;
}

double class_density(SampleClass of, double alpha, double phi) {
  const auto [a, b] = distribution_of(of, alpha);
  return 2 * a * phi + b;
}

double draw_phi(DrawMethod sampler, SampleClass of, double alpha, Random& random) {
  const auto [a, b] = distribution_of(of, alpha);
  if (sampler == DrawMethod::kInversion) {
    const double u = random.uniform();
    return u == 0 ? 0 : 2 * u / (b + std::sqrt(b * b + 4 * a * u));
  }
  while (true) {
    const double phi = random.uniform();
    if (random.uniform() * 2 * alpha <= 2 * a * phi + b) return phi;
  }
}

double class_mean(SampleClass of, double alpha, const Proposal& proposal, double temperature) {
  const double k = (proposal.high - proposal.low) / temperature;
  // The closed forms cancel for small k; there the series of the integrals of e^{ku} and u e^{ku} over [0, 1].
  const bool small = k < 1e-3;
  const double i0 = small ? 1 + k / 2 + k * k / 6 : std::expm1(k) / k;
  const double i1 = small ? 0.5 + k / 3 + k * k / 8 : (std::exp(k) * (k - 1) + 1) / (k * k);
  const auto [a, b] = distribution_of(of, alpha);
  return std::exp(proposal.low / temperature) * (b * i0 + 2 * a * i1);
}

void draw_anchor(const Population& population, int64_t negatives, int64_t positives, const AnchorKey& key, AnchorSample& sample) {
  const double alpha = population.alpha, t = population.temperature;
  Random ends(stream(key, 0)), classes(stream(key, 1)), places(stream(key, 2)), extra(stream(key, 3));
  const Proposal proposal = draw_proposal(population, ends);
  const double origin = proposal.low / t, width = (proposal.high - proposal.low) / t;
  const auto value = [&](SampleClass of, Random& random) {
    return std::exp(origin + width * draw_phi(population.sampler, of, alpha, random));
  };
  sample.values.resize(static_cast<size_t>(negatives));
  sample.of.resize(static_cast<size_t>(negatives));
  sample.positives.resize(static_cast<size_t>(positives));
  for (size_t i = 0; i < sample.values.size(); ++i) {
    sample.of[i] = classes.uniform() < population.tau_plus ? SampleClass::kFalseNegative : SampleClass::kTrueNegative;
    sample.values[i] = value(sample.of[i], places);
  }
  for (double& positive : sample.positives) positive = value(SampleClass::kFalseNegative, extra);
  sample.expected_negative = class_mean(SampleClass::kTrueNegative, alpha, proposal, t);
  sample.expected_positive = class_mean(SampleClass::kFalseNegative, alpha, proposal, t);
}

}  // namespace debias

// A synthetic population of similarities with known truth: what an anchor meets among its unlabelled samples, class by class.
//
// Each anchor has a proposal, the uniform law on [a, b] with distribution function Phi and density phi. A sample x is of the anchor's class
// with probability tau_plus; e^{x/t} is what an estimator sees. With alpha in [1/2, 1], the chance that the positive ranks above a true
// negative when both are drawn from one encoder,
//
//   true negatives   density (2 alpha + (2 - 4 alpha) Phi) phi          distribution function 2 alpha Phi + (1 - 2 alpha) Phi^2
//   false negatives  density (2 (1 - alpha) + (4 alpha - 2) Phi) phi    distribution function 2 (1 - alpha) Phi + (2 alpha - 1) Phi^2
//
// Two samplers: accept-reject with envelope 2 alpha phi (acceptance rate 1 / (2 alpha)), and exact inversion, the root
// Phi = 2 u / (b + sqrt(b^2 + 4 A u)) of A Phi^2 + b Phi = u. Their laws are the same.
//
// Two readings of the proposal, which the text and the released program give differently:
//   text   a = -1/2 + U(-gamma, gamma), b = 1/2 + U(-gamma, gamma), clipped to +-1/t^2
//   code   a ~ U(-1/t^2, -(1 - gamma)/t^2), b ~ U((1 - gamma)/t^2, 1/t^2)
//
// Source: Liu and Wang 2023, "Bayesian Self-Supervised Contrastive Learning", section 3 and algorithms 1 to 3, and its released program.
// The paper writes the envelope's constant as a minimum; it is the maximum, 2 alpha.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/core/philox.h"

namespace debias {

enum class ProposalReading { kText, kCode };
enum class DrawMethod { kInversion, kAcceptReject };
enum class SampleClass { kTrueNegative, kFalseNegative };

constexpr auto enum_words(ProposalReading) { return named("text", "code"); }

struct Population {
  ProposalReading reading = ProposalReading::kText;
  DrawMethod sampler = DrawMethod::kInversion;
  double alpha = 0.9;        // [0.5, 1]
  double gamma = 0.1;        // text: [0, 0.5), beyond which the interval may be empty; code: [0, 1]
  double tau_plus = 0.1;     // [0, 1)
  double temperature = 0.5;  // [0.1, 100]
};

struct Proposal {
  double low = -0.5, high = 0.5;
};

void verify(const Population& population);  // usage error naming the parameter and its range

Proposal draw_proposal(const Population& population, Random& random);

double class_distribution(SampleClass of, double alpha, double phi);  // at Phi = phi
double class_density(SampleClass of, double alpha, double phi);       // relative to the proposal's
double draw_phi(DrawMethod sampler, SampleClass of, double alpha, Random& random);

// E e^{x/t}: with k = (b - a)/t, I0 = (e^k - 1)/k and I1 = (e^k (k - 1) + 1)/k^2, true negatives have e^{a/t} (2 alpha I0 + (2 - 4 alpha)
// I1).
double class_mean(SampleClass of, double alpha, const Proposal& proposal, double temperature);

// One anchor's view of the population: N unlabelled samples, their classes, and K samples of its own class.
struct AnchorSample {
  std::vector<double> values;     // e^{x/t}
  std::vector<SampleClass> of;    // of each value
  std::vector<double> positives;  // e^{x/t} of the anchor's class
  double expected_negative = 0;   // E over true negatives
  double expected_positive = 0;   // E over the anchor's class
};

struct AnchorKey {
  uint64_t seed = 0, repetition = 0, anchor = 0;
};

// Overwrites `sample`. The same key gives the same uniforms whatever the population's parameters.
void draw_anchor(const Population& population, int64_t negatives, int64_t positives, const AnchorKey& key, AnchorSample& sample);

}  // namespace debias

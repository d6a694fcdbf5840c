// The numerical study of Bayesian contrastive learning: how far each estimator is from the mean over true negatives when the truth is
// known.
//
// An anchor's target is the mean of e^{x/t} over its own true negatives, drawn with its N samples (for the estimators of its own class: the
// closed-form mean of that class); an anchor without true negatives does not count. Figures are over all anchors and repetitions. The same
// seed gives the same figures for any number of threads; settings share their uniforms, so that curves are smooth.
//
// Source: Liu and Wang 2023, section 4.1, figures 3, 4, 5 and 8. Its text has a uniform proposal around +-1/2 with slides gamma, its
// released program an interval of +-1/t^2 (population.h); both are measured. tau_plus is in the program only, 0.1.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "debias/study/estimator_errors.h"
#include "debias/study/population.h"

namespace debias {

struct BclSetting {
  Population population;
  int64_t anchors = 1000;     // M >= 1
  int64_t negatives = 64;     // N >= 1
  int64_t positives = 10;     // K >= 1, of `debiased`, `hard` and the positive estimators
  double beta = 0;            // >= 0, of forms paper and corrected
  double authors_beta = 0.5;  // [0.5, 1]
  double hard_beta = 1;       // >= 0
};

void verify(const BclSetting& setting);  // usage error naming the parameter and its range

struct BclFigures {
  BclSetting setting;
  std::array<EstimatorFigures, kEstimators> of;
};

std::vector<BclFigures> measure(const std::vector<BclSetting>& settings, const StudyRun& run);

// The base setting, then what changes one thing in it: N, alpha, tau_plus, and the released program's point.
struct BclRow {
  std::string change;
  BclSetting setting;
};
std::vector<BclRow> reference_rows(const BclSetting& base);

// A curve: one parameter over its values, all else as in `base`.
struct BclPanel {
  std::string figure, parameter;
  ProposalReading reading;
  std::vector<double> values;
  std::vector<BclSetting> settings;
};
// Figure 5 (errors over alpha, gamma, tau_plus, N, K, t, and beta) and figure 8 (means over gamma, alpha), by both readings.
std::vector<BclPanel> panels(const BclSetting& base);

// Figure 3: densities of the classes relative to the proposal's, by alpha.
struct ClassDensity {
  double alpha, phi, true_negative, false_negative;
};
std::vector<ClassDensity> class_densities();

// Figure 4: samples of e^{x/t} with a standard normal proposal, t = 2, tau_plus = 1/2, one anchor, by both samplers; and whether the
// samplers agree with each other, class by class, and with the closed form. (The mixture of figure 4 is the proposal itself, whatever
// alpha: it could not distinguish them.)
struct SamplerCheck {
  double alpha = 0;
  int64_t samples = 0;
  KolmogorovSmirnov true_negatives, false_negatives;                    // of the classes: one sampler against the other
  KolmogorovSmirnov inversion, accept_reject;                           // of true negatives: against their distribution function
  std::vector<double> edges, inversion_density, accept_reject_density;  // histogram of e^{x/t}
};
std::vector<SamplerCheck> check_samplers(int64_t samples, const StudyRun& run);

}  // namespace debias

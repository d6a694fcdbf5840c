#include "debias/study/bcl_study.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

double true_mean(const AnchorSample& sample) {
  double sum = 0, count = 0;
  for (size_t i = 0; i < sample.values.size(); ++i) {
    if (sample.of[i] != SampleClass::kTrueNegative) continue;
    sum += sample.values[i];
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

// The floor of the program, which divides by t twice, goes with the program's interval.
EstimatorOptions estimator_options(const BclSetting& setting) {
  const Population& population = setting.population;
  const double t = population.temperature, logit = population.reading == ProposalReading::kText ? 1 / t : 1 / (t * t);
  return {.tau_plus = population.tau_plus,
          .alpha = population.alpha,
          .beta = setting.beta,
          .authors_beta = setting.authors_beta,
          .hard_beta = setting.hard_beta,
          .least = std::exp(-logit),
          .self = std::exp(logit)};
}

ErrorSums measure_once(const BclSetting& setting, uint64_t seed, uint64_t repetition) {
  const AnchorEstimators estimators(estimator_options(setting), setting.negatives);
  ErrorSums sums;
  AnchorSample sample;
  for (int64_t anchor = 0; anchor < setting.anchors; ++anchor) {
    draw_anchor(setting.population, setting.negatives, setting.positives, {seed, repetition, static_cast<uint64_t>(anchor)}, sample);
    const double oracle = true_mean(sample);
    if (std::isnan(oracle)) continue;
    std::sort(sample.values.begin(), sample.values.end());  // apart from their classes from here on
    const double mean_positive =
        std::accumulate(sample.positives.begin(), sample.positives.end(), 0.0) / static_cast<double>(setting.positives);
    const Estimates estimates = estimators({sample.values, mean_positive, oracle});
    for (size_t i = 0; i < kEstimators; ++i) {
      const auto estimator = static_cast<Estimator>(i);
      sums.add(estimator, estimates[i], estimates_positive(estimator) ? sample.expected_positive : oracle);
    }
  }
  return sums;
}

void check_count(const char* name, int64_t value) {
  constexpr int64_t kMost = 10'000'000;
  if (value < 1 || value > kMost) throw usage_error("study: {}: {} is out of range; give a value in [1, {}]", name, value, kMost);
}

using Change = void (*)(BclSetting&, double);

struct Sweep {
  const char* figure;
  const char* parameter;
  Change change;
  std::vector<double> values;
};

std::vector<double> steps(double from, double to, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(from + (to - from) * i / (count - 1));
  return values;
}

std::vector<Sweep> sweeps(ProposalReading reading) {
  const auto alpha = [](BclSetting& s, double v) { s.population.alpha = v; };
  const auto gamma = [](BclSetting& s, double v) { s.population.gamma = v; };
  const std::vector<double> alphas = steps(0.5, 1, 11);
  const std::vector<double> gammas = reading == ProposalReading::kText ? steps(0, 0.45, 10) : steps(0, 1, 11);
  return {{"5", "alpha", alpha, alphas},
          {"5", "gamma", gamma, gammas},
          {"5", "tau_plus", [](BclSetting& s, double v) { s.population.tau_plus = v; }, {0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5}},
          {"5", "negatives", [](BclSetting& s, double v) { s.negatives = std::llround(v); }, {4, 8, 16, 32, 64, 128, 256, 512}},
          {"5", "positives", [](BclSetting& s, double v) { s.positives = std::llround(v); }, {1, 2, 3, 5, 10, 20, 50, 100}},
          {"5", "temperature", [](BclSetting& s, double v) { s.population.temperature = v; }, {0.3, 0.4, 0.5, 0.7, 1, 1.5, 2}},
          {"5", "beta", [](BclSetting& s, double v) { s.beta = s.hard_beta = v; }, {0, 0.25, 0.5, 1, 1.5, 2}},
          {"8a", "gamma", gamma, gammas},
          {"8b", "alpha", alpha, alphas}};
}

constexpr double kFigure4Temperature = 2;

using ClassPhis = std::array<std::vector<double>, 2>;  // by SampleClass

ClassPhis class_phis(DrawMethod sampler, double alpha, int64_t samples, uint64_t seed) {
  ClassPhis phis;
  for (const auto of : {SampleClass::kTrueNegative, SampleClass::kFalseNegative}) {
    Random random({.domain = RngDomain::kStudy,
                   .seed = seed,
                   .epoch = static_cast<uint64_t>(std::llround(alpha * 1000)),
                   .view = static_cast<uint16_t>(of),
                   .step = sampler == DrawMethod::kInversion ? uint16_t{4} : uint16_t{5}});
    for (int64_t i = 0; i < samples; ++i) phis[static_cast<size_t>(of)].push_back(draw_phi(sampler, of, alpha, random));
  }
  return phis;
}

// Histogram of the even mixture of both classes; values beyond the edges are left out.
std::vector<double> histogram(const ClassPhis& phis, const std::vector<double>& edges) {
  std::vector<double> density(edges.size() - 1);
  const double width = edges[1] - edges[0], share = 1 / (static_cast<double>(phis[0].size() + phis[1].size()) * width);
  for (const auto& of_class : phis) {
    for (const double phi : of_class) {
      const double value = std::exp(normal_quantile(phi) / kFigure4Temperature);
      const auto bin = static_cast<int64_t>((value - edges[0]) / width);
      if (bin >= 0 && bin < std::ssize(density)) density[static_cast<size_t>(bin)] += share;
    }
  }
  return density;
}

}  // namespace

void verify(const BclSetting& setting) {
  verify(setting.population);
  check_count("anchors", setting.anchors);
  check_count("negatives", setting.negatives);
  check_count("positives", setting.positives);
  if (!(setting.beta >= 0 && setting.hard_beta >= 0))
    throw usage_error("study: beta must be at least 0, found {}; give 0 or more", std::min(setting.beta, setting.hard_beta));
}

std::vector<BclFigures> measure(const std::vector<BclSetting>& settings, const StudyRun& run) {
  for (const auto& setting : settings) verify(setting);
  std::vector<std::vector<ErrorSums>> sums(settings.size(), std::vector<ErrorSums>(static_cast<size_t>(run.repetitions)));
  for_each_piece(std::ssize(settings) * run.repetitions, run, "repetitions", [&](int64_t piece) {
    const auto setting = static_cast<size_t>(piece / run.repetitions), repetition = static_cast<size_t>(piece % run.repetitions);
    sums[setting][repetition] = measure_once(settings[setting], run.seed, repetition);
  });
  std::vector<BclFigures> out;
  for (size_t i = 0; i < settings.size(); ++i) out.push_back({settings[i], figures(sums[i])});
  return out;
}

std::vector<BclRow> reference_rows(const BclSetting& base) {
  std::vector<BclRow> rows = {{"base", base}};
  const auto add = [&](std::string change, auto apply) {
    rows.push_back({std::move(change), base});
    apply(rows.back().setting);
  };
  for (const int64_t n : {16, 256, 1024, 4096}) add("N = " + std::to_string(n), [&](BclSetting& s) { s.negatives = n; });
  add("alpha = 0.5", [](BclSetting& s) { s.population.alpha = 0.5; });
  add("alpha = 0.7", [](BclSetting& s) { s.population.alpha = 0.7; });
  add("alpha = 1", [](BclSetting& s) { s.population.alpha = 1; });
  add("tau_plus = 0.3", [](BclSetting& s) { s.population.tau_plus = 0.3; });
  add("code interval, gamma = 0, N = M = 100", [](BclSetting& s) {
    s.population.reading = ProposalReading::kCode;
    s.population.gamma = 0;
    s.anchors = s.negatives = 100;
  });
  return rows;
}

std::vector<BclPanel> panels(const BclSetting& base) {
  std::vector<BclPanel> out;
  for (const auto reading : {ProposalReading::kText, ProposalReading::kCode}) {
    for (const auto& sweep : sweeps(reading)) {
      BclPanel panel{sweep.figure, sweep.parameter, reading, sweep.values, {}};
      for (const double value : sweep.values) {
        BclSetting setting = base;
        setting.population.reading = reading;
        if (reading == ProposalReading::kCode) setting.population.gamma = 0;
        sweep.change(setting, value);
        panel.settings.push_back(setting);
      }
      out.push_back(std::move(panel));
    }
  }
  return out;
}

std::vector<ClassDensity> class_densities() {
  std::vector<ClassDensity> out;
  for (const double alpha : {0.5, 0.7, 0.9, 1.0}) {
    for (const double phi : steps(0, 1, 21)) {
      out.push_back(
          {alpha, phi, class_density(SampleClass::kTrueNegative, alpha, phi), class_density(SampleClass::kFalseNegative, alpha, phi)});
    }
  }
  return out;
}

std::vector<SamplerCheck> check_samplers(int64_t samples, const StudyRun& run) {
  const std::vector<double> alphas = {0.5, 0.7, 0.9, 1};
  std::vector<SamplerCheck> out(alphas.size());
  for_each_piece(std::ssize(alphas), run.threads, [&](int64_t piece) {
    SamplerCheck& check = out[static_cast<size_t>(piece)];
    const double alpha = check.alpha = alphas[static_cast<size_t>(piece)];
    check.samples = samples;
    const ClassPhis inverted = class_phis(DrawMethod::kInversion, alpha, samples, run.seed);
    const ClassPhis accepted = class_phis(DrawMethod::kAcceptReject, alpha, samples, run.seed);
    const auto law = [&](double phi) { return class_distribution(SampleClass::kTrueNegative, alpha, phi); };
    check.true_negatives = kolmogorov_smirnov(inverted[0], accepted[0]);
    check.false_negatives = kolmogorov_smirnov(inverted[1], accepted[1]);
    check.inversion = kolmogorov_smirnov(inverted[0], law);
    check.accept_reject = kolmogorov_smirnov(accepted[0], law);
    check.edges = steps(0, 5, 51);
    check.inversion_density = histogram(inverted, check.edges);
    check.accept_reject_density = histogram(accepted, check.edges);
  });
  return out;
}

}  // namespace debias

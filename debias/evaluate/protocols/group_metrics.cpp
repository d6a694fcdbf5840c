#include "debias/evaluate/protocols/group_metrics.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/row_mates.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr uint16_t kBootstrapStep = 7;  // its own stream among those of evaluation

double ratio(int64_t part, int64_t whole) { return whole == 0 ? kUndefined : static_cast<double>(part) / static_cast<double>(whole); }

struct Sums {
  int64_t count = 0, correct = 0;
  void add(int64_t more, int64_t right) { count += more, correct += right; }
  double share() const { return ratio(correct, count); }
};

// Largest minus smallest of the known values; undefined with fewer than two of them.
class KnownRange {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    low_ = std::min(low_, value);
    high_ = std::max(high_, value);
    ++known_;
  }
  double difference() const { return known_ < 2 ? kUndefined : high_ - low_; }

 private:
  double low_ = std::numeric_limits<double>::infinity(), high_ = -std::numeric_limits<double>::infinity();
  int64_t known_ = 0;
};

double larger(double a, double b) { return std::isnan(a) ? b : std::isnan(b) ? a : std::max(a, b); }

struct Differences {
  double parity = kUndefined, opportunity = kUndefined, odds = kUndefined;
};

Differences differences_of_class(const PredictionCounts& counts, int64_t c, const std::vector<int64_t>& members, EmptyRate empty) {
  KnownRange selection, true_positive, false_positive;
  const double without_samples = empty == EmptyRate::kZero ? 0 : kUndefined;
  for (int64_t b = 0; b < counts.biases; ++b) {
    if (members[b] == 0) continue;
    const size_t cell = static_cast<size_t>(c * counts.biases + b);
    const int64_t positives = counts.count[cell], negatives = members[b] - positives;
    selection.add(ratio(counts.predicted[cell], members[b]));
    true_positive.add(positives == 0 ? without_samples : ratio(counts.correct[cell], positives));
    false_positive.add(negatives == 0 ? without_samples : ratio(counts.predicted[cell] - counts.correct[cell], negatives));
  }
  Differences result{selection.difference(), true_positive.difference(), kUndefined};
  const double false_difference = false_positive.difference();
  if (!std::isnan(result.opportunity) && !std::isnan(false_difference)) result.odds = std::max(result.opportunity, false_difference);
  return result;
}

Differences differences(const PredictionCounts& counts, EmptyRate empty) {
  const std::vector<int64_t> members = counts.of_biases();
  Differences largest;
  for (int64_t c = counts.classes == 2 ? 1 : 0; c < counts.classes; ++c) {
    const Differences own = differences_of_class(counts, c, members, empty);
    largest.parity = larger(largest.parity, own.parity);
    largest.opportunity = larger(largest.opportunity, own.opportunity);
    largest.odds = larger(largest.odds, own.odds);
  }
  return largest;
}

// `evaluated`: the cells that count for the worst and the mean.
GroupMetrics metrics_over(const PredictionCounts& counts, const GroupMetricOptions& options, const std::vector<bool>& evaluated) {
  GroupMetrics metrics = {{"acc1", ratio(counts.right, counts.labelled)}};
  std::array<Sums, 3> of_side;
  for (int64_t y = 0; y < counts.classes; ++y) {
    for (int64_t b = 0; b < counts.biases; ++b) {
      const auto cell = static_cast<size_t>(counts.group(y, b));
      of_side[static_cast<size_t>(options.alignment.side(y, b))].add(counts.count[cell], counts.correct[cell]);
    }
  }
  const GroupAccuracies over_cells = counts.accuracies(evaluated);
  if (!options.alignment.empty()) {
    metrics["aligned_acc"] = of_side[static_cast<size_t>(Side::kAligned)].share();
    metrics["conflicting_acc"] = of_side[static_cast<size_t>(Side::kConflicting)].share();
  }
  metrics["worst_group_acc"] = over_cells.worst;
  metrics["unbiased_acc"] = over_cells.mean;
  const Differences fairness = differences(counts, options.empty);
  metrics["demographic_parity_difference"] = fairness.parity;
  metrics["equal_opportunity_difference"] = fairness.opportunity;
  metrics["equalized_odds_difference"] = fairness.odds;
  return metrics;
}

std::vector<bool> evaluated_cells(const GroupCounts& counts, int64_t min_count) {
  std::vector<bool> evaluated(counts.count.size());
  for (size_t cell = 0; cell < evaluated.size(); ++cell) evaluated[cell] = counts.count[cell] >= min_count;
  return evaluated;
}

PredictionCounts empty_counts(const GroupSamples& samples) {
  PredictionCounts counts{{samples.classes, samples.groups}, {}};
  counts.predicted.resize(counts.count.size());
  return counts;
}

void add_sample(const GroupSamples& samples, size_t i, PredictionCounts& counts) {
  const int64_t label = samples.labels[i], bias = samples.biases[i], prediction = samples.predictions[i];
  if (label == kUnknown) return;
  const bool right = label == prediction;
  ++counts.labelled;
  counts.right += right ? 1 : 0;
  counts.add(counts.group(label, bias), right);
  if (bias != kUnknown) ++counts.predicted[prediction * counts.biases + bias];
}

// The q-th quantile of sorted values, interpolated linearly (NumPy's default).
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The number of independent samples that a cell's count amounts to, cell by cell.
std::vector<double> independent_counts(const GroupSamples& samples, const PredictionCounts& all,
                                       const std::vector<std::vector<size_t>>& units) {
  std::vector<double> squares(all.count.size()), of_units(all.count.size());
  std::map<int64_t, Sums> own;
  for (const auto& unit : units) {
    own.clear();
    for (const size_t i : unit) {
      if (samples.labels[i] == kUnknown || samples.biases[i] == kUnknown) continue;
      own[all.group(samples.labels[i], samples.biases[i])].add(1, samples.labels[i] == samples.predictions[i] ? 1 : 0);
    }
    for (const auto& [cell, sums] : own) {
      const auto place = static_cast<size_t>(cell);
      const double p = ratio(all.correct[place], all.count[place]);
      const double excess = static_cast<double>(sums.correct) - p * static_cast<double>(sums.count);
      squares[place] += excess * excess;
      ++of_units[place];
    }
  }
  std::vector<double> counts;
  for (size_t cell = 0; cell < squares.size(); ++cell) {
    const auto n = static_cast<double>(all.count[cell]);
    const double p = n > 0 ? static_cast<double>(all.correct[cell]) / n : 0, spread = n * p * (1 - p), u = of_units[cell];
    const double variance = u > 1 && n > 0 ? u / (u - 1) * squares[cell] / n : 0;
    counts.push_back(variance > 0 && spread > 0 ? std::min(n, spread / variance) : u);
  }
  return counts;
}

// Which samples a share is of: all with a label, or those of a side.
bool is_of(const std::string& share, const GroupSamples& samples, size_t i, const AlignmentMap& alignment) {
  if (samples.labels[i] == kUnknown || share == "acc1") return samples.labels[i] != kUnknown;
  return samples.biases[i] != kUnknown &&
         alignment.side(samples.labels[i], samples.biases[i]) == (share == "aligned_acc" ? Side::kAligned : Side::kConflicting);
}

// Of a share that all replicates give: where all is right, or wrong, or of one unit, Wilson's, as if each unit were one sample.
std::pair<double, double> interval_of_units(const std::string& share, const GroupSamples& samples,
                                            const std::vector<std::vector<size_t>>& units, const GroupMetricOptions& options, double value,
                                            double level) {
  int64_t count = 0;
  const auto counts = [&](size_t i) { return is_of(share, samples, i, options.alignment); };
  for (const auto& unit : units) count += std::ranges::any_of(unit, counts) ? 1 : 0;
  for (size_t i = 0; i < samples.labels.size() && units.empty(); ++i) count += counts(i) ? 1 : 0;
  if (count > 1 && value > 0 && value < 1) return {value, value};
  return wilson_interval({value, static_cast<double>(count)}, level);
}

void check(const std::vector<int64_t>& values, int64_t below, int64_t lowest, const char* what) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= lowest && values[i] < below) continue;
    throw data_error("groups: {} {} of sample {} is not in [{}, {}); check the labels", what, values[i], i, lowest, below);
  }
}

}  // namespace

PredictionCounts count_groups(const GroupSamples& samples) {
  const size_t N = samples.labels.size();
  if (samples.biases.size() != N || samples.predictions.size() != N) {
    throw data_error("groups: {} labels, {} bias labels and {} predictions; give one of each per sample", N, samples.biases.size(),
                     samples.predictions.size());
  }
  check(samples.labels, samples.classes, kUnknown, "label");
  check(samples.biases, samples.groups, kUnknown, "bias label");
  check(samples.predictions, samples.classes, 0, "prediction");
  PredictionCounts counts = empty_counts(samples);
  for (size_t i = 0; i < N; ++i) add_sample(samples, i, counts);
  return counts;
}

GroupMetrics group_metrics(const PredictionCounts& counts, const GroupMetricOptions& options) {
  return metrics_over(counts, options, evaluated_cells(counts, options.min_count));
}

std::map<std::string, std::pair<double, double>> group_intervals(const GroupSamples& samples, const GroupMetricOptions& options,
                                                                 const Bootstrap& bootstrap) {
  const PredictionCounts all = count_groups(samples);
  const std::vector<bool> evaluated = evaluated_cells(all, options.min_count);
  const auto N = static_cast<int64_t>(samples.labels.size());
  std::vector<std::vector<size_t>> units = rows_of_groups(samples.units);
  if (std::ssize(units) == N) units.clear();  // none belongs to another
  const int64_t U = std::ssize(units);
  if (U == 1 && N > 1) return {};
  std::vector<GroupMetrics> drawn(static_cast<size_t>(N == 0 ? 0 : bootstrap.replicates));
  at::parallel_for(0, static_cast<int64_t>(drawn.size()), 1, [&](int64_t low, int64_t high) {
    for (int64_t r = low; r < high; ++r) {
      Random random({RngDomain::kEvaluate, bootstrap.seed, 0, static_cast<uint64_t>(r), 0, 0, kBootstrapStep});
      PredictionCounts counts = empty_counts(samples);
      for (int64_t i = 0; i < N && U == 0; ++i) add_sample(samples, static_cast<size_t>(random.below(N)), counts);
      for (int64_t u = 0; u < U; ++u) {
        for (const size_t i : units[static_cast<size_t>(random.below(U))]) add_sample(samples, i, counts);
      }
      drawn[r] = metrics_over(counts, options, evaluated);
    }
  });
  std::map<std::string, std::vector<double>> values;
  for (const GroupMetrics& replicate : drawn) {
    for (const auto& [name, value] : replicate) {
      if (!std::isnan(value)) values[name].push_back(value);
    }
  }
  std::map<std::string, std::pair<double, double>> intervals;
  for (auto& [name, sample] : values) {
    std::sort(sample.begin(), sample.end());
    auto& interval = intervals[name] = {quantile(sample, (1 - bootstrap.level) / 2), quantile(sample, (1 + bootstrap.level) / 2)};
    if (interval.first == interval.second && (name == "acc1" || name == "aligned_acc" || name == "conflicting_acc")) {
      interval = interval_of_units(name, samples, units, options, interval.first, bootstrap.level);
    }
  }
  if (intervals.contains("worst_group_acc")) {
    const std::vector<double> independent = U == 0 ? std::vector<double>() : independent_counts(samples, all, units);
    std::vector<Proportion> shares;
    for (size_t cell = 0; cell < evaluated.size(); ++cell) {
      const auto count = static_cast<double>(all.count[cell]);
      if (evaluated[cell] && count > 0)
        shares.push_back({static_cast<double>(all.correct[cell]) / count, U == 0 ? count : independent[cell]});
    }
    intervals["worst_group_acc"] = smallest_interval(shares, bootstrap.level);
  }
  return intervals;
}

}  // namespace debias

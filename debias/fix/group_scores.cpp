#include "debias/fix/group_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "debias/data/group_counts.h"

namespace debias {

double poisson_binomial_tail(const std::vector<double>& probabilities, int64_t successes) {
  const int64_t trials = std::ssize(probabilities);
  if (successes < 0) return 0;
  if (successes >= trials) return 1;
  std::vector<double> chance(static_cast<size_t>(successes) + 1);  // of k successes in the trials so far
  chance[0] = 1;
  size_t possible = 0;
  for (const double p : probabilities) {
    possible = std::min(possible + 1, chance.size() - 1);
    for (size_t k = possible; k > 0; --k) chance[k] = chance[k] * (1 - p) + chance[k - 1] * p;
    chance[0] *= 1 - p;
  }
  return std::min(1.0, std::accumulate(chance.begin(), chance.end(), 0.0));
}

namespace {

bool is_right(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t row) {
  return labels[static_cast<size_t>(row)] == predictions[static_cast<size_t>(row)];
}

}  // namespace

GroupScorer::GroupScorer(const std::vector<int64_t>& groups, const std::vector<bool>& conflicting, std::vector<int32_t> units)
    : units_(std::move(units)) {
  GroupCounts counts(std::ssize(conflicting), 1);
  for (const int64_t group : groups) counts.add(group);
  const std::vector<int64_t> pools = counts.pools(kLeastGroup);
  for (const int64_t pool : pools) {
    if (pool == std::ssize(pooled_)) pooled_.push_back(0);
    if (pool != kUnknown) ++pooled_[static_cast<size_t>(pool)];
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    scored_.push_back(groups[i] == kUnknown ? kUnknown : pools[static_cast<size_t>(groups[i])]);
    if (groups[i] != kUnknown) (conflicting[static_cast<size_t>(groups[i])] ? conflicting_ : others_).push_back(static_cast<int64_t>(i));
  }
}

GroupScores GroupScorer::scores(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) const {
  GroupCounts counts(std::ssize(pooled_), 1);
  for (size_t i = 0; i < scored_.size(); ++i) counts.add(scored_[i], labels[i] == predictions[i]);
  GroupScores scores{1, 0, std::numeric_limits<double>::quiet_NaN()};
  const double groups = std::accumulate(pooled_.begin(), pooled_.end(), 0.0);
  for (size_t g = 0; g < pooled_.size(); ++g) {
    const double accuracy = counts.accuracy(static_cast<int64_t>(g));
    scores.worst = std::min(scores.worst, accuracy);
    scores.mean += accuracy * pooled_[g] / groups;
  }
  if (conflicting_.empty()) return scores;
  const auto of_conflicting =
      std::count_if(conflicting_.begin(), conflicting_.end(), [&](int64_t i) { return is_right(labels, predictions, i); });
  scores.conflicting = static_cast<double>(of_conflicting) / static_cast<double>(conflicting_.size());
  return scores;
}

double GroupScorer::paired_p(const std::vector<int64_t>& labels, const std::vector<int64_t>& better,
                             const std::vector<int64_t>& worse) const {
  int64_t won = 0, lost = 0;
  std::map<int32_t, int64_t> differences;
  for (const int64_t i : conflicting_) {
    const bool b = is_right(labels, better, i), w = is_right(labels, worse, i);
    won += b && !w;
    lost += w && !b;
    if (!units_.empty()) differences[units_[static_cast<size_t>(i)]] += b - w;
  }
  if (!units_.empty()) {
    std::vector<int64_t> of_units;
    for (const auto& [unit, difference] : differences) of_units.push_back(difference);
    return signs_mid_p(of_units);
  }
  return mid_p_of_coins(won, won + lost);
}

double GroupScorer::shortfall_p(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) const {
  if (conflicting_.empty()) return 1;
  struct Count {
    double right = 0, all = 0;
  };
  std::map<int64_t, Count> classes;
  for (const int64_t i : others_) {
    Count& rows = classes[labels[static_cast<size_t>(i)]];
    rows.right += is_right(labels, predictions, i);
    ++rows.all;
  }
  std::vector<double> accuracies;
  int64_t right = 0;
  for (const int64_t i : conflicting_) {
    const Count& rows = classes[labels[static_cast<size_t>(i)]];
    accuracies.push_back((rows.right + 1) / (rows.all + 2));
    right += is_right(labels, predictions, i);
  }
  if (units_.empty()) return poisson_binomial_tail(accuracies, right);
  std::vector<double> residuals;
  std::vector<int32_t> units;
  for (size_t c = 0; c < conflicting_.size(); ++c) {
    residuals.push_back(is_right(labels, predictions, conflicting_[c]) - accuracies[c]);
    units.push_back(units_[static_cast<size_t>(conflicting_[c])]);
  }
  const double effect = design_effect(residuals, units);
  std::vector<double> fewer;  // spread over the sorted ones
  std::ranges::sort(accuracies);
  for (double at = effect / 2; at < static_cast<double>(accuracies.size()); at += effect) {
    fewer.push_back(accuracies[static_cast<size_t>(at)]);
  }
  return poisson_binomial_tail(fewer, std::llround(static_cast<double>(right) / effect));
}

double mid_p_of_coins(int64_t successes, int64_t trials) {
  if (trials == 0) return 1;
  double sum = 0;
  const double n = static_cast<double>(trials);
  for (int64_t k = successes; k <= trials; ++k) {
    const auto x = static_cast<double>(k);
    const double probability = std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
    sum += k == successes ? probability / 2 : probability;
  }
  return std::min(1.0, sum);
}

double signs_mid_p(const std::vector<int64_t>& differences) {
  int64_t sum = 0, range = 0;
  bool coins = true;
  for (const int64_t d : differences) {
    sum += d;
    range += std::abs(d);
    coins = coins && std::abs(d) <= 1;
  }
  if (coins) return mid_p_of_coins((range + sum) / 2, range);
  std::vector<double> chance(static_cast<size_t>(2 * range + 1)), next;  // of each sum, from -range
  chance[static_cast<size_t>(range)] = 1;
  for (const int64_t d : differences) {
    if (d == 0) continue;
    next.assign(chance.size(), 0);
    for (int64_t at = 0; at <= 2 * range; ++at) {
      const double half = chance[static_cast<size_t>(at)] / 2;
      if (half == 0) continue;
      next[static_cast<size_t>(at + d)] += half;
      next[static_cast<size_t>(at - d)] += half;
    }
    chance.swap(next);
  }
  const auto place = static_cast<std::ptrdiff_t>(sum + range);
  return std::min(1.0, std::accumulate(chance.begin() + place + 1, chance.end(), chance[static_cast<size_t>(place)] / 2));
}

double design_effect(const std::vector<double>& residuals, const std::vector<int32_t>& units) {
  std::map<int32_t, std::pair<double, double>> sums;  // of residuals, and of rows
  double squares = 0;
  for (size_t i = 0; i < residuals.size(); ++i) {
    auto& [sum, rows] = sums[units[i]];
    sum += residuals[i];
    ++rows;
    squares += residuals[i] * residuals[i];
  }
  double of_units = 0, sizes = 0;
  for (const auto& [unit, own] : sums) {
    of_units += own.first * own.first;
    sizes += own.second * own.second;
  }
  if (residuals.empty()) return 1;
  if (sums.size() == 1) return static_cast<double>(residuals.size());
  return std::max(1.0, squares > 0 ? of_units / squares : sizes / static_cast<double>(residuals.size()));
}

}  // namespace debias

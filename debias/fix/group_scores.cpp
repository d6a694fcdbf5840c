#include "debias/fix/group_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "debias/data/group_counts.h"
#include "debias/fix/poisson_binomial.h"

namespace debias {
namespace {

bool is_right(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t row) {
  return labels[static_cast<size_t>(row)] == predictions[static_cast<size_t>(row)];
}

}  // namespace

GroupScorer::GroupScorer(const std::vector<int64_t>& groups, const std::vector<bool>& conflicting) {
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
  for (const int64_t i : conflicting_) {
    const bool b = is_right(labels, better, i), w = is_right(labels, worse, i);
    won += b && !w;
    lost += w && !b;
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
  return poisson_binomial_tail(accuracies, right);
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

}  // namespace debias

#include "debias/fix/group_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "debias/data/sample_table.h"

namespace debias {
namespace {

bool is_right(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t row) {
  return labels[static_cast<size_t>(row)] == predictions[static_cast<size_t>(row)];
}

}  // namespace

GroupScorer::GroupScorer(const std::vector<int64_t>& groups, const std::vector<bool>& conflicting) {
  std::vector<int64_t> counts(conflicting.size());
  for (const int64_t group : groups) {
    if (group != kUnknown) ++counts[static_cast<size_t>(group)];
  }
  constexpr int64_t kNone = -1;
  int64_t pooled = kNone;
  std::vector<int64_t> places;
  for (const int64_t count : counts) {
    if (count == 0) {
      places.push_back(kNone);
    } else if (count >= kLeastGroup) {
      places.push_back(groups_++);
    } else {
      if (pooled == kNone) pooled = groups_++;
      places.push_back(pooled);
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    scored_.push_back(groups[i] == kUnknown ? kUnknown : places[static_cast<size_t>(groups[i])]);
    if (groups[i] != kUnknown && conflicting[static_cast<size_t>(groups[i])]) conflicting_.push_back(static_cast<int64_t>(i));
  }
}

GroupScores GroupScorer::scores(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions) const {
  std::vector<double> count(static_cast<size_t>(groups_)), right(static_cast<size_t>(groups_));
  for (size_t i = 0; i < scored_.size(); ++i) {
    if (scored_[i] == kUnknown) continue;
    ++count[static_cast<size_t>(scored_[i])];
    right[static_cast<size_t>(scored_[i])] += labels[i] == predictions[i];
  }
  GroupScores scores{1, 0, std::numeric_limits<double>::quiet_NaN()};
  for (size_t g = 0; g < count.size(); ++g) {
    scores.worst = std::min(scores.worst, right[g] / count[g]);
    scores.mean += right[g] / count[g] / static_cast<double>(groups_);
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
  return coin_tail(won, won + lost);
}

double coin_tail(int64_t successes, int64_t trials) {
  double sum = 0;
  const double n = static_cast<double>(trials);
  for (int64_t k = successes; k <= trials; ++k) {
    const auto x = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) - n * std::log(2.0));
  }
  return std::min(1.0, sum);
}

}  // namespace debias

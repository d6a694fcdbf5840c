#include "debias/fix/folds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "debias/core/philox.h"

namespace debias {
namespace {

// The largest number c for which sum min(size, c) is at most `most`; at least 1.
int64_t largest_share(const std::vector<std::vector<int64_t>>& strata, int64_t most) {
  std::vector<int64_t> sizes;
  for (const auto& members : strata) sizes.push_back(std::ssize(members));
  std::sort(sizes.begin(), sizes.end());
  int64_t left = most;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t share = left / static_cast<int64_t>(sizes.size() - i);
    if (sizes[i] > share) return std::max<int64_t>(1, share);
    left -= sizes[i];
  }
  return sizes.empty() ? 1 : sizes.back();
}

using Folds = std::vector<std::vector<std::pair<int64_t, double>>>;  // places and their importance

FoldRows one_after_the_other(Folds folds) {
  FoldRows rows;
  for (auto& fold : folds) {
    std::sort(fold.begin(), fold.end());
    rows.begins.push_back(rows.size());
    for (const auto& [place, importance] : fold) {
      rows.places.push_back(place);
      rows.importance.push_back(importance);
    }
  }
  rows.begins.push_back(rows.size());
  return rows;
}

struct DealtGroup {
  std::vector<std::pair<int64_t, double>> rows;
  std::map<size_t, double> counts;  // by stratum
  double unevenness = 0;
};

double deviation(double sum, double squares, double count) {
  return std::sqrt(std::max(0.0, squares / count - sum * sum / (count * count)));
}

// Rows of each stratum in each fold.
class DealtFolds {
 public:
  explicit DealtFolds(const std::vector<double>& totals) : totals_(totals), counts_(totals.size()) {}

  // How much less evenly the strata of `group` are spread with it in `fold` than without it.
  double added_spread(const DealtGroup& group, size_t fold) const {
    double added = 0;
    for (const auto& [stratum, count] : group.counts) {
      std::array<double, kFolds> of_folds = counts_[stratum];
      added -= spread(of_folds, stratum);
      of_folds[fold] += count;
      added += spread(of_folds, stratum);
    }
    return added;
  }

  void add(const DealtGroup& group, size_t fold) {
    for (const auto& [stratum, count] : group.counts) counts_[stratum][fold] += count;
  }

 private:
  double spread(const std::array<double, kFolds>& of_folds, size_t stratum) const {
    double sum = 0, squares = 0;
    for (const double count : of_folds) {
      sum += count;
      squares += count * count;
    }
    return deviation(sum, squares, kFolds) / totals_[stratum];
  }

  const std::vector<double>& totals_;
  std::vector<std::array<double, kFolds>> counts_;
};

}  // namespace

FoldRows fold_rows(const std::vector<int64_t>& strata, uint64_t seed, int64_t most) {
  std::vector<std::vector<int64_t>> members;  // of each stratum, the largest first: other numbers of strata give the same folds
  std::map<int64_t, size_t> place_of;
  for (size_t i = 0; i < strata.size(); ++i) {
    const size_t place = place_of.try_emplace(strata[i], members.size()).first->second;
    if (place == members.size()) members.emplace_back();
    members[place].push_back(static_cast<int64_t>(i));
  }
  std::ranges::stable_sort(members, std::ranges::greater(), &std::vector<int64_t>::size);
  const int64_t share = largest_share(members, most);
  Folds folds(kFolds);
  int64_t next = 0;  // continues from stratum to stratum, so that the folds stay equally large
  for (const auto& own : members) {
    const std::vector<int64_t> order =
        permutation(std::ssize(own), {.domain = RngDomain::kEvaluate, .seed = seed, .sample = static_cast<uint64_t>(own.front())});
    const int64_t taken = std::min(share, std::ssize(own));
    const double importance = static_cast<double>(own.size()) / static_cast<double>(taken);
    for (int64_t i = 0; i < taken; ++i) {
      folds[static_cast<size_t>(next++ % kFolds)].emplace_back(own[static_cast<size_t>(order[static_cast<size_t>(i)])], importance);
    }
  }
  return one_after_the_other(std::move(folds));
}

FoldRows folds_of_groups(const FoldRows& rows, const std::vector<int64_t>& strata, const std::vector<int32_t>& groups, uint64_t seed) {
  std::map<int64_t, size_t> stratum_numbers;
  std::map<int32_t, size_t> group_numbers;
  std::vector<double> totals;
  std::vector<DealtGroup> dealt;
  std::map<int64_t, double> drawn;  // in the order of input rows
  for (size_t i = 0; i < rows.places.size(); ++i) drawn.emplace(rows.places[i], rows.importance[i]);
  for (const auto& [place, importance] : drawn) {
    const size_t stratum = stratum_numbers.try_emplace(strata[static_cast<size_t>(place)], stratum_numbers.size()).first->second;
    const size_t group = group_numbers.try_emplace(groups[static_cast<size_t>(place)], group_numbers.size()).first->second;
    totals.resize(stratum_numbers.size());
    dealt.resize(group_numbers.size());
    ++totals[stratum];
    ++dealt[group].counts[stratum];
    dealt[group].rows.emplace_back(place, importance);
  }
  for (DealtGroup& group : dealt) {
    double squares = 0;
    for (const auto& [stratum, count] : group.counts) squares += count * count;
    group.unevenness = deviation(static_cast<double>(group.rows.size()), squares, static_cast<double>(totals.size()));
  }
  std::vector<int64_t> order = permutation(std::ssize(dealt), {.domain = RngDomain::kEvaluate, .seed = seed});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](int64_t group) { return dealt[static_cast<size_t>(group)].unevenness; });
  DealtFolds spread(totals);
  Folds folds(kFolds);
  for (const int64_t place : order) {
    const DealtGroup& group = dealt[static_cast<size_t>(place)];
    size_t best = 0;
    std::array<double, kFolds> added{};
    for (size_t fold = 0; fold < kFolds; ++fold) {
      added[fold] = spread.added_spread(group, fold);
      constexpr double kEqual = 1e-12;
      const bool evener = added[fold] < added[best] - kEqual;
      if (evener || (added[fold] <= added[best] + kEqual && folds[fold].size() < folds[best].size())) best = fold;
    }
    spread.add(group, best);
    folds[best].insert(folds[best].end(), group.rows.begin(), group.rows.end());
  }
  return one_after_the_other(std::move(folds));
}

}  // namespace debias

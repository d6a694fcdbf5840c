#include "debias/fix/cross_validation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "debias/core/philox.h"
#include "debias/evaluate/descent.h"

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

namespace {

constexpr double kFoldTolerance = 1e-3, kFinalTolerance = 1e-4;

const at::Tensor& weights_of(const FitRows& rows, bool balanced) { return balanced ? rows.balanced : rows.plain; }

// Each place as often as its share of the weights says, to the next whole number (systematic resampling).
std::vector<int64_t> resampled(const at::Tensor& weights, int64_t count) {
  const double* w = weights.const_data_ptr<double>();
  const double step = weights.sum().item<double>() / static_cast<double>(count);
  std::vector<int64_t> places;
  double sum = 0;
  for (int64_t i = 0; i < weights.size(0); ++i) {
    for (sum += w[i]; std::ssize(places) < count && sum > (static_cast<double>(places.size()) + 0.5) * step;) places.push_back(i);
  }
  return places;
}

// Covariance of the rows, with the classes' means: of some of them where those suffice for a preconditioner.
at::Tensor total_covariance(const FitRows& rows, bool balanced) {
  const auto covariance_of = [](const WeightedRows& weighted) {
    const ClassMoments moments = class_moments(weighted, 0, weighted.x->size());
    const at::Tensor mean = moments.mean();
    return moments.xx / moments.total() - at::outer(mean, mean);
  };
  const at::Tensor& weights = weights_of(rows, balanced);
  const int64_t most = preconditioner_rows(rows.x.dimensions());
  if (rows.size() <= most) return covariance_of(rows.weighted(weights));
  const std::vector<int64_t> places = resampled(weights, most);
  const StandardRows chosen = rows.x.selected(places);
  const at::Tensor index = at::tensor(places, at::kLong);
  return covariance_of({&chosen, rows.z.index_select(0, index), rows.targets.index_select(0, index),
                        at::ones({std::ssize(places)}, at::kDouble), rows.classes});
}

// Gives the rows of each key the sum that they have in `all`, if any of them has a weight. Without a key, a row is left as it is.
void restore_sums(const at::Tensor& weights, const at::Tensor& all, const std::vector<int64_t>& keys) {
  struct Sums {
    double now = 0, all = 0;
  };
  std::map<int64_t, Sums> sums;
  float* now = weights.mutable_data_ptr<float>();
  const double* before = all.const_data_ptr<double>();
  for (size_t i = 0; i < keys.size(); ++i) {
    Sums& own = sums[keys[i]];
    own.now += now[i];
    own.all += before[i];
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const Sums& own = sums.at(keys[i]);
    if (keys[i] != kUnknown && own.now > 0) now[i] = static_cast<float>(now[i] * own.all / own.now);
  }
}

double l2_of(double C, int64_t training_rows) { return 1 / (C * static_cast<double>(training_rows)); }

}  // namespace

AffineErasure fitted_erasure(const FitRows& rows, Shrinkage shrinkage) {
  const WeightedRows weighted = rows.weighted(rows.erased);
  const ClassMoments moments = class_moments(weighted, 0, rows.size());
  const double fourth = fourth_moment(weighted, 0, rows.size(), moments.class_means());
  return class_conditional_erasure(moments, fourth / moments.total(), shrinkage);
}

std::vector<HeadFit> fit_choices(const FitRows& rows, const std::vector<FinalChoice>& choices) {
  std::map<bool, at::Tensor> covariances;
  std::vector<HeadProblem> problems;
  for (const FinalChoice& chosen : choices) {
    const bool balanced = chosen.choice.balances();
    if (!covariances.contains(balanced)) covariances[balanced] = total_covariance(rows, balanced);
    const double l2 = l2_of(chosen.choice.C, rows.size());
    problems.push_back({weights_of(rows, balanced).to(at::kFloat), l2, head_preconditioner(covariances.at(balanced), l2),
                        std::make_shared<const AffineErasure>(chosen.erasure)});
  }
  return fit_heads(rows.x, rows.targets, rows.classes, problems, {.tolerance = kFinalTolerance});
}

CrossValidation::CrossValidation(const FitRows& rows, const FoldRows& folds, const GroupScorer& scorer, int64_t training_rows)
    : rows_(rows), folds_(folds), scorer_(scorer), training_rows_(training_rows) {}

const at::Tensor& CrossValidation::preconditioner(bool balanced, double l2) {
  if (!covariances_.contains(balanced)) covariances_[balanced] = total_covariance(rows_, balanced);
  at::Tensor& found = preconditioners_[{balanced, l2}];
  if (!found.defined()) found = head_preconditioner(covariances_.at(balanced), l2);
  return found;
}

const at::Tensor& CrossValidation::fold_weights(bool balanced, size_t fold) {
  at::Tensor& found = weights_[{balanced, fold}];
  if (found.defined()) return found;
  found = weights_of(rows_, balanced).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  found.narrow(0, folds_.begins[fold], folds_.begins[fold + 1] - folds_.begins[fold]).zero_();
  if (balanced) {  // else a group of few units weighs least in the folds that hold most of it out, and heads lean to the other classes there
    restore_sums(found, rows_.balanced, rows_.groups);
    restore_sums(found, rows_.balanced, rows_.labels);
  }
  return found;
}

std::shared_ptr<const AffineErasure> CrossValidation::erasure(Shrinkage shrinkage, size_t fold) {
  const WeightedRows weighted = rows_.weighted(rows_.erased);
  const auto size = [&](size_t part) { return folds_.begins[part + 1] - folds_.begins[part]; };
  if (moments_.empty()) {
    std::vector<ClassMoments> parts;
    for (size_t part = 0; part < kFolds; ++part) parts.push_back(class_moments(weighted, folds_.begins[part], size(part)));
    for (size_t left_out = 0; left_out < kFolds; ++left_out) {
      const size_t first = left_out == 0 ? 1 : 0;
      ClassMoments others = parts[first];
      for (size_t part = first + 1; part < kFolds; ++part) {
        if (part != left_out) others += parts[part];
      }
      double fourth = 0;
      const at::Tensor means = others.class_means();
      for (size_t part = 0; part < kFolds; ++part) {
        if (part != left_out) fourth += fourth_moment(weighted, folds_.begins[part], size(part), means);
      }
      moments_.push_back(std::move(others));
      fourths_.push_back(fourth);
    }
  }
  auto& found = erasures_[{shrinkage, fold}];
  if (found == nullptr) {
    found = std::make_shared<const AffineErasure>(
        class_conditional_erasure(moments_[fold], fourths_[fold] / moments_[fold].total(), shrinkage));
  }
  return found;
}

std::vector<ScoredChoice> CrossValidation::scored(const std::vector<HeadChoice>& choices) {
  std::vector<HeadProblem> problems;
  for (const HeadChoice& choice : choices) {
    const double l2 = l2_of(choice.C, training_rows_);
    for (size_t fold = 0; fold < kFolds; ++fold) {
      problems.push_back({fold_weights(choice.balances(), fold), l2, preconditioner(choice.balances(), l2),
                          choice.erases() ? erasure(choice.shrinkage, fold) : nullptr});
    }
  }
  const std::vector<HeadFit> fits = fit_heads(rows_.x, rows_.targets, rows_.classes, problems, {.tolerance = kFoldTolerance});
  std::vector<ScoredChoice> all;
  for (size_t c = 0; c < choices.size(); ++c) {
    ScoredChoice scored{choices[c], {}, {}};
    for (size_t fold = 0; fold < kFolds; ++fold) {
      const std::vector<int64_t> own =
          predicted_by(fits[c * kFolds + fold].head, rows_.x, folds_.begins[fold], folds_.begins[fold + 1] - folds_.begins[fold]);
      scored.predictions.insert(scored.predictions.end(), own.begin(), own.end());
    }
    scored.scores = scorer_.scores(rows_.labels, scored.predictions);
    all.push_back(std::move(scored));
  }
  return all;
}

}  // namespace debias

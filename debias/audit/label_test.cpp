#include "debias/audit/label_test.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "debias/core/philox.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr double kLeastDeviation = 1e-3, kSameScore = 1e-3;  // sums of floats in another order

template <class T>
void shuffle(std::vector<T>& items, Random& random) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
}

// Rows whose labels are exchanged: the groups of one class with each other, the rows of a mixed group with each other.
struct Exchange {
  std::map<int32_t, std::vector<std::vector<size_t>>> groups;  // by stratum, the groups of one class: their rows
  std::vector<std::vector<size_t>> mixed;                      // rows of a mixed group
};

Exchange exchange_of(std::span<const int32_t> labels, const RowGroups& groups, std::span<const int32_t> strata) {
  std::vector<std::vector<size_t>> rows(static_cast<size_t>(groups.count));
  for (size_t row = 0; row < labels.size(); ++row) rows[static_cast<size_t>(groups.of_row[row])].push_back(row);
  Exchange exchange;
  for (auto& own : rows) {
    if (own.empty()) continue;
    const bool one_class = std::ranges::all_of(own, [&](size_t row) { return labels[row] == labels[own.front()]; });
    if (one_class)
      exchange.groups[strata.empty() ? 0 : strata[own.front()]].push_back(std::move(own));
    else
      exchange.mixed.push_back(std::move(own));
  }
  return exchange;
}

// Each group's rows of one stratum are a group.
RowGroups divided(const RowGroups& groups, std::span<const int32_t> strata) {
  RowGroups parts = groups;
  std::map<std::pair<int32_t, int32_t>, int32_t> number;
  for (size_t row = 0; row < strata.size(); ++row) {
    const auto next = static_cast<int32_t>(number.size());
    parts.of_row[row] = number.try_emplace({groups.of_row[row], strata[row]}, next).first->second;
  }
  parts.count = static_cast<int32_t>(number.size());
  return parts;
}

}  // namespace

LabelTest::LabelTest(std::span<const int32_t> labels, int32_t classes, const RowGroups& whole, uint64_t seed,
                     std::span<const int32_t> strata, int permutations)
    : rows_(labels.size()), classes_(static_cast<size_t>(classes)), class_weight_(classes_) {
  const RowGroups groups = strata.empty() ? whole : divided(whole, strata);
  Labelling real{{labels.begin(), labels.end()}, std::vector<float>(rows_)};
  std::map<std::pair<int32_t, int32_t>, int64_t> size;  // of a group and class
  for (size_t row = 0; row < rows_; ++row) ++size[{groups.of_row[row], labels[row]}];
  for (const auto& [key, rows] : size) class_weight_[static_cast<size_t>(key.second)] += 1;
  for (size_t row = 0; row < rows_; ++row) real.weights[row] = 1 / static_cast<float>(size[{groups.of_row[row], labels[row]}]);
  const Exchange exchange = exchange_of(labels, groups, strata);
  labellings_.push_back(std::move(real));
  for (int p = 0; p < permutations; ++p) {
    Random random({.domain = RngDomain::kEvaluate, .seed = seed, .sample = static_cast<uint64_t>(p), .step = 5});
    Labelling next = labellings_.front();
    for (const auto& [stratum, own] : exchange.groups) {
      std::vector<int32_t> exchanged;
      for (const auto& rows : own) exchanged.push_back(labels[rows.front()]);
      shuffle(exchanged, random);
      for (size_t g = 0; g < own.size(); ++g) {
        for (const size_t row : own[g]) next.labels[row] = exchanged[g];
      }
    }
    for (const auto& rows : exchange.mixed) {
      std::vector<size_t> from = rows;
      shuffle(from, random);
      for (size_t i = 0; i < rows.size(); ++i) {
        next.labels[rows[i]] = labellings_.front().labels[from[i]];
        next.weights[rows[i]] = labellings_.front().weights[from[i]];
      }
    }
    labellings_.push_back(std::move(next));
  }
}

namespace {

bool left_out(const Property& property, size_t value) {
  return property.among_present && property.says_absent(static_cast<int32_t>(value));
}

// Of a table [classes, values] and more: the groups of each class that are compared.
std::vector<double> counted_weights(const Property& property, const std::vector<double>& table) {
  const auto values = static_cast<size_t>(property.count());
  std::vector<double> weights(table.size() / values - 1);
  for (size_t k = 0; k < weights.size(); ++k) {
    for (size_t v = 0; v < values; ++v) weights[k] += left_out(property, v) ? 0 : table[k * values + v];
  }
  return weights;
}

bool too_few(const Property& property, double own, double rest) { return own <= 0 || (property.among_present && std::min(own, rest) < 4); }

}  // namespace

// J of each class; `table` takes the shares [classes, values] and, after them, those of all groups.
std::vector<double> LabelTest::statistics(const Property& property, const Labelling& labelling, std::vector<double>* table) const {
  const auto values = static_cast<size_t>(property.count());
  std::vector<double> sums((classes_ + 1) * values);
  for (size_t row = 0; row < rows_; ++row) {
    sums[static_cast<size_t>(labelling.labels[row]) * values + static_cast<size_t>(property.values[row])] += labelling.weights[row];
  }
  double* all = sums.data() + classes_ * values;
  for (size_t k = 0; k < classes_; ++k) {
    for (size_t v = 0; v < values; ++v) all[v] += sums[k * values + v];
  }
  const std::vector<double> class_weight = counted_weights(property, sums);
  const double weight = std::accumulate(class_weight.begin(), class_weight.end(), 0.0);
  std::vector<double> statistic(classes_);
  for (size_t k = 0; k < classes_; ++k) {
    if (too_few(property, class_weight[k], weight - class_weight[k])) continue;
    const double own = class_weight[k], rest = std::max(weight - class_weight[k], 1e-12);
    double difference = 0, cumulative = 0, largest = 0;
    for (size_t v = 0; v < values; ++v) {
      if (left_out(property, v)) continue;
      const double step = sums[k * values + v] / own - (all[v] - sums[k * values + v]) / rest;
      difference += std::abs(step) / 2;
      cumulative += step;
      largest = std::max(largest, std::abs(cumulative));
    }
    statistic[k] = property.ordered ? largest : difference;
  }
  if (table != nullptr) *table = std::move(sums);
  return statistic;
}

namespace {

// Where one class has a value, or values on one side of a bin, more often than the others by the largest share, and where the difference is
// largest in either sense.
void locate(const Property& property, const std::vector<double>& table, TestedProperty& found) {
  const auto values = static_cast<size_t>(property.count());
  const std::vector<double> class_weight = counted_weights(property, table);
  const size_t classes = class_weight.size();
  const double weight = std::accumulate(class_weight.begin(), class_weight.end(), 0.0);
  const double* all = table.data() + classes * values;
  double most = -1, largest = -1;
  const auto consider = [&](size_t k, size_t v, double sum, double of_all, bool above, double factor) {
    constexpr double kAsLarge = 1.0001,
                     kOfAbsent = 0.5;  // that a class has it says more than that it lacks it, a value more than none of them
    const ClassContrast contrast{static_cast<int32_t>(k),
                                 static_cast<int32_t>(v),
                                 above,
                                 sum / class_weight[k],
                                 (of_all - sum) / std::max(weight - class_weight[k], 1e-12),
                                 sum};
    const double difference = contrast.in_class - contrast.elsewhere;
    if (factor * difference > most) {
      most = factor * difference;
      static_cast<ClassContrast&>(found) = contrast;
    }
    const double in_either_sense = (factor < 1 ? kOfAbsent : factor) * std::max(kAsLarge * difference, -difference);
    if (in_either_sense <= largest) return;
    largest = in_either_sense;
    found.largest = contrast;
  };
  for (size_t k = 0; k < classes; ++k) {
    if (too_few(property, class_weight[k], weight - class_weight[k])) continue;
    double sum = 0, of_all = 0, total = 0, total_of_all = 0;
    for (size_t v = 0; v < values; ++v) {
      total += table[k * values + v];
      total_of_all += all[v];
    }
    for (size_t v = 0; v < values; ++v) {
      if (property.ordered) {
        if (v > 0) {
          consider(k, v, sum, of_all, false, 1);
          consider(k, v, total - sum, total_of_all - of_all, true, 1.0001);
        }
        sum += table[k * values + v];
        of_all += all[v];
      } else if (!left_out(property, v)) {
        consider(k, v, table[k * values + v], all[v], false, property.says_absent(static_cast<int32_t>(v)) ? 0.25 : 1);
      }
    }
  }
}

}  // namespace

std::vector<TestedProperty> LabelTest::test(const std::vector<const Property*>& properties) const {
  const size_t runs = labellings_.size();
  std::vector<TestedProperty> tested(properties.size());
  std::vector<double> score(properties.size());                // the largest (J - mu) / sigma
  std::vector<std::vector<double>> maxima(properties.size());  // the same in each permutation
  for_each_block(
      std::ssize(properties), 1,
      [&](int64_t first, int64_t) {
        const auto q = static_cast<size_t>(first);
        std::vector<double> table;
        std::vector<std::vector<double>> statistic(runs);
        for (size_t r = 0; r < runs; ++r) statistic[r] = statistics(*properties[q], labellings_[r], r == 0 ? &table : nullptr);
        maxima[q].assign(runs, -1e300);
        for (size_t k = 0; k < classes_; ++k) {
          double mean = 0, square = 0;
          for (size_t r = 1; r < runs; ++r) mean += statistic[r][k] / static_cast<double>(runs - 1);
          for (size_t r = 1; r < runs; ++r) square += (statistic[r][k] - mean) * (statistic[r][k] - mean) / static_cast<double>(runs - 1);
          const double deviation = std::max(std::sqrt(square), kLeastDeviation);
          for (size_t r = 0; r < runs; ++r) maxima[q][r] = std::max(maxima[q][r], (statistic[r][k] - mean) / deviation);
          const double effect = mean < 1 ? (statistic[0][k] - mean) / (1 - mean) : 0;
          tested[q].effect = std::max(tested[q].effect, effect);
        }
        score[q] = maxima[q][0];
        locate(*properties[q], table, tested[q]);
      },
      [](int64_t) {});
  maxima_.assign(runs - 1, -1e300);
  for (size_t r = 1; r < runs; ++r) {
    for (const auto& of_property : maxima) maxima_[r - 1] = std::max(maxima_[r - 1], of_property[r]);
  }
  std::ranges::sort(maxima_);
  for (size_t q = 0; q < properties.size(); ++q) {
    const auto as_large = maxima_.end() - std::ranges::lower_bound(maxima_, score[q] - kSameScore);
    tested[q].p_adjusted = static_cast<double>(1 + as_large) / static_cast<double>(runs);
  }
  return tested;
}

double LabelTest::critical(double level) const {
  if (maxima_.empty()) return 0;
  const auto beyond = static_cast<size_t>(level * static_cast<double>(maxima_.size() + 1));
  return maxima_[maxima_.size() - std::clamp<size_t>(beyond, 1, maxima_.size())];
}

double LabelTest::least_share(double effect, double critical) const {
  const double weight = std::accumulate(class_weight_.begin(), class_weight_.end(), 0.0);
  const double own = std::ranges::min(class_weight_), rest = weight - own;
  for (double share = effect; share < 1; share += 0.01) {
    const double overall = share * own / weight;
    const double deviation = std::sqrt(overall * (1 - overall) * (1 / own + 1 / rest));  // of the difference of two shares
    const double mean = deviation * std::sqrt(2 / std::acos(-1.0)), sigma = deviation * std::sqrt(1 - 2 / std::acos(-1.0));
    if ((share - mean) / std::max(sigma, kLeastDeviation) >= critical && (share - mean) / (1 - mean) >= effect) return share;
  }
  return 1;
}

}  // namespace debias

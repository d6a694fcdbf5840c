#include "debias/audit/permutation_test.h"

#include <algorithm>
#include <cmath>

#include "debias/audit/balanced_accuracy.h"
#include "debias/core/philox.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

std::vector<std::vector<int32_t>> permuted_labels(const std::vector<int32_t>& labels, uint64_t seed) {
  std::vector<std::vector<int32_t>> permuted(kPermutations, labels);
  for (size_t b = 0; b < permuted.size(); ++b) {
    const auto order = permutation(std::ssize(labels), {.domain = RngDomain::kEvaluate, .seed = seed, .sample = b});
    for (size_t i = 0; i < labels.size(); ++i) permuted[b][i] = labels[static_cast<size_t>(order[i])];
  }
  return permuted;
}

}  // namespace

double PermutationTest::chance_bound() const { return null_best[null_best.size() * 95 / 100]; }

PermutationTest permutation_test(int64_t candidates, const std::function<CandidateFeatures(int64_t)>& features, const LabelledRows& rows,
                                 uint64_t seed, Progress& progress) {
  const auto permuted = permuted_labels(rows.labels, seed);
  const auto n = static_cast<size_t>(candidates);
  PermutationTest test{std::vector<double>(n), std::vector<double>(n), {}};
  std::vector<std::vector<double>> null(n, std::vector<double>(kPermutations));
  progress.begin("testing", candidates);
  for_each_block(
      candidates, 1,
      [&](int64_t first, int64_t) {
        const auto j = static_cast<size_t>(first);
        const CandidateFeatures own = features(first);
        test.accuracy[j] = balanced_accuracy(own, rows.folds, rows.labels, rows.classes);
        for (size_t b = 0; b < null[j].size(); ++b) null[j][b] = balanced_accuracy(own, rows.folds, permuted[b], rows.classes);
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  test.null_best.assign(kPermutations, 0);
  for (const auto& own : null) {
    for (size_t b = 0; b < own.size(); ++b) test.null_best[b] = std::max(test.null_best[b], own[b]);
  }
  std::sort(test.null_best.begin(), test.null_best.end());
  for (size_t j = 0; j < n; ++j) {
    const auto reaching = test.null_best.end() - std::lower_bound(test.null_best.begin(), test.null_best.end(), test.accuracy[j]);
    test.p_adjusted[j] = static_cast<double>(1 + reaching) / (1 + kPermutations);
  }
  return test;
}

namespace {

constexpr double kConfidentVector = 0.9, kConfidentCategory = 0.75;

// Rows that get a value. The classifier is fitted to all others that have a label.
struct HeldOut {
  int64_t begin = 0, end = 0;
};

template <class Visit>
void for_each_training_row(const LabelledRows& rows, HeldOut held_out, Visit visit) {
  for (int64_t i = 0; i < std::ssize(rows.labels); ++i) {
    if (i < held_out.begin || i >= held_out.end) visit(i, rows.labels[static_cast<size_t>(i)]);
  }
}

HeldOutValue most_likely(std::span<const double> posterior, double confident) {
  const auto best = std::max_element(posterior.begin(), posterior.end());
  return {static_cast<int32_t>(best - posterior.begin()), *best, *best >= confident};
}

class DiscriminantAnalysis {
 public:
  DiscriminantAnalysis(const VectorFeatures& features, const LabelledRows& rows, HeldOut held_out)
      : features_(features), classes_(rows.classes), within_(features.dimensions) {
    const int64_t d = features.dimensions;
    means_.resize(static_cast<size_t>(classes_ * d));
    counts_.resize(static_cast<size_t>(classes_));
    for_each_training_row(rows, held_out, [&](int64_t i, int32_t c) {
      for (int64_t k = 0; k < d; ++k) means_[static_cast<size_t>(c * d + k)] += value(i, k);
      ++counts_[static_cast<size_t>(c)];
    });
    for (size_t j = 0; j < means_.size(); ++j) means_[j] /= std::max(1.0, counts_[j / static_cast<size_t>(d)]);
    set_within(rows, held_out);
    for (int32_t c = 0; c < classes_; ++c) solve_lower(within_, means_.data() + c * d);
  }

  std::vector<double> posterior(int64_t row) const {
    const int64_t d = features_.dimensions;
    std::vector<double> x(static_cast<size_t>(d)), scores;
    for (int64_t k = 0; k < d; ++k) x[static_cast<size_t>(k)] = value(row, k);
    solve_lower(within_, x.data());
    for (int32_t c = 0; c < classes_; ++c) {
      double distance = 0;
      for (int64_t k = 0; k < d; ++k) {
        const double difference = x[static_cast<size_t>(k)] - means_[static_cast<size_t>(c * d + k)];
        distance += difference * difference;
      }
      scores.push_back(counts_[static_cast<size_t>(c)] > 0 ? -distance / 2 : -1e300);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (double& score : scores) score /= sum;
    return scores;
  }

 private:
  double value(int64_t row, int64_t k) const { return features_.by_row[static_cast<size_t>(row * features_.dimensions + k)]; }

  // Each class weighs the same.
  void set_within(const LabelledRows& rows, HeldOut held_out) {
    constexpr double kRidge = 1e-3;  // of unit variances
    const int64_t d = features_.dimensions;
    std::vector<double> x(static_cast<size_t>(d));
    for_each_training_row(rows, held_out, [&](int64_t i, int32_t c) {
      const double weight = 1 / (static_cast<double>(classes_) * counts_[static_cast<size_t>(c)]);
      for (int64_t k = 0; k < d; ++k) x[static_cast<size_t>(k)] = value(i, k) - means_[static_cast<size_t>(c * d + k)];
      for (int64_t a = 0; a < d; ++a) {
        for (int64_t b = 0; b <= a; ++b) within_.at(a, b) += weight * x[static_cast<size_t>(a)] * x[static_cast<size_t>(b)];
      }
    });
    for (int64_t k = 0; k < d; ++k) within_.at(k, k) += kRidge;
    factorise(within_);
  }

  const VectorFeatures& features_;
  int32_t classes_;
  SquareMatrix within_;
  std::vector<double> means_, counts_;
};

void add_values(const VectorFeatures& features, const LabelledRows& rows, HeldOut held_out, std::vector<HeldOutValue>& values) {
  const DiscriminantAnalysis analysis(features, rows, held_out);
  for (int64_t i = held_out.begin; i < held_out.end; ++i) {
    values.push_back(most_likely(analysis.posterior(i), kConfidentVector));
  }
}

void add_values(const CategoryFeatures& features, const LabelledRows& rows, HeldOut held_out, std::vector<HeldOutValue>& values) {
  const auto classes = static_cast<size_t>(rows.classes);
  std::vector<double> shares(static_cast<size_t>(features.count) * classes), counts(classes);
  for_each_training_row(rows, held_out, [&](int64_t, int32_t c) { ++counts[static_cast<size_t>(c)]; });
  for_each_training_row(rows, held_out, [&](int64_t i, int32_t c) {
    const auto category = static_cast<size_t>(features.values[static_cast<size_t>(i)]);
    shares[category * classes + static_cast<size_t>(c)] += 1 / counts[static_cast<size_t>(c)];
  });
  for (size_t v = 0; v < static_cast<size_t>(features.count); ++v) {
    const std::span<double> own(shares.data() + v * classes, classes);
    double sum = 0;
    for (const double share : own) sum += share;
    for (double& share : own) share = sum > 0 ? share / sum : 1 / static_cast<double>(classes);
  }
  for (int64_t i = held_out.begin; i < held_out.end; ++i) {
    const auto category = static_cast<size_t>(features.values[static_cast<size_t>(i)]);
    values.push_back(most_likely(std::span<const double>(shares.data() + category * classes, classes), kConfidentCategory));
  }
}

int64_t rows_of(const VectorFeatures& features) { return features.rows; }
int64_t rows_of(const CategoryFeatures& features) { return std::ssize(features.values); }

}  // namespace

std::vector<HeldOutValue> held_out_values(const CandidateFeatures& features, const LabelledRows& rows) {
  std::vector<HeldOutValue> values;
  for (int fold = 0; fold < Folds::kCount; ++fold) {
    const HeldOut held_out{rows.folds.begin[fold], rows.folds.begin[fold + 1]};
    std::visit([&](const auto& own) { add_values(own, rows, held_out, values); }, features);
  }
  return values;
}

std::vector<HeldOutValue> predicted_values(const CandidateFeatures& features, const LabelledRows& rows) {
  std::vector<HeldOutValue> values;
  std::visit([&](const auto& own) { add_values(own, rows, {std::ssize(rows.labels), rows_of(own)}, values); }, features);
  return values;
}

double confident_share(const std::vector<HeldOutValue>& values) {
  const auto confident = std::count_if(values.begin(), values.end(), [](const HeldOutValue& value) { return value.confident; });
  return static_cast<double>(confident) / static_cast<double>(values.size());
}

}  // namespace debias

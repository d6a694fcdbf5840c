#include "debias/audit/balanced_accuracy.h"

#include <algorithm>
#include <array>
#include <limits>

namespace debias {
namespace {

constexpr int64_t kRowsAtOnce = 256;

std::vector<int64_t> rows_per_class(const Folds& folds, std::span<const int32_t> labels, int32_t classes, int fold) {
  std::vector<int64_t> counts(static_cast<size_t>(classes));
  for (int64_t i = folds.begin[fold]; i < folds.begin[fold + 1]; ++i) ++counts[static_cast<size_t>(labels[i])];
  return counts;
}

// Sums of one fold's rows for each class, [classes, D].
std::vector<float> class_sums(const VectorFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes,
                              int fold) {
  const int64_t d = features.dimensions;
  std::vector<float> sums(static_cast<size_t>(classes * d));
  for (int64_t i = folds.begin[fold]; i < folds.begin[fold + 1]; ++i) {
    float* sum = sums.data() + labels[i] * d;
    const float* row = features.by_row.data() + i * d;
    for (int64_t k = 0; k < d; ++k) sum[k] += row[k];
  }
  return sums;
}

// score(c, x) = <m_c, x> + offset_c with offset_c = -|m_c|^2 / 2: the largest is the nearest mean's.
struct NearestMeans {
  std::vector<float> means, offsets;  // [classes, D], [classes]
};

NearestMeans nearest_means(const std::vector<float>& sums, const std::vector<int64_t>& counts, int64_t d) {
  NearestMeans classifier{sums, std::vector<float>(counts.size())};
  for (size_t c = 0; c < counts.size(); ++c) {
    float* mean = classifier.means.data() + static_cast<int64_t>(c) * d;
    if (counts[c] == 0) {
      classifier.offsets[c] = -std::numeric_limits<float>::infinity();
      continue;
    }
    float square = 0;
    for (int64_t k = 0; k < d; ++k) {
      mean[k] /= static_cast<float>(counts[c]);
      square += mean[k] * mean[k];
    }
    classifier.offsets[c] = -square / 2;
  }
  return classifier;
}

struct BestClasses {
  std::array<float, kRowsAtOnce> score;
  std::array<int32_t, kRowsAtOnce> label;
};

void classify(const VectorFeatures& features, const NearestMeans& classifier, int64_t first, int64_t count, BestClasses& best) {
  std::array<float, kRowsAtOnce> score;
  for (size_t c = 0; c < classifier.offsets.size(); ++c) {
    score.fill(classifier.offsets[c]);
    const float* mean = classifier.means.data() + static_cast<int64_t>(c) * features.dimensions;
    for (int64_t k = 0; k < features.dimensions; ++k) {
      const float* values = features.by_dimension.data() + k * features.rows + first;
      const float weight = mean[k];
      for (int64_t i = 0; i < count; ++i) score[i] += weight * values[i];
    }
    const auto label = static_cast<int32_t>(c);
    for (int64_t i = 0; i < count; ++i) {
      const bool better = c == 0 || score[i] > best.score[i];
      best.score[i] = better ? score[i] : best.score[i];
      best.label[i] = better ? label : best.label[i];
    }
  }
}

double mean_recall(const std::vector<int64_t>& right, const std::vector<int64_t>& rows) {
  double sum = 0;
  for (size_t c = 0; c < right.size(); ++c) sum += static_cast<double>(right[c]) / static_cast<double>(rows[c]);
  return sum / static_cast<double>(right.size());
}

template <class T>
void add_to(std::vector<T>& sums, const std::vector<T>& more) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
}

template <class T>
std::vector<T> minus(std::vector<T> sums, const std::vector<T>& less) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] -= less[i];
  return sums;
}

}  // namespace

Folds folds_of(int64_t rows) {
  Folds folds;
  for (int64_t f = 0; f <= Folds::kCount; ++f) folds.begin[static_cast<size_t>(f)] = rows * f / Folds::kCount;
  return folds;
}

double balanced_accuracy(const VectorFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes) {
  std::array<std::vector<float>, Folds::kCount> sums;
  std::array<std::vector<int64_t>, Folds::kCount> counts;
  std::vector<float> all_sums(static_cast<size_t>(classes * features.dimensions));
  std::vector<int64_t> all_counts(static_cast<size_t>(classes)), right(static_cast<size_t>(classes));
  for (int f = 0; f < Folds::kCount; ++f) {
    add_to(all_sums, sums[f] = class_sums(features, folds, labels, classes, f));
    add_to(all_counts, counts[f] = rows_per_class(folds, labels, classes, f));
  }
  BestClasses best;
  for (int f = 0; f < Folds::kCount; ++f) {
    const NearestMeans classifier = nearest_means(minus(all_sums, sums[f]), minus(all_counts, counts[f]), features.dimensions);
    for (int64_t first = folds.begin[f]; first < folds.begin[f + 1]; first += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, folds.begin[f + 1] - first);
      classify(features, classifier, first, count, best);
      for (int64_t i = 0; i < count; ++i) {
        const int32_t label = labels[first + i];
        right[static_cast<size_t>(label)] += best.label[i] == label ? 1 : 0;
      }
    }
  }
  return mean_recall(right, all_counts);
}

double balanced_accuracy(const CategoryFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes) {
  const auto cells = static_cast<size_t>(features.count) * static_cast<size_t>(classes);
  std::array<std::vector<int64_t>, Folds::kCount> tables, counts;
  std::vector<int64_t> table(cells), all_counts(static_cast<size_t>(classes)), right(static_cast<size_t>(classes));
  for (int f = 0; f < Folds::kCount; ++f) {
    tables[f].resize(cells);
    for (int64_t i = folds.begin[f]; i < folds.begin[f + 1]; ++i)
      ++tables[f][static_cast<size_t>(features.values[i] * classes + labels[i])];
    add_to(table, tables[f]);
    add_to(all_counts, counts[f] = rows_per_class(folds, labels, classes, f));
  }
  for (int f = 0; f < Folds::kCount; ++f) {
    const std::vector<int64_t> training = minus(table, tables[f]), rows = minus(all_counts, counts[f]);
    std::vector<int32_t> likeliest(static_cast<size_t>(features.count));
    for (size_t v = 0; v < likeliest.size(); ++v) {
      double largest = 0;
      for (int32_t c = 0; c < classes; ++c) {
        const int64_t n = rows[static_cast<size_t>(c)];
        const double share = n == 0 ? 0 : static_cast<double>(training[v * static_cast<size_t>(classes) + c]) / static_cast<double>(n);
        if (share <= largest) continue;
        largest = share;
        likeliest[v] = c;
      }
    }
    for (int64_t i = folds.begin[f]; i < folds.begin[f + 1]; ++i) {
      right[static_cast<size_t>(labels[i])] += likeliest[static_cast<size_t>(features.values[i])] == labels[i] ? 1 : 0;
    }
  }
  return mean_recall(right, all_counts);
}

double balanced_accuracy(const CandidateFeatures& features, const Folds& folds, std::span<const int32_t> labels, int32_t classes) {
  return std::visit([&](const auto& f) { return balanced_accuracy(f, folds, labels, classes); }, features);
}

namespace {

constexpr double kLeastRidge = 1e-3;

std::vector<double> standardised(std::span<const float> values, int64_t rows, int64_t dimensions) {
  const auto d = static_cast<size_t>(dimensions);
  std::vector<double> mean(d), deviation(d), out(values.begin(), values.end());
  for (size_t i = 0; i < out.size(); ++i) mean[i % d] += out[i];
  for (double& m : mean) m /= static_cast<double>(rows);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] -= mean[i % d];
    deviation[i % d] += out[i] * out[i];
  }
  for (size_t k = 0; k < d; ++k) {
    deviation[k] = std::sqrt(deviation[k] / static_cast<double>(rows));
    if (deviation[k] <= 1e-6 * (1 + std::abs(mean[k]))) deviation[k] = 0;
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = deviation[i % d] > 0 ? out[i] / deviation[i % d] : 0;
  return out;
}

SquareMatrix shrunk_correlations(const std::vector<double>& x, int64_t rows, int64_t dimensions) {
  const double n = static_cast<double>(rows), d = static_cast<double>(dimensions);
  const double ridge = d / (d + n) + kLeastRidge;
  SquareMatrix matrix(dimensions);
  for (int64_t r = 0; r < rows; ++r) {
    const double* row = x.data() + r * dimensions;
    for (int64_t i = 0; i < dimensions; ++i) {
      for (int64_t j = 0; j <= i; ++j) matrix.at(i, j) += row[i] * row[j];
    }
  }
  for (int64_t i = 0; i < dimensions; ++i) {
    for (int64_t j = 0; j <= i; ++j) matrix.at(i, j) *= (1 - ridge) / n;
    matrix.at(i, i) += ridge;
  }
  return matrix;
}

}  // namespace

VectorFeatures whitened(std::span<const float> values, int64_t rows, int64_t dimensions) {
  std::vector<double> x = standardised(values, rows, dimensions);
  SquareMatrix lower = shrunk_correlations(x, rows, dimensions);
  factorise(lower);
  VectorFeatures out{rows, dimensions, std::vector<float>(x.size()), std::vector<float>(x.size())};
  for (int64_t r = 0; r < rows; ++r) {
    double* row = x.data() + r * dimensions;
    solve_lower(lower, row);
    for (int64_t k = 0; k < dimensions; ++k) {
      const auto value = static_cast<float>(row[k]);
      out.by_row[static_cast<size_t>(r * dimensions + k)] = value;
      out.by_dimension[static_cast<size_t>(k * rows + r)] = value;
    }
  }
  return out;
}

}  // namespace debias

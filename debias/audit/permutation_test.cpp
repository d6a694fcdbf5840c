#include "debias/audit/permutation_test.h"

#include <algorithm>

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

// The largest accuracy under each permutation, ascending.
std::vector<double> best_of(const std::vector<std::vector<double>>& null, const std::function<bool(size_t)>& counts) {
  std::vector<double> best(kPermutations);
  for (size_t j = 0; j < null.size(); ++j) {
    if (!counts(j)) continue;
    for (size_t b = 0; b < best.size(); ++b) best[b] = std::max(best[b], null[j][b]);
  }
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace

double PermutationTest::chance_bound(const std::function<bool(size_t)>& counts) const {
  return best_of(null, counts)[kPermutations * 95 / 100];
}

PermutationTest permutation_test(int64_t candidates, const std::function<CandidateFeatures(int64_t)>& features, const LabelledRows& rows,
                                 uint64_t seed, Progress& progress) {
  const auto permuted = permuted_labels(rows.labels, seed);
  const auto n = static_cast<size_t>(candidates);
  PermutationTest test{std::vector<double>(n), std::vector<double>(n), {}, {n, std::vector<double>(kPermutations)}};
  progress.begin("testing", candidates);
  for_each_block(
      candidates, 1,
      [&](int64_t first, int64_t) {
        const auto j = static_cast<size_t>(first);
        const CandidateFeatures own = features(first);
        test.accuracy[j] = balanced_accuracy(own, rows.folds, rows.labels, rows.classes);
        for (size_t b = 0; b < kPermutations; ++b) test.null[j][b] = balanced_accuracy(own, rows.folds, permuted[b], rows.classes);
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  test.null_best = best_of(test.null, [](size_t) { return true; });
  for (size_t j = 0; j < n; ++j) {
    const auto reaching = test.null_best.end() - std::lower_bound(test.null_best.begin(), test.null_best.end(), test.accuracy[j]);
    test.p_adjusted[j] = static_cast<double>(1 + reaching) / (1 + kPermutations);
  }
  return test;
}

}  // namespace debias

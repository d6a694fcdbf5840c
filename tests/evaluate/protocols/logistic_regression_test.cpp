// scikit-learn's figures (check_logistic_with_sklearn.py), the gradient at the end, and fits that are cut short.
#include "debias/evaluate/protocols/logistic_regression.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "debias/evaluate/accuracy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace logistic_regression_test {

struct Drawn {
  at::Tensor rows;
  std::vector<int64_t> labels;
};

// Rows of check_logistic_with_sklearn.py, number for number: scales differ by 256, and all lie far from the origin.
Drawn drawn_rows(int64_t count, int64_t dim, int64_t classes) {
  uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>((state >> 33) % 1024);
  };
  Drawn drawn{at::empty({count, dim}, at::kFloat), {}};
  float* value = drawn.rows.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % classes;
    drawn.labels.push_back(label);
    for (int64_t d = 0; d < dim; ++d) {
      const double first = next() / 256, second = next() / 256;
      const double raised = label % dim == d ? 2.0 + static_cast<double>(label / dim) : 0.0;
      *value++ = static_cast<float>(50 + static_cast<double>(1 << (2 * (d % 5))) * (first + second + raised));
    }
  }
  return drawn;
}

std::vector<int64_t> first_of(const std::vector<int64_t>& values, int64_t count) { return {values.begin(), values.begin() + count}; }

struct SklearnCase {
  int64_t count, dim, classes;
  double l2, objective, accuracy;
};

class LogisticAgainstSklearn : public testing::TestWithParam<SklearnCase> {};

TEST_P(LogisticAgainstSklearn, TheMinimumAndTheAccuracyOnOtherRowsAreItsOwn) {
  const SklearnCase& known = GetParam();
  const Drawn drawn = drawn_rows(2 * known.count, known.dim, known.classes);
  const LogisticFit fit = fit_logistic_regression(drawn.rows.narrow(0, 0, known.count), first_of(drawn.labels, known.count), known.classes,
                                                  {.l2 = known.l2}, Progress::silent());
  EXPECT_TRUE(fit.converged);
  EXPECT_LE(fit.gradient, 1e-5);
  EXPECT_NEAR(fit.objective, known.objective, 1e-6);
  const std::vector<int64_t> predicted = predicted_classes(fit.logits(drawn.rows.narrow(0, known.count, known.count)));
  int64_t right = 0;
  for (int64_t i = 0; i < known.count; ++i) right += predicted[i] == drawn.labels[known.count + i];
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(known.count), known.accuracy, 1.5 / static_cast<double>(known.count));
}

INSTANTIATE_TEST_SUITE_P(Rows, LogisticAgainstSklearn,
                         testing::Values(SklearnCase{200, 3, 2, 1.0, 0.417084764, 0.805},
                                         SklearnCase{1400, 8, 5, 1.0, 1.122156392, 0.5535714285714286},
                                         SklearnCase{3000, 16, 10, 0.01, 1.656955244, 0.41}));

TEST(LogisticRegression, IsTheSameForAnyNumberOfThreads) {
  const Drawn drawn = drawn_rows(2000, 4, 3);
  const auto fitted = [&](int threads) {
    at::set_num_threads(threads);
    return fit_logistic_regression(drawn.rows, drawn.labels, 3, {}, Progress::silent()).weight;
  };
  const int before = at::get_num_threads();
  const at::Tensor one = fitted(1), three = fitted(3);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, three));
}

TEST(LogisticRegression, SaysWhenItHasNotConverged) {
  const Drawn drawn = drawn_rows(300, 4, 3);
  const LogisticFit cut = fit_logistic_regression(drawn.rows, drawn.labels, 3, {.iterations = 2}, Progress::silent());
  EXPECT_FALSE(cut.converged);
  EXPECT_EQ(cut.iterations, 2);
  EXPECT_GT(cut.gradient, 1e-5);
  const LogisticFit whole = fit_logistic_regression(drawn.rows, drawn.labels, 3, {}, Progress::silent());
  EXPECT_LT(whole.objective, cut.objective);
}

TEST(LogisticRegression, ADimensionThatDoesNotVaryChangesNothing) {
  const Drawn drawn = drawn_rows(300, 4, 3);
  const at::Tensor wider = at::cat({drawn.rows, at::full({300, 1}, 7.f)}, 1);
  const LogisticFit narrow = fit_logistic_regression(drawn.rows, drawn.labels, 3, {}, Progress::silent());
  const LogisticFit wide = fit_logistic_regression(wider, drawn.labels, 3, {}, Progress::silent());
  EXPECT_TRUE(wide.converged);
  EXPECT_NEAR(wide.objective, narrow.objective, 1e-8);
}

TEST(LogisticRegression, RefusesLengthsThatDifferAndFeaturesThatAreNotFinite) {
  EXPECT_EQ(data_error_of([] {
              fit_logistic_regression(at::ones({3, 2}), {0, 1}, 2, {}, Progress::silent());
            }),
            "logistic regression: 3 rows and 2 classes of rows; give one a row");
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [] {
                       fit_logistic_regression(at::full({2, 2}, NAN), {0, 1}, 2, {}, Progress::silent());
                     }),
            "logistic regression: its loss is nan; check the features");
}

}  // namespace logistic_regression_test
}  // namespace debias

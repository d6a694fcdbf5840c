// SupCon against golden values (computed independently in double precision, see golden_test.cpp), against loops over rows, and at its
// edges.
#include "debias/losses/over_classes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "debias/losses/label_free.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"

namespace debias {
namespace supcon_test {

// The formula as loops over rows, from raw exponentials. [n], view-major.
std::vector<double> naive(const at::Tensor& z, const std::vector<int64_t>& labels, const SupConOptions& options) {
  const int64_t samples = z.size(0), n = samples * z.size(1);
  const at::Tensor rows = z.transpose(0, 1).reshape({n, z.size(2)}), all = at::mm(rows, rows.t()) / options.temperature;
  const auto s = all.accessor<double, 2>();
  std::vector<double> losses;
  for (int64_t a = 0; a < n; ++a) {
    double count = 0, sum = 0, exponentials = 0, denominator = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (k == a) continue;
      denominator += std::exp(s[a][k]);
      const bool views = a % samples == k % samples;
      const bool same = views || (!labels.empty() && labels[a % samples] >= 0 && labels[a % samples] == labels[k % samples]);
      if (same) count += 1, sum += s[a][k], exponentials += std::exp(s[a][k]);
    }
    const bool out = options.form == SupConForm::kOut;
    if (count == 0) losses.push_back(0);
    if (count > 0) losses.push_back(std::log(denominator) - (out ? sum / count : std::log(exponentials / count)));
  }
  return losses;
}

void expect_rows(const ObjectiveResult& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.anchors, static_cast<int64_t>(expected.size()));
  EXPECT_EQ(found.anchors_used, found.anchors);
  double sum = 0;
  for (int64_t a = 0; a < found.anchors; ++a) {
    EXPECT_NEAR(found.per_anchor[a].item<double>(), expected[a], 1e-12) << "row " << a;
    sum += expected[a];
  }
  EXPECT_NEAR(value(found), sum / static_cast<double>(expected.size()), 1e-12);
}

TEST(SupCon, GoldenValues) {
  const auto at = [](double t, SupConForm form) {
    return value(supcon(two_views(), classes(), SupConOptions{.temperature = t, .form = form}));
  };
  EXPECT_NEAR(at(0.1, SupConForm::kOut), 4.467883819, 6e-10);
  EXPECT_NEAR(at(0.5, SupConForm::kOut), 1.619586089, 6e-10);
  EXPECT_NEAR(at(0.1, SupConForm::kIn), 1.109880354, 6e-10);
  EXPECT_NEAR(at(0.5, SupConForm::kIn), 1.327313106, 6e-10);
  const auto scaled = SupConOptions{.base_temperature = 0.07};
  EXPECT_NEAR(value(supcon(two_views(), classes(), scaled)), 4.467883819 * 0.1 / 0.07, 1e-9);
}

TEST(SupCon, AgreesWithLoopsOverRows) {
  const std::vector<int64_t> pattern = {0, 1, 0, -1, 2, -1, 1, 0, 3, 3, 1};
  for (const auto& [samples, views] : std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {2, 1}, {5, 1}, {11, 1}, {3, 2}, {11, 2}, {6, 4}}) {
    const at::Tensor z = random_embeddings(samples, views, 5, samples + views);
    const std::vector<int64_t> labels(pattern.begin(), pattern.begin() + samples);
    for (SupConForm form : {SupConForm::kOut, SupConForm::kIn}) {
      for (double t : {0.07, 0.5, 3.0}) {
        SCOPED_TRACE(fmt::format("B {} V {} t {} {}", samples, views, t, enum_name(form)));
        const auto options = SupConOptions{.temperature = t, .form = form};
        expect_rows(supcon(z, integers(labels), options), naive(z, labels, options));
        if (views > 1) expect_rows(supcon(z, {}, options), naive(z, {}, options));
      }
    }
  }
}

TEST(SupCon, WithoutLabelsOfTwoViewsIsInfoNce) {
  const at::Tensor z = random_embeddings(7, 2, 4, 1);
  for (SupConForm form : {SupConForm::kOut, SupConForm::kIn}) {
    EXPECT_NEAR(value(supcon(z, {}, SupConOptions{.form = form})), value(infonce(z, InfoNceOptions{.temperature = 0.1})), 1e-12);
    EXPECT_NEAR(value(supcon(z, integers({-1, -1, -1, -1, -1, -1, -1}), SupConOptions{.form = form})),
                value(supcon(z, {}, SupConOptions{.form = form})), 1e-12);
  }
}

TEST(SupCon, InIsAtMostOut) {
  const at::Tensor z = random_embeddings(9, 2, 3, 5), labels = integers({0, 1, 2, 0, 1, 2, 0, 0, 1});
  const at::Tensor out = supcon(z, labels).per_anchor, in = supcon(z, labels, SupConOptions{.form = SupConForm::kIn}).per_anchor;
  EXPECT_TRUE((in - out).le(1e-12).all().item<bool>());
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, double expected, const std::string& what) {
  for (SupConForm form : {SupConForm::kOut, SupConForm::kIn}) {
    debias::expect_edge(z, expected, what + " " + std::string(enum_name(form)),
                        [&](const at::Tensor& rows) { return supcon(rows, labels, SupConOptions{.temperature = 0.005, .form = form}); });
  }
}

TEST(SupCon, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2);
  expect_edge(row.expand({4, 2, 6}), classes(), std::log(7), "identical rows");
  expect_edge(at::cat({row, row, -row, -row}).expand({4, 2, 6}), classes(), std::log(3), "antipodal classes");
  expect_edge(at::cat({row, -row}), integers({0, 0}), 0, "two rows of one class");
  expect_edge(at::cat({row, -row, row}), integers({0, 0, 1}), (400 + std::log(2)) / 3, "a positive at cosine -1");
  expect_edge(at::cat({row, -row}), integers({0, 1}), 0, "no positives");
  expect_edge(row, integers({0}), 0, "one row");
  expect_edge(row.expand({1, 2, 6}), integers({0}), 0, "one sample");
  expect_edge(at::zeros({4, 2, 6}), classes(), std::log(7), "zero rows");
}

TEST(SupCon, OneViewWithoutLabelsIsRefused) {
  EXPECT_TRUE(usage_error_of([] { supcon(random_embeddings(3, 1, 4, 1), {}); }).starts_with("supcon: "));
  EXPECT_THROW(supcon(random_embeddings(3, 1, 4, 1).select(1, 0), integers({0, 0, 1})), Error);
  EXPECT_THROW(supcon(two_views(), classes(), SupConOptions{.temperature = 0}), Error);
}

}  // namespace supcon_test
}  // namespace debias

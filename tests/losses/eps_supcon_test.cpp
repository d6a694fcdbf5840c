// SupCon with a margin against golden values (computed independently in double precision, see golden_test.cpp), loops over rows, SupCon.
#include "debias/losses/over_classes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/objective_checks.h"
#include "tests/support/refusals.h"
#include "tests/support/with_changes.h"

namespace debias {
namespace eps_supcon_test {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Options = EpsSupConOptions;
double golden(const Options& options) { return value(eps_supcon(two_views(), classes(), options)); }
Options l1o() { return Options{.epsilon = kInfinity, .add_epsilon = false}; }

std::vector<double> naive(const at::Tensor& z, const std::vector<int64_t>& labels, const Options& options) {
  const int64_t samples = z.size(0), n = samples * z.size(1);
  const at::Tensor rows = z.transpose(0, 1).reshape({n, z.size(2)}), all = at::mm(rows, rows.t()) / options.temperature;
  const auto s = all.accessor<double, 2>();
  const double omega = std::exp(-options.epsilon);
  std::vector<double> losses;
  for (int64_t a = 0; a < n; ++a) {
    double count = 0, sum = 0, positives = 0, negatives = 0;
    for (int64_t k = 0; k < n; ++k) {
      if (k == a) continue;
      const bool same = a % samples == k % samples || (labels[a % samples] >= 0 && labels[a % samples] == labels[k % samples]);
      if (same) count += 1, sum += s[a][k];
      (same ? positives : negatives) += std::exp(s[a][k]);
    }
    const double denominator = omega * positives + negatives;
    if (count == 0 || denominator == 0) {
      losses.push_back(0);
    } else {
      const double mean = (options.add_epsilon ? options.epsilon : 0) + std::log(denominator) - sum / count;
      losses.push_back(options.over_positives == OverPositives::kSum ? count * mean : mean);
    }
  }
  return losses;
}

TEST(EpsSupCon, GoldenValues) {
  EXPECT_NEAR(golden(Options()), 4.470993856, 6e-10);
  EXPECT_NEAR(golden(Options{.temperature = 0.5}), 1.672618949, 6e-10);
  EXPECT_NEAR(golden(Options{.add_epsilon = false}), 4.470993856 - 0.25, 6e-10);
  EXPECT_NEAR(golden(Options{.over_positives = OverPositives::kSum}), 3 * 4.470993856, 2e-9);
  const auto authors = options_from<Options>(parse_yaml("{variant: authors}", "term"), "test");
  EXPECT_NEAR(golden(authors), (4.470993856 - 0.25) * 0.1 / 0.07, 1e-9);
}

TEST(EpsSupCon, AgreesWithLoopsOverRows) {
  for_labelled_batches([](const at::Tensor& z, const std::vector<int64_t>& labels, const std::string& batch) {
    for (const auto& start : {Options(), Options{.epsilon = 0}, Options{.epsilon = 4, .add_epsilon = false}, l1o()}) {
      for (OverPositives over : {OverPositives::kMean, OverPositives::kSum}) {
        const auto options = with_changes(start, [&](auto& o) {
          o.temperature = 0.2;
          o.over_positives = over;
        });
        expect_per_anchor(eps_supcon(z, integers(labels), options), naive(z, labels, options),
                          batch + " " + config_of(options).to_json().dump());
      }
    }
  });
}

TEST(EpsSupCon, ItsLimitsAreSupConAndInfoL1O) {
  const at::Tensor z = random_embeddings(9, 2, 3, 5), labels = integers({0, 1, 2, 0, 1, 2, 0, 0, 1});
  const at::Tensor none = eps_supcon(z, labels, Options{.epsilon = 0}).per_anchor;
  EXPECT_LT(largest_difference(none, supcon(z, labels).per_anchor), 1e-12);
  const at::Tensor all = eps_supinfonce(z, labels, EpsSupInfoNceOptions{.epsilon = kInfinity}).per_anchor;
  EXPECT_LT(largest_difference(eps_supcon(z, labels, l1o()).per_anchor, all), 1e-12);
  EXPECT_LT(largest_difference(eps_supcon(z, labels, with_changes(l1o(), [&](auto& o) { o.epsilon = 1e9; })).per_anchor, all), 1e-12);
}

void expect_edge(const at::Tensor& z, const at::Tensor& labels, const Options& options, double expected, const std::string& what) {
  debias::expect_edge(z, expected, what, [&](const at::Tensor& rows) {
    return eps_supcon(rows, labels, with_changes(options, [&](auto& o) { o.temperature = 0.005; }));
  });
}

TEST(EpsSupCon, EdgesAreFiniteAndRight) {
  const at::Tensor row = random_embeddings(1, 1, 6, 2), same = row.expand({4, 2, 6});
  const at::Tensor opposite = at::cat({row, row, -row, -row}).expand({4, 2, 6});
  const double omega = std::exp(-0.25);
  expect_edge(same, classes(), Options(), 0.25 + std::log(3 * omega + 4), "identical rows");
  expect_edge(at::zeros({4, 2, 6}), classes(), Options(), 0.25 + std::log(3 * omega + 4), "zero rows");
  expect_edge(opposite, classes(), Options(), std::log(3), "antipodal classes");
  expect_edge(opposite, classes(), l1o(), std::log(4) - 400, "antipodal classes");
  expect_edge(at::cat({row, -row, row}), integers({0, 0, 1}), Options{.epsilon = 0}, (400 + std::log(2)) / 3, "a positive at cosine -1");
  expect_edge(same, integers({5, 5, 5, 5}), Options(), std::log(7), "no negatives");
  expect_edge(same, integers({5, 5, 5, 5}), l1o(), 0, "no negatives");
  expect_edge(row.expand({2, 1, 6}), integers({0, 1}), Options(), 0, "no positives");
  expect_edge(row, integers({0}), Options(), 0, "one row");
}

TEST(EpsSupCon, BadOptionsAreRefused) {
  EXPECT_NE(usage_error_of([] { golden(Options{.epsilon = kInfinity}); }).find("add_epsilon: false"), std::string::npos);
  EXPECT_THROW(golden(Options{.epsilon = -1}), Error);
  EXPECT_THROW(eps_supcon(two_views(), {}), Error);
}

}  // namespace eps_supcon_test
}  // namespace debias

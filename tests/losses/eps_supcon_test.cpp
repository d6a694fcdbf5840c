// SupCon with a margin at its limits and edges.
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
double known(const Options& options) { return value(eps_supcon(two_views(), classes(), options)); }
Options l1o() { return Options{.epsilon = kInfinity, .add_epsilon = false}; }

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
  EXPECT_NE(usage_error_of([] { known(Options{.epsilon = kInfinity}); }).find("add_epsilon: false"), std::string::npos);
  EXPECT_THROW(known(Options{.epsilon = -1}), Error);
  EXPECT_THROW(eps_supcon(two_views(), {}), Error);
}

}  // namespace eps_supcon_test
}  // namespace debias

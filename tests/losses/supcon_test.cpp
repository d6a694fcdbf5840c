// SupCon where it is InfoNCE, what its forms say about each other, and its edges.
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

// Cross-entropy on logits, and the checks that all objectives on logits share.
#include "debias/losses/logits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "tests/support/embeddings.h"
#include "tests/support/refusals.h"

namespace debias {
namespace cross_entropy_test {

at::Tensor row() { return at::tensor({1.0, -0.5, 0.25}, at::kDouble).unsqueeze(0); }

TEST(CrossEntropyGolden, OfOneRow) {
  const double expected[] = {0.527975744, 2.027975744, 1.277975744};
  for (int64_t y : {0, 1, 2}) EXPECT_NEAR(cross_entropy(row(), integers({y})).value.item<double>(), expected[y], 6e-10);
}

TEST(CrossEntropyOracle, LoopsGiveTheSame) {
  at::manual_seed(1);
  const at::Tensor z = at::randn({7, 4}, at::kDouble) * 3, labels = integers({0, 3, -1, 2, 1, -1, 3});
  double sum = 0;
  for (int64_t i = 0; i < 7; ++i) {
    const int64_t y = labels[i].item<int64_t>();
    if (y >= 0) sum -= std::log(std::exp(z[i][y].item<double>()) / z[i].exp().sum().item<double>());
  }
  const auto found = cross_entropy(z, labels);
  EXPECT_NEAR(found.value.item<double>(), sum / 5, 1e-12);
  EXPECT_EQ(found.anchors, 7);
  EXPECT_EQ(found.anchors_used, 5);
  EXPECT_TRUE(std::isnan(found.per_anchor[2].item<double>()));
  EXPECT_NEAR(found.per_anchor.nan_to_num(0).sum().item<double>(), sum, 1e-12);
}

TEST(CrossEntropyEdges, HugeLogitsAndUnknownLabelsStayFinite) {
  for (auto type : {at::kFloat, at::kDouble}) {
    const at::Tensor z = at::tensor({1e30, -1e30, 0.0, 5.0, 5.0, 5.0}, at::kDouble).view({2, 3}).to(type).requires_grad_(true);
    for (const auto& labels : {integers({0, 1}), integers({1, -1}), integers({-1, -1})}) {
      const auto found = cross_entropy(z, labels);
      found.value.backward();
      EXPECT_TRUE(std::isfinite(found.value.item<double>()));
    }
    EXPECT_TRUE(z.grad().isfinite().all().item<bool>());
  }
  EXPECT_EQ(cross_entropy(row(), integers({-1})).value.item<double>(), 0);
  EXPECT_EQ(cross_entropy(row(), integers({-1})).anchors_used, 0);
}

TEST(CrossEntropyEdges, OneClassCostsNothing) {
  EXPECT_EQ(cross_entropy(at::ones({3, 1}, at::kDouble), integers({0, 0, 0})).value.item<double>(), 0);
}

Error refusal(const ObjectiveInput& input) {
  return thrown_by([&] { cross_entropy(input, {}); });
}

TEST(CrossEntropyErrors, LabelsOutOfRangeAreNamedAndCounted) {
  const at::Tensor z = at::zeros({4, 3}, at::kDouble);
  const Error high = refusal({.z = z, .labels = integers({0, 3, 7, -1})});
  EXPECT_EQ(high.kind(), ErrorKind::kData);
  EXPECT_STREQ(high.what(),
               "cross_entropy: label 3 of sample 1 is outside 0..2, the logits given (2 of 4 are; -1 = unknown); correct them");
  EXPECT_EQ(refusal({.z = z, .labels = integers({0, 0, 0, -2})}).kind(), ErrorKind::kData);
}

TEST(CrossEntropyErrors, OtherInputIsRefused) {
  const at::Tensor z = at::zeros({2, 3}, at::kDouble);
  EXPECT_EQ(refusal({.z = z}).kind(), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = z.unsqueeze(1), .labels = integers({0, 1})}).kind(), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = z, .labels = integers({0})}).kind(), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = z, .labels = integers({0, 1}), .engine = Engine::kFused}).kind(), ErrorKind::kUsage);
}

}  // namespace cross_entropy_test
}  // namespace debias

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

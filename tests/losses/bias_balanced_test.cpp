// Bias-balanced cross-entropy with a prior given and one counted from the batch.
#include "debias/losses/logits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "tests/support/embeddings.h"
#include "tests/support/refusals.h"

namespace debias {
namespace bias_balanced_test {

at::Tensor row() { return at::tensor({1.0, -0.5, 0.25}, at::kDouble).unsqueeze(0); }
at::Tensor prior() { return at::tensor({0.7, 0.2, 0.1}, at::kDouble).unsqueeze(1); }  // [3 labels, 1 bias label]

struct Batch {
  at::Tensor z, labels, bias;
};

Batch batch() {
  at::manual_seed(2);
  return {at::randn({9, 3}, at::kDouble), integers({0, 1, 0, 2, -1, 0, 1, 2, 0}), integers({4, 4, 7, 7, 4, -1, 7, 4, 4})};
}

TEST(BiasBalancedLaws, ACountedPriorIsThatTableGiven) {
  const Batch b = batch();
  const at::Tensor table = at::tensor({2.0 / 4, 1.0 / 3, 1.0 / 4, 1.0 / 3, 1.0 / 4, 1.0 / 3}, at::kDouble).view({3, 2});
  const at::Tensor columns = b.bias.eq(7).to(at::kLong).masked_fill(b.bias.lt(0), -1);
  const auto counted = bias_balanced(b.z, b.labels, b.bias), given = bias_balanced(b.z, b.labels, columns, table);
  EXPECT_NEAR(counted.value.item<double>(), given.value.item<double>(), 1e-12);
  EXPECT_EQ(counted.anchors_used, given.anchors_used);
}

TEST(BiasBalancedLaws, AUniformPriorIsPlainCrossEntropy) {
  const Batch b = batch();
  const at::Tensor uniform = at::full({3, 8}, 1.0 / 3, at::kDouble), bias = b.bias.clamp_min(0);
  EXPECT_NEAR(bias_balanced(b.z, b.labels, bias, uniform).value.item<double>(), cross_entropy(b.z, b.labels).value.item<double>(), 1e-12);
}

TEST(BiasBalancedEdges, LabelsThatThePriorRulesOutStayFinite) {
  const at::Tensor certain = at::tensor({1.0, 0.0, 0.0}, at::kFloat).unsqueeze(1), z = row().to(at::kFloat).requires_grad_(true);
  const auto found = bias_balanced(z, integers({1}), integers({0}), certain);
  found.value.backward();
  EXPECT_NEAR(found.value.item<double>(), std::log(1e9) + 1.5, 1e-4);
  EXPECT_TRUE(z.grad().isfinite().all().item<bool>());
}

TEST(BiasBalancedEdges, NoRowLeftIsZero) {
  for (const auto& table : {at::Tensor(), prior()}) {
    const auto found = bias_balanced(row(), integers({0}), integers({-1}), table);
    EXPECT_EQ(found.value.item<double>(), 0);
    EXPECT_EQ(found.anchors_used, 0);
  }
}

ErrorKind refusal(const ObjectiveInput& input) {
  const Error error = thrown_by([&] { bias_balanced(input, {}); });
  EXPECT_EQ(std::string(error.what()).rfind("bias_balanced: ", 0), 0u) << error.what();
  return error.kind();
}

TEST(BiasBalancedErrors, AreNamed) {
  const ObjectiveInput good = {.z = row(), .labels = integers({0}), .bias = integers({0}), .prior = prior()};
  const auto changed = [&](auto change) {
    ObjectiveInput bad = good;
    change(bad);
    return refusal(bad);
  };
  EXPECT_EQ(changed([](auto& bad) { bad.labels = at::Tensor(); }), ErrorKind::kUsage);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = at::Tensor(); }), ErrorKind::kUsage);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({1}); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({-2}); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({-2}), bad.prior = at::Tensor(); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.bias = integers({0, 0}); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior().t(); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior() * 2; }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior() / 2; }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior().to(at::kLong); }), ErrorKind::kData);
  EXPECT_EQ(changed([](auto& bad) { bad.prior = prior() - 0.2; }), ErrorKind::kData);
}

}  // namespace bias_balanced_test
}  // namespace debias

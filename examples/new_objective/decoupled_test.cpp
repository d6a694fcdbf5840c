#include "examples/new_objective/decoupled.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/losses/objective_entry.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"

namespace debias {
namespace {

// Two samples whose views coincide, a right angle apart: positives at cosine 1, both negatives at 0.
TEST(Decoupled, AgreesWithAHandWorkedValue) {
  const at::Tensor z = angles({{0, 90}, {0, 90}});
  EXPECT_NEAR(decoupled({z, {}, {}, {}, {}}, DecoupledOptions{.temperature = 0.5}).value.item<double>(), std::log(2.0) - 2, 1e-12);
}

TEST(Decoupled, GradientAgreesWithFiniteDifferences) {
  const at::Tensor z = random_embeddings(5, 3, 4, 1).requires_grad_(true);
  decoupled({z, {}, {}, {}, {}}, {}).value.backward();
  const auto value_at = [](const at::Tensor& rows) { return decoupled({rows, {}, {}, {}, {}}, {}).value.item<double>(); };
  EXPECT_LT(largest_difference(z.grad(), numeric_gradient(value_at, z)), 1e-8);
}

TEST(Decoupled, OneSampleCostsNothing) {
  EXPECT_EQ(decoupled({random_embeddings(1, 2, 4, 1), {}, {}, {}, {}}, {}).value.item<double>(), 0);
}

TEST(Decoupled, IsMadeFromARecipesTerm) {
  const auto objective = with_options<DecoupledOptions>({.summary = "InfoNCE without the positive in its denominator"})
                             .make(parse_yaml("{name: decoupled, temperature: 0.1}", "recipe.yaml"), {"name"});
  EXPECT_EQ(objective->config().find("temperature")->text(), "0.1");
}

}  // namespace
}  // namespace debias

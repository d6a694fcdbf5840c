// One evaluation of an objective for `debias loss`: its gradient through the normalisation, and what is made of it.
#include "debias/runs/loss_evaluation.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "tests/runs/trained_run.h"
#include "tests/support/finite_differences.h"

namespace debias::loss_evaluation_test {

LossEvaluation evaluated(const std::string& objective, const at::Tensor& z) {
  ObjectiveInput input;
  input.z = z;
  const auto made = find_entry(objective_registry(), objective, "objective", "").make(Config::map(), {});
  return evaluate_loss(*made, input, {.precision = LossPrecision::kFp64});
}

TEST(LossEvaluations, HaveTheGradientOfRowsBeforeTheirNormalisation) {
  at::manual_seed(3);
  const at::Tensor z = at::randn({4, 2, 3}, at::kDouble) * at::arange(1, 9, at::kDouble).view({4, 2, 1});
  const auto value = [](const at::Tensor& x) { return evaluated("infonce", x).result.value.item<double>(); };
  EXPECT_LT(largest_difference(evaluated("infonce", z).gradient, numeric_gradient(value, z)), 1e-8);
  EXPECT_NEAR(value(z), value(z / z.norm(2, -1, true)), 1e-12);
}

TEST(LossEvaluations, OfAZeroRowHaveAFiniteGradient) {
  at::Tensor z = at::randn({4, 2, 3}, at::kDouble);
  z[1][0].zero_();
  EXPECT_TRUE(evaluated("debiased_positives", z).gradient.isfinite().all().item<bool>());
}

LossEvaluation evaluation() {
  LossEvaluation found;
  found.result.value = at::scalar_tensor(1.5, at::kDouble);
  found.result.per_anchor = at::tensor({1.0f, 2.0f});
  found.result.anchors = 2;
  found.result.anchors_used = 2;
  found.gradient = at::arange(6, at::kFloat).view({3, 2}).t();
  found.seconds_forward = 0.25;
  found.peak_bytes = 3000000;
  return found;
}

const LossRun kRun = {"infonce", "dense", "cpu", LossPrecision::kFp32};

TEST(LossOutput, IsJsonAndLinesOfTheSameFigures) {
  const auto json = loss_json(evaluation(), kRun);
  EXPECT_EQ(json.at("loss"), 1.5);
  EXPECT_EQ(json.at("anchors"), 2);
  EXPECT_EQ(json.at("engine"), "dense");
  EXPECT_TRUE(json.at("min_estimate").is_null());
  EXPECT_FALSE(json.contains("mode"));
  const std::string text = loss_text(evaluation(), kRun);
  EXPECT_NE(text.find("objective       infonce (dense, fp32, cpu)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("loss            1.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("peak memory     3 MB"), std::string::npos) << text;
}

TEST(LossOutput, WritesTheGradientInItsShape) {
  const TemporaryFolder folder;
  write_loss_outputs(evaluation(), {folder / "g.npy", ""}, {2, 3});
  const NpyArray gradient = read_npy(folder / "g.npy");
  EXPECT_EQ(gradient.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(gradient.as<float>()[1], 2);  // row by row
}

}  // namespace debias::loss_evaluation_test

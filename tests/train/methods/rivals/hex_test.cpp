// HEX: its co-occurrences and its projection against naive loops, gradients, its step written out, and resuming.
#include "debias/train/methods/rivals/hex.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/finite_differences.h"
#include "tests/train/methods/rivals/classifiers.h"

namespace debias {
namespace hex_test {

at::Tensor some_levels(int64_t images, int64_t height, int64_t width) {
  return (at::sin(at::arange(images * height * width, at::kDouble) * 2.3).view({images, height, width}) * 3.9).abs().floor();  // 0..3
}

TEST(GreyLevels, ByHand) {
  // Two channels whose means are 0, 1, 2 and 4: stretched to 0..1, times 3 and rounded down.
  const at::Tensor image = at::tensor({0.0f, 2.0f, 2.0f, 5.0f, 0.0f, 0.0f, 2.0f, 3.0f}).view({1, 2, 2, 2});
  EXPECT_TRUE(grey_levels(image, 4, 28).flatten().equal(at::tensor({0.0f, 0.0f, 1.0f, 3.0f})));
  EXPECT_TRUE(grey_levels(at::full({1, 3, 2, 2}, 7.0), 4, 28).eq(0).all().item<bool>());
  EXPECT_EQ(grey_levels(at::ones({2, 3, 10, 40}), 4, 28).sizes(), at::IntArrayRef({2, 10, 28}));
}

TEST(CoOccurrences, CountPairsByHand) {
  // One row 0 1 1 3 and its neighbour on the left: pixels 1, 1, 3 with differences -1, 0, -2. Thresholds below all values count 1 each.
  const at::Tensor x = at::tensor({0.0, 1.0, 1.0, 3.0}, at::kDouble).view({1, 1, 4});
  const at::Tensor lambda = at::tensor({-5.0, -1.0}, at::kDouble), theta = at::tensor({0.0, 2.0}, at::kDouble);
  const at::Tensor found = co_occurrences(x, lambda, theta, 0, 1) * 3;
  // lambda -5 lets all pass, -1 the difference 0 alone; theta 0 lets all pixels pass, 2 the pixel 3 alone.
  EXPECT_LT(largest_difference(found[0], at::tensor({3.0, 1.0, 1.0, 0.0}, at::kDouble).view({2, 2})), 1e-12);
}

TEST(CoOccurrences, AreThoseOfANaiveLoop) {
  for (const auto& [row, column] : std::vector<std::pair<int64_t, int64_t>>{{0, 1}, {1, 0}, {2, 1}}) {
    const at::Tensor x = some_levels(3, 5, 4);
    const at::Tensor lambda = at::tensor({-2.3, 0.4, 1.7}, at::kDouble), theta = at::tensor({0.2, 1.1, 2.6}, at::kDouble);
    const at::Tensor found = co_occurrences(x, lambda, theta, row, column);
    const auto phi = [](double value, double threshold) { return std::clamp(value - threshold, 0.0, 1.0); };
    for (int64_t image = 0; image < 3; ++image) {
      for (int64_t k = 0; k < 3; ++k) {
        for (int64_t l = 0; l < 3; ++l) {
          double sum = 0;
          int64_t pixels = 0;
          for (int64_t r = row; r < 5; ++r) {
            for (int64_t c = column; c < 4; ++c) {
              const double pixel = x[image][r][c].item<double>(), neighbour = x[image][r - row][c - column].item<double>();
              sum += phi(neighbour - pixel, lambda[k].item<double>()) * phi(pixel, theta[l].item<double>());
              ++pixels;
            }
          }
          EXPECT_NEAR(found[image][k][l].item<double>(), sum / static_cast<double>(pixels), 1e-12);
        }
      }
    }
  }
}

TEST(CoOccurrences, GradientsOfThresholdsAreFiniteDifferences) {
  const at::Tensor x = some_levels(2, 4, 4), weights = at::cos(at::arange(18, at::kDouble)).view({2, 3, 3});
  const at::Tensor lambda = at::tensor({-2.3, 0.4, 1.7}, at::kDouble), theta = at::tensor({0.2, 1.1, 2.6}, at::kDouble);
  const auto value = [&](const at::Tensor& a, const at::Tensor& b) { return (co_occurrences(x, a, b, 0, 1) * weights).sum(); };
  const at::Tensor a = lambda.clone().requires_grad_(true), b = theta.clone().requires_grad_(true);
  value(a, b).backward();
  const at::Tensor of_a = numeric_gradient([&](const at::Tensor& t) { return value(t, theta).item<double>(); }, lambda);
  const at::Tensor of_b = numeric_gradient([&](const at::Tensor& t) { return value(lambda, t).item<double>(); }, theta);
  EXPECT_LT(largest_difference(a.grad(), of_a), 1e-8);
  EXPECT_LT(largest_difference(b.grad(), of_b), 1e-8);
  EXPECT_GT(of_a.abs().max().item<double>(), 1e-3);
}

TEST(Projection, TakesAwayWhatTextureLogitsSpan) {
  const at::Tensor texture = at::sin(at::arange(1, 22, at::kDouble) * 1.3).view({7, 3});
  const at::Tensor other = at::cos(at::arange(1, 22, at::kDouble) * 0.7).view({7, 3});
  const at::Tensor found = projected_out(other, texture);
  EXPECT_LT(texture.t().mm(found).abs().max().item<double>(), 1e-4);  // orthogonal, up to r
  EXPECT_LT(projected_out(texture, texture).abs().max().item<double>(), 1e-4);
  EXPECT_LT(largest_difference(projected_out(found, texture), found), 1e-4);
  // One column by hand: v - t (t.v) / (t.t).
  const at::Tensor t = at::tensor({1.0, 2.0, 2.0}, at::kDouble).view({3, 1}), v = at::tensor({3.0, 0.0, 0.0}, at::kDouble).view({3, 1});
  EXPECT_LT(largest_difference(projected_out(v, t), at::tensor({8.0 / 3, -2.0 / 3, -2.0 / 3}, at::kDouble).view({3, 1})), 1e-5);
}

TEST(Projection, GradientsAreFiniteDifferences) {
  const at::Tensor all = at::cos(at::arange(1, 16, at::kDouble) * 0.7).view({5, 3});
  const at::Tensor texture = at::sin(at::arange(1, 16, at::kDouble).pow(2) * 0.37).view({5, 3});  // of full rank
  const at::Tensor labels = at::tensor({0, 2, 1, 1, 0}, at::kLong);
  const auto loss = [&](const at::Tensor& a, const at::Tensor& t) { return cross_entropy_by_sample(projected_out(a, t), labels).mean(); };
  const at::Tensor a = all.clone().requires_grad_(true), t = texture.clone().requires_grad_(true);
  loss(a, t).backward();
  EXPECT_LT(largest_difference(a.grad(), numeric_gradient([&](const at::Tensor& x) { return loss(x, texture).item<double>(); }, all)),
            1e-7);
  EXPECT_LT(largest_difference(t.grad(), numeric_gradient([&](const at::Tensor& x) { return loss(all, x).item<double>(); }, texture)),
            1e-7);
}

TEST(Projection, OfTextureLogitsThatAreZeroChangesNothing) {
  const at::Tensor all = at::cos(at::arange(1, 16, at::kDouble)).view({5, 3});
  EXPECT_LT(largest_difference(projected_out(all, at::zeros({5, 3}, at::kDouble)), all), 1e-12);
}

TEST(Hex, AStepIsEquationFour) {
  MethodWithBatch made(changed(biased_config("x", "{name: hex, levels: 4, texture_dim: 6}"), {"train.batch_size=24"}));
  std::map<std::string, at::Tensor> all;
  for (const auto& [name, tensor] : made.parts.model.named_parameters()) all[name] = tensor.detach().clone();
  const at::Tensor images = made.batch.images()[0];
  const at::Tensor counted = co_occurrences(grey_levels(images, 4, 28), all.at("texture.lambda"), all.at("texture.theta"), 0, 1);
  at::Tensor g = at::relu(at::linear(counted.flatten(1), all.at("texture.linear.weight"), all.at("texture.linear.bias")));
  for (int64_t column = 0; column < g.size(1); ++column) {
    const double length = g.select(1, column).norm().item<double>();
    if (length > 1e-6) g.select(1, column) /= length;
  }
  const at::Tensor v = at::linear(g, all.at("texture.classifier.weight"));
  const at::Tensor projected = projected_out(made.logits() + v, v + all.at("classifier.bias"));
  EXPECT_NEAR(made.run().loss, at::cross_entropy_loss(projected, made.labels()).item<double>(), 1e-4);
  for (const auto& [name, tensor] : made.parts.model.named_parameters()) {
    if (name.starts_with("texture.classifier") || name.starts_with("texture.linear.weight")) {
      EXPECT_FALSE(tensor.equal(all.at(name))) << name;
    }
  }
}

TEST(Hex, ThresholdsBeginWithinTheLevels) {
  MethodWithBatch made(biased_config("x", "{name: hex, levels: 16}"));
  for (const auto& [name, tensor] : made.parts.model.named_parameters()) {
    if (name != "texture.lambda" && name != "texture.theta") continue;
    EXPECT_GE(tensor.min().item<double>(), 0) << name;
    EXPECT_LE(tensor.max().item<double>(), 16) << name;
    EXPECT_GT(tensor.std().item<double>(), 2) << name;  // 4.6 of a uniform one
  }
}

}  // namespace hex_test
}  // namespace debias

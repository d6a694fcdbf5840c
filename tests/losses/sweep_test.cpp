// The tile engine against the plain composition in double, through every registered objective that has one: random sizes (odd ones, D = 1,
// rows beyond a tile), temperatures down to 0.005 and rows made to hurt. The bounds are those of the engine's contract: value within
// 2e-5 max(1, |L|), gradient within 1e-3 of its norm; rows in bfloat16, against the same rounded rows, within 1e-2 max(1, 0.05 / t) in
// both.
//
// Within rounding of a clamp or of a tie of ranks either branch is right, so their diagnostics distinguish such cases: tied rows are not
// given to rank weights, and a value is compared where both engines clamp the same anchors.
#include <gtest/gtest.h>

#include <algorithm>

#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "tests/support/embeddings.h"

namespace debias {
namespace sweep_test {

enum class Shape { kRandom, kClustered, kIdentical, kAntipodal, kCollapsed, kZero };

struct Case {
  int64_t samples, views, dim;
  double temperature;
  Shape rows;
  int64_t classes;
};

at::Tensor unit(const at::Tensor& z) { return z / z.norm(2, -1, true).clamp_min(1e-12); }

at::Tensor embeddings(const Case& c) {
  const at::Tensor noise = at::randn({c.samples, c.views, c.dim}, at::kDouble);
  const at::Tensor centre = at::randn({c.samples, 1, c.dim}, at::kDouble);
  switch (c.rows) {
    case Shape::kRandom:
      return unit(noise);
    case Shape::kClustered:
      return unit(centre + 0.3 * noise);
    case Shape::kIdentical:
      return unit(at::ones({c.samples, c.views, c.dim}, at::kDouble));
    case Shape::kAntipodal:
      return unit(at::ones({c.samples, c.views, c.dim}, at::kDouble)) * (1 - 2 * (at::arange(c.samples) % 2)).view({-1, 1, 1});
    case Shape::kCollapsed:
      return unit(at::ones({c.samples, c.views, c.dim}, at::kDouble) + 1e-3 * noise);
    case Shape::kZero:
      break;
  }
  at::Tensor z = unit(noise);
  z[0].zero_();
  return z;
}

std::vector<Case> cases(const ObjectiveEntry& entry) {
  const bool ranked = entry.name == "bayesian";
  std::vector<Case> all;
  const auto pick = [](int64_t below) { return at::randint(below, {1}, at::kLong).item<int64_t>(); };
  const std::vector<double> temperatures = {0.005, 0.02, 0.07, 0.1, 0.5, 2};
  for (int64_t i = 0; i < 36; ++i) {
    Case c;
    c.samples = i % 9 == 0 ? 140 + pick(60) : 1 + pick(40);
    c.views = std::max<int64_t>(entry.min_views, 1 + pick(3));
    c.dim = i % 7 == 0 ? 1 : 1 + pick(70);
    c.temperature = temperatures[static_cast<size_t>(i) % temperatures.size()];
    c.rows = static_cast<Shape>(pick(6));
    if (ranked && (c.dim < 8 || c.rows != Shape::kClustered)) {  // no ties of ranks
      c.dim += 8;
      c.rows = Shape::kRandom;
    }
    c.classes = 1 + pick(6);
    all.push_back(c);
  }
  return all;
}

struct Outcome {
  ObjectiveResult result;
  at::Tensor gradient;
};

Outcome evaluate(const Objective& objective, ObjectiveInput input, const at::Tensor& z, Engine engine) {
  const at::Tensor leaf = z.clone().requires_grad_(true);
  input.z = leaf;
  input.engine = engine;
  Outcome outcome{objective(input), {}};
  if (outcome.result.value.requires_grad()) outcome.result.value.backward();
  outcome.gradient = leaf.grad().defined() ? leaf.grad().to(at::kDouble) : at::zeros_like(z, at::kDouble);
  return outcome;
}

TEST(Sweep, FusedAgreesWithDenseInDouble) {
  int64_t compared = 0, at_a_clamp = 0, halves = 0;
  double worst_value = 0, worst_gradient = 0, worst_half = 0, worst_half_gradient = 0;
  for (const auto& entry : objective_registry()) {
    if (!has_fused_engine(entry) || entry.kind != InputKind::kPairs) continue;
    const bool has_temperature = std::ranges::find(entry.options, "temperature", &OptionSpec::name) != entry.options.end();
    at::manual_seed(7);
    for (const Case& c : cases(entry)) {
      const std::string what = fmt::format("{}: B {}, V {}, D {}, t {}, rows {}", entry.name, c.samples, c.views, c.dim, c.temperature,
                                           static_cast<int>(c.rows));
      Config term = Config::map();
      if (has_temperature) term.set("temperature", Config::number(c.temperature));
      const auto objective = entry.make(term, {});
      ObjectiveInput input = {.labels = at::randint(c.classes, {c.samples}, at::kLong), .bias = at::randint(3, {c.samples}, at::kLong)};
      if (entry.needs_bias_features) input.weights = at::randn({c.samples, 4}, at::kDouble);
      const at::Tensor z = embeddings(c).to(at::kFloat);
      const Outcome fused = evaluate(*objective, input, z, Engine::kFused),
                    dense = evaluate(*objective, input, z.to(at::kDouble), Engine::kDense);
      ASSERT_TRUE(fused.result.fused()) << what;
      ASSERT_FALSE(dense.result.fused()) << what;
      if (fused.result.clamped != dense.result.clamped) {
        ++at_a_clamp;
        continue;
      }
      ++compared;
      const double exact = dense.result.value.item<double>(), size = std::max(1.0, std::abs(exact));
      const double value_error = std::abs(fused.result.value.item<double>() - exact) / size;
      // Where rows have collapsed the gradient is what is left of terms of size 1/t, each with its last digit rounded.
      const double norm = dense.gradient.norm().item<double>(), least = 5e-3 / c.temperature;
      const double gradient_error = (fused.gradient - dense.gradient).norm().item<double>() / std::max(norm, least);
      EXPECT_LT(value_error, 2e-5) << what;
      EXPECT_LT(gradient_error, 1e-3) << what << ", gradient's norm " << norm;
      worst_value = std::max(worst_value, value_error);
      worst_gradient = std::max(worst_gradient, gradient_error);

      const at::Tensor rounded = z.to(at::kBFloat16);
      const Outcome half = evaluate(*objective, input, rounded, Engine::kFused),
                    half_dense = evaluate(*objective, input, rounded.to(at::kDouble), Engine::kDense);
      ASSERT_TRUE(half.result.fused()) << what;
      const double allowance = std::max(1.0, 0.05 / c.temperature);
      if (half.result.clamped == dense.result.clamped && entry.name != "bayesian") {  // whose rounded rows tie
        EXPECT_LT(std::abs(half.result.value.item<double>() - exact) / (size * allowance), 1e-2) << what << ", rows before rounding";
      }
      if (half.result.clamped != half_dense.result.clamped) continue;
      ++halves;
      const double half_exact = half_dense.result.value.item<double>();
      const double half_error = std::abs(half.result.value.item<double>() - half_exact) / (std::max(1.0, std::abs(half_exact)) * allowance);
      const double half_norm = half_dense.gradient.norm().item<double>();
      // Weights of size 1 / t are rounded by 2^-8 of themselves: where all rows are one, or two, nothing but that is left.
      const bool alike = c.dim == 1 || c.rows == Shape::kIdentical || c.rows == Shape::kAntipodal || c.rows == Shape::kCollapsed;
      const double half_least = (alike ? 100 : 4) * least;
      const double half_gradient_error =
          (half.gradient - half_dense.gradient).norm().item<double>() / (std::max(half_norm, half_least) * allowance);
      EXPECT_LT(half_error, 1e-2) << what << ", bfloat16";
      EXPECT_LT(half_gradient_error, 1e-2) << what << ", bfloat16, gradient's norm " << half_norm;
      worst_half = std::max(worst_half, half_error);
      worst_half_gradient = std::max(worst_half_gradient, half_gradient_error);
    }
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(halves, 400);
  fmt::print(
      "sweep: {} cases compared, {} more at a clamp; worst relative error of a value {:.1e}, of a gradient {:.1e}; {} in "
      "bfloat16, of a value {:.1e}, of a gradient {:.1e}\n",
      compared, at_a_clamp, worst_value, worst_gradient, halves, worst_half, worst_half_gradient);
}

}  // namespace sweep_test
}  // namespace debias

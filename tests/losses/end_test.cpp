// EnD by groups and by pairs; the half pairs of the released code and all of them.
#include "debias/losses/end.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "debias/core/error.h"
#include "tests/losses/known_batch.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace end_test {

constexpr Engine kEngines[] = {Engine::kDense, Engine::kFused, Engine::kAuto};

EndOptions perpendicular() { return EndOptions{.alpha = 1, .beta = 0}; }
EndOptions parallel(bool full) { return EndOptions{.alpha = 0, .beta = 1, .full_pairs = full}; }

ObjectiveResult with_engine(Engine engine, const at::Tensor& z, const at::Tensor& labels, const at::Tensor& bias,
                            const EndOptions& options) {
  return end(ObjectiveInput{.z = z, .labels = labels, .bias = bias, .engine = engine}, options);
}

struct Batch {
  at::Tensor z, labels, bias;
};

Batch batch(int64_t samples, int64_t views, int64_t seed) {
  Batch made = {random_embeddings(samples, views, 5, seed), {}, {}};
  made.labels = at::randint(-1, 3, {samples}, at::kLong);
  made.bias = at::randint(-1, 4, {samples}, at::kLong) * 3;
  made.bias.masked_fill_(made.bias.lt(0), -1);
  return made;
}

std::vector<EndOptions> all_options() {
  return {EndOptions(),   EndOptions{.full_pairs = true},    perpendicular(), parallel(false),
          parallel(true), EndOptions{.alpha = 50, .beta = 3}};
}

TEST(EndEngines, SumsAndPairsAgreeInGradientAndDiagnostics) {
  for (int64_t samples : {1, 3, 17, 70}) {
    const Batch b = batch(samples, 2, samples);
    for (const auto& options : all_options()) {
      const auto evaluated = [&](Engine engine) {
        const at::Tensor leaf = b.z.clone().requires_grad_(true);
        const auto result = with_engine(engine, leaf, b.labels, b.bias, options);
        result.value.backward();
        return std::pair{result, leaf.grad()};
      };
      const auto [pairs, pairs_gradient] = evaluated(Engine::kDense);
      const auto [sums, sums_gradient] = evaluated(Engine::kFused);
      EXPECT_LT(largest_difference(pairs_gradient, sums_gradient), 1e-12);
      EXPECT_TRUE(at::allclose(pairs.per_anchor, sums.per_anchor, 0, 1e-12, true));
      EXPECT_EQ(pairs.clamped, sums.clamped);
      EXPECT_EQ(pairs.anchors_used, sums.anchors_used);
      EXPECT_FALSE(pairs.fused());
      EXPECT_TRUE(sums.fused());
    }
  }
}

TEST(EndEngines, GradientsAreThoseOfFiniteDifferences) {
  const Batch b = batch(8, 2, 4);
  for (const auto& options : all_options()) {
    const auto value_at = [&](const at::Tensor& z) { return end(z, b.labels, b.bias, options).value.item<double>(); };
    const at::Tensor leaf = b.z.clone().requires_grad_(true);
    end(leaf, b.labels, b.bias, options).value.backward();
    EXPECT_LT(largest_difference(leaf.grad(), numeric_gradient(value_at, b.z)), 1e-6);
  }
}

TEST(EndEngines, SecondDerivativesOfTheHalfPairsAreThoseOfAllPairsDense) {
  const Batch b = batch(8, 1, 4);
  const auto curvature = [&](Engine engine) {
    const at::Tensor leaf = b.z.clone().requires_grad_(true);
    const auto first =
        torch::autograd::grad({with_engine(engine, leaf, b.labels, b.bias, parallel(false)).value}, {leaf}, {}, true, true)[0];
    return torch::autograd::grad({(first * at::arange(5, at::kDouble)).sum()}, {leaf})[0];
  };
  EXPECT_LT(largest_difference(curvature(Engine::kDense), curvature(Engine::kFused)), 1e-12);
}

TEST(EndLaws, OnlyFullPairsAreFreeOfTheOrderOfRows) {
  const at::Tensor z = angles({{0, 40, 100}}), labels = integers({0, 0, 0}), bias = integers({0, 1, 2}), back = integers({2, 1, 0});
  const auto reversed = [&](bool full) {
    return end(z.index_select(0, back), labels, bias.index_select(0, back), parallel(full)).value.item<double>();
  };
  EXPECT_NEAR(reversed(true), end(z, labels, bias, parallel(true)).value.item<double>(), 1e-12);
  EXPECT_EQ(end(z, labels, bias, parallel(false)).value.item<double>(), 0);  // bias labels rise: no pair counts
  EXPECT_NEAR(reversed(false), reversed(true), 1e-12);                       // they fall: all do
}

TEST(EndLaws, SpreadRowsAndGatheredRowsAreLeast) {
  // Opposite rows of one bias label, equal rows of one label.
  const auto found = end(angles({{0, 0, 180, 180}}), classes(), biases(), EndOptions{.full_pairs = true});
  EXPECT_NEAR(found.value.item<double>(), 0.1, 1e-12);  // R_perp = 1: pairs at cosine -1 add up within a bias label
  EXPECT_NEAR(end(angles({{0, 0, 90, 90}}), classes(), biases(), EndOptions{.full_pairs = true}).value.item<double>(), 0, 1e-12);
}

TEST(EndEdges, WithoutPairsItIsZeroAndUsesNothing) {
  for (Engine engine : kEngines) {
    const at::Tensor z = random_embeddings(2, 1, 3, 1).requires_grad_(true);
    const auto found = with_engine(engine, z, integers({0, 1}), integers({0, 1}), {});
    EXPECT_EQ(found.value.item<double>(), 0);
    EXPECT_EQ(found.clamped, 2);
    EXPECT_EQ(found.clamped_of(), 2);
    EXPECT_EQ(found.anchors, 2);
    EXPECT_EQ(found.anchors_used, 0);
    EXPECT_TRUE(found.per_anchor.isnan().all().item<bool>());
    found.value.backward();
    EXPECT_EQ(z.grad().abs().max().item<double>(), 0);
    const auto unknown = with_engine(engine, z, integers({-1, -1}), integers({-1, -1}), {});
    EXPECT_EQ(unknown.value.item<double>(), 0);
    unknown.value.backward();
  }
}

TEST(EndEdges, EverythingIsFinite) {
  for (const auto& z : {angles({{30, 30, 30, 30}, {30, 30, 30, 30}}), angles({{30, 210, 30, 210}, {210, 30, 210, 30}}),
                        at::zeros({4, 2, 3}, at::kDouble)}) {
    for (const auto& options : all_options()) {
      for (Engine engine : kEngines) {
        for (auto type : {at::kFloat, at::kDouble, at::kBFloat16}) {
          const at::Tensor leaf = z.detach().clone().to(type).requires_grad_(true);
          const auto found = with_engine(engine, leaf, classes(), biases(), options);
          found.value.backward();
          EXPECT_TRUE(std::isfinite(found.value.item<double>()));
          EXPECT_TRUE(leaf.grad().isfinite().all().item<bool>());
        }
      }
    }
  }
}

ErrorKind refusal(const ObjectiveInput& input, const EndOptions& options = {}) {
  const Error error = thrown_by([&] { end(input, options); });
  EXPECT_EQ(std::string(error.what()).rfind("end: ", 0), 0u) << error.what();
  return error.kind();
}

TEST(EndErrors, AreNamed) {
  const at::Tensor z = random_embeddings(4, 1, 3, 1);
  EXPECT_EQ(refusal({.z = z, .bias = biases()}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = z, .labels = classes()}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = z.select(1, 0), .labels = classes(), .bias = biases()}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = z, .labels = classes(), .bias = integers({0, 1})}), ErrorKind::kData);
  EXPECT_EQ(refusal({.z = z, .labels = classes(), .bias = biases()}, EndOptions{.alpha = -1}), ErrorKind::kUsage);
  EXPECT_EQ(refusal({.z = z, .labels = classes(), .bias = biases()}, EndOptions{.beta = -1}), ErrorKind::kUsage);
}

}  // namespace end_test
}  // namespace debias

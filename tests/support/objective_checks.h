// What the tests of several objectives ask of a result: its value, its gradient, and that both engines give the same.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "debias/losses/objective.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"

namespace debias {

inline double value(const ObjectiveResult& result) { return result.value.item<double>(); }

template <class Function>
std::pair<ObjectiveResult, at::Tensor> with_gradient(const at::Tensor& z, const Function& function) {
  const at::Tensor leaf = z.detach().clone().requires_grad_(true);
  ObjectiveResult result = function(leaf);
  result.value.backward();
  return {result, leaf.grad()};
}

// On 9 random samples in float32, whose terms are of order 1; for objectives that weigh negatives. Ranks, clamps and weights must come out
// alike. loss(input) -> ObjectiveResult.
template <class Loss>
void expect_engines_agree(int64_t views, const Loss& loss) {
  std::vector<std::pair<ObjectiveResult, at::Tensor>> found;
  for (Engine engine : {Engine::kDense, Engine::kFused}) {
    found.push_back(with_gradient(random_embeddings(9, views, 6, 4).to(at::kFloat),
                                  [&](const at::Tensor& x) { return loss(ObjectiveInput{.z = x, .engine = engine}); }));
    EXPECT_EQ(found.back().first.fused(), engine == Engine::kFused);
  }
  EXPECT_NEAR(value(found[0].first), value(found[1].first), 2e-6);
  EXPECT_LT(largest_difference(found[0].second, found[1].second), 2e-6);
  EXPECT_LT(largest_difference(found[0].first.per_anchor, found[1].first.per_anchor), 1e-5);
  EXPECT_NEAR(*found[0].first.effective_sample_size, *found[1].first.effective_sample_size, 1e-4);
}

}  // namespace debias

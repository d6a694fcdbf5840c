// Four samples whose losses are known (tests/golden/objectives.json, batch "angles"), and how an objective is tested at its edges.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/embeddings.h"
#include "tests/support/objective_checks.h"

namespace debias {

inline at::Tensor two_views() { return angles({{0, 41, 133, 205}, {12, 66, 118, 240}}); }
inline at::Tensor classes() { return integers({0, 0, 1, 1}); }
inline at::Tensor biases() { return integers({0, 1, 0, 1}); }

// Value and gradient of loss(rows), at the coldest temperature in use, are finite in either precision, and the value is `expected`.
template <class Loss>
void expect_edge(const at::Tensor& z, double expected, const std::string& what, const Loss& loss) {
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    const auto [found, gradient] = with_gradient(z.to(type), loss);
    EXPECT_NEAR(value(found), expected, (type == at::kDouble ? 1e-10 : 1e-5) * std::max(1.0, std::abs(expected))) << what;
    EXPECT_TRUE(gradient.isfinite().all().template item<bool>()) << what;
  }
}

}  // namespace debias

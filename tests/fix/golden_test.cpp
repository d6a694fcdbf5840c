// Against concept-erasure and scikit-learn (tests/golden/make_fix.py).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/evaluate/head_preconditioner.h"
#include "debias/fix/fit_rows.h"
#include "debias/fix/leace.h"
#include "debias/fix/weighted_heads.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace golden_test {

at::Tensor golden(const std::string& name) {
  const SafetensorsFile file = SafetensorsFile::open(golden_folder(".") + "/fix.safetensors");
  const TensorEntry& entry = *file.find(name);
  const bool is_whole = entry.dtype == DType::kInt64;
  at::Tensor tensor = at::empty(entry.shape, is_whole ? at::kLong : entry.dtype == DType::kFloat32 ? at::kFloat : at::kDouble);
  file.read(entry, tensor.data_ptr());
  return is_whole ? tensor : tensor.to(at::kDouble);
}

double largest_gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(Golden, LeaceIsConceptErasuresProjection) {
  const at::Tensor x = golden("x"), z = at::one_hot(golden("biases"), 4).to(at::kDouble);
  const auto n = static_cast<double>(x.size(0));
  const at::Tensor centred = x - x.mean(0), cross = centred.t().mm(z - z.mean(0)) / (n - 1);
  const AffineErasure erasure = leace({x.mean(0), centred.t().mm(centred) / n, cross, x.size(0)});
  EXPECT_LE(largest_gap(erasure.left.mm(erasure.right), golden("leace")), 1e-9);
  EXPECT_LE(largest_gap(erasure.mean, golden("leace_mean")), 1e-9);
}

TEST(Golden, LeaceOfRowsInMemoryIsThatUpToTheirFloats) {
  const StandardRows rows(golden("x"));
  const at::Tensor z = at::one_hot(golden("biases"), 4).to(at::kDouble);
  const AffineErasure erasure = leace(leace_moments(rows, z, at::ones({rows.size()}, at::kBool)));
  EXPECT_LE(largest_gap(erasure.left.mm(erasure.right), golden("leace")), 1e-6);
  EXPECT_LE(largest_gap(erasure.mean, golden("leace_mean")), 1e-6);
}

TEST(Golden, LeaceLeavesOutTheRowsThatAreNotUsed) {
  const at::Tensor x = golden("x"), z = at::one_hot(golden("biases"), 4).to(at::kDouble);
  const int64_t n = x.size(0);
  const at::Tensor more = at::cat({at::full({3, x.size(1)}, 5.0, at::kDouble), x}), more_z = at::cat({at::ones({3, 4}, at::kDouble), z});
  const AffineErasure erasure = leace(leace_moments(StandardRows(more), more_z, at::arange(n + 3).ge(3)));
  EXPECT_LE(largest_gap(erasure.left.mm(erasure.right), golden("leace")), 1e-6);
}

TEST(Golden, ABalancedHeadIsScikitLearnsWithThoseWeights) {
  const StandardRows rows(golden("x"));
  const at::Tensor labels = golden("labels"), groups = labels * 4 + golden("biases");
  const at::Tensor counts = at::bincount(groups, {}, 12).clamp_min(5).to(at::kDouble);
  const at::Tensor weights = counts.reciprocal().index_select(0, groups);
  const double l2 = 1 / (0.1 * 240);
  const HeadProblem problem{weights.to(at::kFloat), l2, head_preconditioner(at::eye(10, at::kDouble), l2), nullptr};
  const HeadFit fit = fit_heads(rows, labels, 3, {problem}, {.tolerance = 1e-6}).front();
  EXPECT_LE(largest_gap(fit.head.weight, golden("head_weight")), 2e-4);
  const at::Tensor bias = golden("head_bias");
  EXPECT_LE(largest_gap(fit.head.bias - fit.head.bias.mean(), bias - bias.mean()), 2e-4);
}

}  // namespace golden_test
}  // namespace debias

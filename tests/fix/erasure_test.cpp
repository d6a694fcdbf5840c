#include "debias/fix/erasure.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/runtime/each_alone.h"

namespace debias {
namespace erasure_test {

struct Sample {
  at::Tensor x, z, labels, weights;
  int64_t classes = 3;
};

// Features that the bias and the class both move; group sizes differ, and so do weights.
Sample sample(int64_t n, int64_t dimensions, int64_t biases = 4) {
  at::manual_seed(7);
  Sample made;
  made.labels = at::randint(3, {n}, at::kLong);
  const at::Tensor own = at::rand({n}) < 0.8;
  const at::Tensor b = at::where(own, made.labels, at::randint(biases, {n}, at::kLong));
  made.z = at::one_hot(b, biases).to(at::kDouble);
  const at::Tensor mixing = at::randn({biases, dimensions}, at::kDouble), of_class = at::randn({3, dimensions}, at::kDouble);
  const at::Tensor noise = at::randn({n, dimensions}, at::kDouble).mm(at::randn({dimensions, dimensions}, at::kDouble)) / 4;
  made.x = noise + made.z.mm(mixing) + of_class.index_select(0, made.labels) + 5;
  made.weights = at::rand({n}, at::kDouble) + 0.05;
  return made;
}

struct Fitted {
  StandardRows rows;
  ClassMoments moments;
  AffineErasure erasure;  // of standardised rows
};

Fitted fitted(const Sample& made, Shrinkage shrinkage = Shrinkage::kRows) {
  StandardRows rows(made.x);
  const WeightedRows weighted{&rows, made.z, made.labels, made.weights, made.classes};
  ClassMoments moments = class_moments(weighted, 0, rows.size());
  const double fourth = fourth_moment(weighted, 0, rows.size(), moments.class_means()) / moments.total();
  AffineErasure erasure = class_conditional_erasure(moments, fourth, shrinkage);
  return {std::move(rows), std::move(moments), std::move(erasure)};
}

// Naive: sum w (x - mean of its class)(z - mean of its class)' / sum w.
at::Tensor naive_cross_covariance(const at::Tensor& x, const Sample& made) {
  at::Tensor sum = at::zeros({x.size(1), made.z.size(1)}, at::kDouble);
  for (int64_t y = 0; y < made.classes; ++y) {
    const at::Tensor own = (made.labels == y).nonzero().flatten();
    const at::Tensor w = made.weights.index_select(0, own).unsqueeze(1), xy = x.index_select(0, own), zy = made.z.index_select(0, own);
    const at::Tensor centred = xy - (xy * w).sum(0) / w.sum(), z_centred = zy - (zy * w).sum(0) / w.sum();
    sum += (centred * w).t().mm(z_centred);
  }
  return sum / made.weights.sum();
}

TEST(Erasure, LeavesNoWeightedCrossCovarianceWithinTheClasses) {
  const Sample made = sample(1537, 20);
  for (const Shrinkage shrinkage : {Shrinkage::kRows, Shrinkage::kEffective}) {
    const Fitted fit = fitted(made, shrinkage);
    const AffineErasure raw = unstandardised(fit.erasure, fit.rows.scale());
    const double before = naive_cross_covariance(made.x, made).norm().item<double>();
    EXPECT_LE(naive_cross_covariance(raw.apply(made.x), made).norm().item<double>(), 1e-6 * before);
    EXPECT_EQ(fit.erasure.rank(), 3);  // four bias labels
  }
}

TEST(Erasure, IsAProjection) {
  const Fitted fit = fitted(sample(700, 12));
  const at::Tensor once = fit.rows.block(0, 700).to(at::kDouble), x = fit.erasure.apply(once);
  EXPECT_LE((fit.erasure.apply(x) - x).abs().max().item<double>(), 1e-9);
  EXPECT_LE((fit.erasure.right.mm(fit.erasure.left) - at::eye(fit.erasure.rank(), at::kDouble)).abs().max().item<double>(), 1e-9);
}

// W+ U U' W of LEACE, by the square root of S that the Cholesky factor stands in for.
TEST(Erasure, IsLeacesProjectionOfCentredRows) {
  const Sample made = sample(900, 10);
  const Fitted fit = fitted(made);
  const at::Tensor covariance = fit.moments.covariance();
  const WeightedRows weighted{&fit.rows, made.z, made.labels, made.weights, made.classes};
  const double fourth = fourth_moment(weighted, 0, 900, fit.moments.class_means()) / fit.moments.total();
  const double rho = ledoit_wolf(covariance, fourth, 900);
  at::Tensor S = covariance * (1 - rho);
  S.diagonal().add_(rho * covariance.diagonal().mean());
  const auto [values, axes] = at::linalg_eigh(S);
  const at::Tensor W = (axes * values.rsqrt()).mm(axes.t()), inverse = (axes * values.sqrt()).mm(axes.t());
  const auto [u, s, v] = at::linalg_svd(W.mm(fit.moments.cross_covariance()), false);
  const at::Tensor U = u.narrow(1, 0, 3);
  EXPECT_LE((inverse.mm(U).mm(U.t()).mm(W) - fit.erasure.left.mm(fit.erasure.right)).abs().max().item<double>(), 1e-8);
}

TEST(Erasure, ShrinkageIsLedoitAndWolfsOfUnweightedRows) {  // sklearn.covariance.ledoit_wolf_shrinkage, written out
  at::manual_seed(3);
  const int64_t n = 40, D = 9;
  const at::Tensor x = at::randn({n, D}, at::kDouble) * at::arange(1, D + 1), centred = x - x.mean(0);
  const at::Tensor S = centred.t().mm(centred) / n;
  double beta = 0;
  for (int64_t i = 0; i < n; ++i) {
    const at::Tensor outer = at::outer(centred[i], centred[i]);
    beta += (outer - S).square().sum().item<double>() / static_cast<double>(n * n);
  }
  at::Tensor target = S.clone();
  target.diagonal().sub_(S.diagonal().mean());
  const double expected = std::min(1.0, beta / target.square().sum().item<double>());
  const double fourth = centred.square().sum(1).square().mean().item<double>();
  EXPECT_NEAR(ledoit_wolf(S, fourth, static_cast<double>(n)), expected, 1e-12);
}

TEST(Erasure, OfMoreDimensionsThanRowsStillErases) {
  const Sample made = sample(60, 150);
  const Fitted fit = fitted(made);
  const double before = naive_cross_covariance(made.x, made).norm().item<double>();
  const AffineErasure raw = unstandardised(fit.erasure, fit.rows.scale());
  EXPECT_LE(naive_cross_covariance(raw.apply(made.x), made).norm().item<double>(), 1e-6 * before);
}

TEST(Erasure, OfABiasThatIsConstantWithinEachClassChangesNothing) {
  Sample made = sample(300, 8);
  made.z = at::one_hot(made.labels, 4).to(at::kDouble);
  EXPECT_EQ(fitted(made).erasure.rank(), 0);
}

TEST(ClassMoments, OfPartsAddUpAndDoNotDependOnThreads) {
  const Sample made = sample(2100, 7);
  const StandardRows rows(made.x);
  const WeightedRows weighted{&rows, made.z, made.labels, made.weights, made.classes};
  const ClassMoments all = class_moments(weighted, 0, 2100);
  ClassMoments parts = class_moments(weighted, 0, 800);
  parts += class_moments(weighted, 800, 1300);
  EXPECT_LE((all.xx - parts.xx).abs().max().item<double>(), 1e-3);
  EXPECT_LE((all.xz - parts.xz).abs().max().item<double>(), 1e-9);
  EXPECT_EQ(all.count, parts.count);
  const int threads = at::get_num_threads();
  for (const int other : {1, 2, 4}) {
    at::set_num_threads(other);
    EXPECT_TRUE(at::equal(class_moments(weighted, 0, 2100).xx, all.xx)) << other;
  }
  at::set_num_threads(threads);
}

}  // namespace erasure_test
}  // namespace debias

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/evaluate/descent.h"
#include "debias/fix/weighted_heads.h"
#include "debias/runtime/each_alone.h"
#include "tests/support/finite_differences.h"

namespace debias {
namespace heads_test {

struct Data {
  StandardRows rows;
  at::Tensor labels, weights;
  int64_t classes = 4;
};

Data data(int64_t n, int64_t dimensions) {
  at::manual_seed(11);
  const at::Tensor labels = at::randint(4, {n}, at::kLong);
  const at::Tensor centres = at::randn({4, dimensions}, at::kDouble) / 2;
  const at::Tensor x = (at::randn({n, dimensions}, at::kDouble) + centres.index_select(0, labels)) * at::arange(1, dimensions + 1) + 3;
  return {StandardRows(x), labels, at::rand({n}) + 0.1};
}

HeadProblem problem(const Data& made, double l2) {
  const OneThread alone;  // the covariance is to be the same bytes, whatever the heads are fitted by
  const at::Tensor x = made.rows.block(0, made.rows.size()).to(at::kDouble);
  return {made.weights, l2, head_preconditioner(x.t().mm(x) / made.rows.size(), l2), nullptr};
}

// The objective of a flat (W, b), in double.
double objective(const at::Tensor& flat, const Data& made, const at::Tensor& x, double l2) {
  const int64_t D = x.size(1);
  const at::Tensor W = flat.narrow(0, 0, made.classes * D).view({made.classes, D}), b = flat.narrow(0, made.classes * D, made.classes);
  const at::Tensor w = made.weights.to(at::kDouble);
  const at::Tensor log_p = at::log_softmax(x.mm(W.t()) + b, 1).gather(1, made.labels.unsqueeze(1)).squeeze(1);
  return (-(w * log_p).sum() / w.sum() + l2 / 2 * W.square().sum()).item<double>();
}

TEST(WeightedHeads, EndWhereTheWeightedObjectiveIsFlat) {
  const Data made = data(611, 9);
  const at::Tensor x = made.rows.block(0, 611).to(at::kDouble);
  const HeadFit fit = fit_heads(made.rows, made.labels, 4, {problem(made, 0.01)}).front();
  EXPECT_TRUE(fit.converged);
  const at::Tensor flat = at::cat({fit.head.weight.flatten(), fit.head.bias});
  const at::Tensor slope = numeric_gradient([&](const at::Tensor& at) { return objective(at, made, x, 0.01); }, flat);
  EXPECT_LE(slope.abs().max().item<double>(), 1e-4);  // HeadOptions::tolerance, of a gradient of about 1
  EXPECT_NEAR(fit.objective, objective(flat, made, x, 0.01), 1e-6);
}

TEST(WeightedHeads, BehindAnErasureAreHeadsOfErasedRows) {
  const Data made = data(530, 7);
  at::manual_seed(2);
  const at::Tensor left = at::randn({7, 2}, at::kDouble), other = at::randn({2, 7}, at::kDouble);
  const auto erasure = std::make_shared<const AffineErasure>(
      AffineErasure{at::randn({7}, at::kDouble), left, at::linalg_inv(other.mm(left)).mm(other)});  // right left = 1
  HeadProblem behind = problem(made, 0.02);
  behind.erasure = erasure;
  const HeadFit fit = fit_heads(made.rows, made.labels, 4, {behind}).front();
  const at::Tensor x = made.rows.block(0, 530).to(at::kDouble), erased = erasure->apply(x);
  // The head reads rows and erased rows alike, and what is along `left` adds nothing to W.
  const at::Tensor logits = at::addmm(fit.head.bias, x, fit.head.weight.t());
  EXPECT_LE((at::addmm(fit.head.bias, erased, fit.head.weight.t()) - logits).abs().max().item<double>(), 1e-9);
  // No head on erased rows does better.
  at::Tensor best = at::cat({fit.head.weight.flatten(), fit.head.bias});
  const double own = fit.objective;
  for (int trial = 0; trial < 20; ++trial) {
    const at::Tensor moved = best + 0.05 * at::randn(best.sizes(), at::kDouble);
    EXPECT_GE(objective(moved, made, erased, 0.02), own);
  }
}

TEST(WeightedHeads, RowsOfWeightZeroDoNotCount) {
  Data made = data(600, 5);
  made.weights.narrow(0, 400, 200).zero_();
  const HeadProblem whole = problem(made, 0.1);
  const LinearHead all = fit_heads(made.rows, made.labels, 4, {whole}).front().head;
  std::vector<int64_t> first(400);
  for (int64_t i = 0; i < 400; ++i) first[static_cast<size_t>(i)] = i;
  HeadProblem part = whole;
  part.weights = made.weights.narrow(0, 0, 400).clone();
  const StandardRows rows = made.rows.selected(first);
  const LinearHead some = fit_heads(rows, made.labels.narrow(0, 0, 400), 4, {part}).front().head;
  EXPECT_LE((all.weight - some.weight).abs().max().item<double>(), 2e-4);
}

TEST(WeightedHeads, TogetherAreWhatTheyAreAlone) {
  const Data made = data(1100, 6);
  const std::vector<HeadProblem> problems = {problem(made, 1), problem(made, 0.01), problem(made, 1e-4)};
  const std::vector<HeadFit> together = fit_heads(made.rows, made.labels, 4, problems);
  for (size_t i = 0; i < problems.size(); ++i) {
    const HeadFit alone = fit_heads(made.rows, made.labels, 4, {problems[i]}).front();
    EXPECT_LE((alone.head.weight - together[i].head.weight).abs().max().item<double>(),
              1e-3 * alone.head.weight.abs().max().item<double>());
  }
}

TEST(WeightedHeads, AreTheSameBytesForAnyNumberOfThreads) {
  const Data made = data(1700, 33);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const HeadFit one = fit_heads(made.rows, made.labels, 4, {problem(made, 0.01)}).front();
  for (const int other : {2, 4}) {
    at::set_num_threads(other);
    const HeadFit fit = fit_heads(made.rows, made.labels, 4, {problem(made, 0.01)}).front();
    EXPECT_TRUE(at::equal(fit.head.weight, one.head.weight)) << other;
    EXPECT_TRUE(at::equal(fit.head.bias, one.head.bias)) << other;
  }
  at::set_num_threads(threads);
}

TEST(WeightedHeads, OfStandardisedRowsAreHeadsOfTheRowsThemselves) {
  at::manual_seed(4);
  const at::Tensor x = at::randn({50, 3}, at::kDouble) * 7 + 100;
  const StandardRows rows(x);
  const LinearHead head{at::randn({2, 3}, at::kDouble), at::randn({2}, at::kDouble)};
  const LinearHead raw = unstandardised(head, rows.scale());
  const at::Tensor expected = at::addmm(head.bias, rows.block(0, 50).to(at::kDouble), head.weight.t());
  EXPECT_LE((at::addmm(raw.bias, x, raw.weight.t()) - expected).abs().max().item<double>(), 1e-5);
}

constexpr int64_t kRows = 2350, kDimensions = 5, kClasses = 3, kHeads = 4, kFold = 700;

// Head p has weight 0 in rows p kFold ... (p + 1) kFold - 1, as a head of fold p has, and in single rows elsewhere.
at::Tensor fold_weights(int64_t head) {
  at::Tensor weights = at::rand({kRows}) + 0.1;
  const int64_t begin = head * kFold, end = std::min(begin + kFold, kRows);
  if (begin < end) weights.narrow(0, begin, end - begin).zero_();
  weights[kRows / 2] = weights[kRows - 1] = 0;
  return weights;
}

TEST(HeadPass, EqualsSumsInDoubleWhereHeadsLeaveRowsOut) {
  at::manual_seed(3);
  const StandardRows rows(at::randn({kRows, kDimensions}, at::kDouble));
  const at::Tensor labels = at::randint(kClasses, {kRows}, at::kLong);
  const at::Tensor weight = at::randn({kHeads, kClasses, kDimensions}), bias = at::randn({kHeads, kClasses});
  HeadPass pass(rows, labels, kClasses);
  std::vector<at::Tensor> weights;
  for (int64_t p = 0; p < kHeads; ++p) weights.push_back(fold_weights(p));
  weights.push_back(at::zeros({kRows}));  // of no row
  pass.use(weights);
  const std::vector<HeadSums> sums = pass.sums(at::cat({weight, weight.narrow(0, 0, 1)}), at::cat({bias, bias.narrow(0, 0, 1)}));
  ASSERT_EQ(sums.size(), weights.size());
  const at::Tensor x = rows.block(0, kRows).to(at::kDouble);
  for (int64_t p = 0; p <= kHeads; ++p) {
    const at::Tensor w = weights[static_cast<size_t>(p)].to(at::kDouble).unsqueeze(1);
    const at::Tensor log_p = at::log_softmax(at::addmm(bias[p % kHeads].to(at::kDouble), x, weight[p % kHeads].t().to(at::kDouble)), 1);
    const at::Tensor residual = w * (log_p.exp() - at::one_hot(labels, kClasses).to(at::kDouble));
    const HeadSums& own = sums[static_cast<size_t>(p)];
    EXPECT_NEAR(own.loss, -(w * log_p.gather(1, labels.unsqueeze(1))).sum().item<double>(), 1e-3) << "head " << p;
    EXPECT_LE((own.gradient - residual.t().mm(x)).abs().max().item<double>(), 2e-3) << "head " << p;
    EXPECT_LE((own.residual - residual.sum(0)).abs().max().item<double>(), 1e-3) << "head " << p;
  }
}

TEST(HeadPass, TakesOtherHeads) {
  at::manual_seed(4);
  const StandardRows rows(at::randn({600, kDimensions}, at::kDouble));
  const at::Tensor labels = at::randint(kClasses, {600}, at::kLong), w = at::rand({600});
  const at::Tensor weight = at::randn({2, kClasses, kDimensions}), bias = at::randn({2, kClasses});
  HeadPass pass(rows, labels, kClasses);
  pass.use({w, w + 1});
  const double second = pass.sums(weight, bias)[1].loss;
  pass.use({w + 1});
  EXPECT_NEAR(pass.sums(weight.narrow(0, 1, 1), bias.narrow(0, 1, 1)).front().loss, second, 1e-7 * second);
}

}  // namespace heads_test
}  // namespace debias

#include "debias/fix/head_pass.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace debias {
namespace head_pass_test {

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

}  // namespace head_pass_test
}  // namespace debias

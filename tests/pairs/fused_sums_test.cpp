// The tile engine against the dense composition in double: the same sums, the same gradients, over sizes that straddle tiles, temperatures
// on both sides of the one-shift rule, and groups of every shape. Single precision scores carry an error of about 1e-7 D / t, hence the
// tolerances; within a tie of ranks either order is right, so ranked cases are random rows.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "debias/pairs/pair_sums.h"
#include "tests/support/embeddings.h"
#include "tests/support/pair_shape.h"

namespace debias {
namespace fused_sums_test {

class FusedSums : public testing::TestWithParam<PairShape> {
 protected:
  FusedSums() {
    const PairShape shape = GetParam();
    at::manual_seed(shape.n * 31 + shape.dim);
    const at::Tensor z = at::randn({shape.n, shape.dim}, at::kDouble);
    fused.anchors = (z / z.norm(2, 1, true).clamp_min(1e-12)).to(at::kFloat);
    dense.anchors = fused.anchors.to(at::kDouble);
    fused.group = at::randint(shape.groups, {shape.n}, at::kLong);
    dense.group = fused.group;
    dense.engine = Engine::kDense;
    fused.temperature = dense.temperature = shape.temperature;
    fused.anchors.requires_grad_(true);
    dense.anchors.requires_grad_(true);
  }

  // Compares results and the gradients of a random combination of them.
  void compare(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected) const {
    at::Tensor got_total = at::zeros({}, at::kFloat), expected_total = at::zeros({}, at::kDouble);
    for (size_t r = 0; r < got.size(); ++r) {
      const at::Tensor there = expected[r].gt(kLogOfNothing / 2), weights = at::randn({expected[r].size(0)}, at::kDouble);
      EXPECT_TRUE(got[r].gt(kLogOfNothing / 2).equal(there));
      const at::Tensor difference = (got[r].to(at::kDouble) - expected[r]).where(there, 0).abs();
      const at::Tensor size = expected[r].where(there, 0).abs().clamp_min(1);
      EXPECT_LT((difference / size).max().item<double>(), 2e-5) << "result " << r;
      got_total = got_total + (got[r].where(there, 0) * weights.to(at::kFloat)).sum();
      expected_total = expected_total + (expected[r].where(there, 0) * weights).sum();
    }
    if (!got_total.requires_grad()) return;
    got_total.backward();
    expected_total.backward();
    const at::Tensor gradient = fused.anchors.grad().to(at::kDouble), exact = dense.anchors.grad();
    EXPECT_LT((gradient - exact).norm().item<double>(), 1e-4 * std::max(exact.norm().item<double>(), 1e-3));
  }

  Rows fused, dense;
};

TEST_P(FusedSums, LogSums) {
  const std::vector<PairSum> requests = {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}, {PairSet::kOthers, 2}, {PairSet::kUnequal, -0.5}};
  compare(log_sums(fused, requests), log_sums(dense, requests));
}

TEST_P(FusedSums, LogSumsWithoutKeptScores) {
  fused.memory_budget = 4 << 20;
  compare(log_sums(fused, {{PairSet::kUnequal, 1}}), log_sums(dense, {{PairSet::kUnequal, 1}}));
}

TEST_P(FusedSums, EqualSetAlone) { compare(log_sums(fused, {{PairSet::kEqual, 1}}), log_sums(dense, {{PairSet::kEqual, 1}})); }

TEST_P(FusedSums, LogAddSums) {
  const at::Tensor values = at::randn({GetParam().n}, at::kDouble);
  for (const LogAdd term : {LogAdd{PairSet::kEqual, -1, 0.25}, LogAdd{PairSet::kUnequal, 1, 0}, LogAdd{PairSet::kEqual, -1, INFINITY}}) {
    fused.sorted.reset();  // one graph for each backward pass
    fused.anchors.mutable_grad() = at::Tensor();
    dense.anchors.mutable_grad() = at::Tensor();
    const at::Tensor c = values.to(at::kFloat).requires_grad_(true), exact_c = values.to(at::kFloat).to(at::kDouble).requires_grad_(true);
    compare({log_add_sums(fused, c, term)}, {log_add_sums(dense, exact_c, term)});
    EXPECT_LT((c.grad() - exact_c.grad()).norm().item<double>(), 1e-4 * std::max(1.0, exact_c.grad().norm().item<double>()));
  }
}

TEST_P(FusedSums, RankedLogSums) {
  const int64_t n = GetParam().n;
  const at::Tensor log_weight = at::linspace(0.1, 1.0, n, at::kDouble).log(), falling = log_weight.flip(0).clone();
  const std::vector<RankedSum> requests = {{log_weight, 1}, {falling, 0.5}};
  compare(ranked_log_sums(fused, requests), ranked_log_sums(dense, requests));
}

TEST_P(FusedSums, RankedLogSumsSortedTwice) {
  fused.memory_budget = 4 << 20;  // from n = 1024 on, no order is kept
  const at::Tensor log_weight = at::linspace(0.1, 1.0, GetParam().n, at::kDouble).log();
  compare(ranked_log_sums(fused, {{log_weight, 1}}), ranked_log_sums(dense, {{log_weight, 1}}));
}

INSTANTIATE_TEST_SUITE_P(Shapes, FusedSums,
                         testing::Values(PairShape{1, 3, 1, 0.5}, PairShape{2, 1, 2, 0.5}, PairShape{7, 5, 3, 0.1},
                                         PairShape{255, 16, 128, 0.5}, PairShape{256, 17, 10, 0.07}, PairShape{257, 128, 10, 0.5},
                                         PairShape{300, 8, 1, 0.2}, PairShape{515, 33, 1000000, 0.1}, PairShape{600, 64, 4, 0.02},
                                         PairShape{300, 20, 5, 0.005}, PairShape{64, 1030, 8, 0.3},
                                         PairShape{1800, 12, 700, 0.5}));  // more than the least budget keeps

TEST(FusedSumsTies, ShareTheLargestRank) {  // identical rows: all ranks are N
  Rows rows = {.anchors = at::ones({6, 2}, at::kFloat) / std::sqrt(2.0), .group = integers({0, 0, 1, 1, 2, 2}), .temperature = 0.5};
  const at::Tensor log_weight = at::tensor({5.0, 6.0, 7.0, 0.5}, at::kDouble);
  const auto sums = ranked_log_sums(rows, {{log_weight, 1}});
  for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(sums[0][i].item<double>(), 0.5 + 2 + std::log(4), 1e-5);
}

TEST(FusedSumsThreads, DecideNothing) {
  const int before = at::get_num_threads();
  const at::Tensor z = random_embeddings(701, 1, 48, 3).squeeze(1).to(at::kFloat), c = at::randn({701});
  const at::Tensor group = at::arange(701) % 9;
  std::vector<std::vector<at::Tensor>> outcomes;
  for (int run = 0; run < 20; ++run) {
    at::set_num_threads(1 + run % 2);
    const at::Tensor leaf = z.clone().requires_grad_(true);
    const Rows rows = {.anchors = leaf, .group = group, .temperature = 0.1, .memory_budget = run % 4 < 2 ? kDefaultMemoryBudget : 4 << 20};
    const auto sums = log_sums(rows, {{PairSet::kUnequal, 1}, {PairSet::kEqual, 2}});
    const at::Tensor terms = log_add_sums(rows, c, {PairSet::kEqual, -1, 0.3});
    const auto ranked = ranked_log_sums(rows, {{at::linspace(-1, 0, 701, at::kDouble), 1}});
    (sums[0] + sums[1] + terms + ranked[0]).sum().backward();
    outcomes.push_back({sums[0], sums[1], terms, ranked[0], leaf.grad()});
    for (size_t i = 0; i < outcomes.back().size(); ++i) {
      EXPECT_TRUE(outcomes.back()[i].equal(outcomes.front()[i])) << "run " << run << ", result " << i;
    }
  }
  at::set_num_threads(before);
}

TEST(FusedSumsErrors, NotANumberStaysOne) {  // a loss of 1e30 would train on
  for (const double temperature : {0.5, 0.005}) {
    at::Tensor z = random_embeddings(5, 2, 3, 1).to(at::kFloat).flatten(0, 1);
    z[3][1] = NAN;
    Rows rows = {.anchors = z, .group = integers({0, 0, 1, 1, 2, 2, 3, 3, 4, 4}), .temperature = temperature};
    EXPECT_TRUE(log_sums(rows, {{PairSet::kUnequal, 1}})[0].isnan().any().item<bool>());
    EXPECT_TRUE(ranked_log_sums(rows, {{at::zeros({8}, at::kDouble), 1}})[0].isnan().any().item<bool>());
  }
}

TEST(FusedSumsErrors, BudgetAndSecondDerivative) {
  const at::Tensor leaf = random_embeddings(5, 2, 3, 1).to(at::kFloat).flatten(0, 1).requires_grad_(true);
  Rows rows = {.anchors = leaf, .group = at::arange(10) / 2, .temperature = 0.5, .memory_budget = 1000};
  rows.group = rows.group.to(at::kLong);
  EXPECT_THROW(log_sums(rows, {{PairSet::kUnequal, 1}}), Error);
  rows.memory_budget = kDefaultMemoryBudget;
  const at::Tensor total = log_sums(rows, {{PairSet::kUnequal, 1}})[0].sum();
  EXPECT_THROW(total.backward({}, true, true), Error);
}

TEST(FusedSumsGroups, ACopyWithOtherGroupsIsAnotherProblem) {
  Rows rows = {
      .anchors = random_embeddings(6, 1, 3, 1).squeeze(1).to(at::kFloat), .group = integers({0, 0, 1, 1, 2, 2}), .temperature = 0.5};
  log_sums(rows, {{PairSet::kEqual, 1}});
  Rows other = rows;
  other.group = integers({0, 1, 2, 0, 1, 2});
  Rows fresh = {.anchors = rows.anchors, .group = other.group, .temperature = 0.5};
  EXPECT_TRUE(log_sums(other, {{PairSet::kEqual, 1}})[0].equal(log_sums(fresh, {{PairSet::kEqual, 1}})[0]));
}

}  // namespace fused_sums_test
}  // namespace debias

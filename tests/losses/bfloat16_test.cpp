// Sums with products in bfloat16 against dense ones in double over the same rounded rows. Scores differ by float32's rounding alone;
// weights are rounded once or twice, each time by up to 2^-9 of themselves. Where the machine has no instruction for it the same calls run
// in float32, and the last test says that they do so without rounding.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "debias/kernels/cpu/bf16_panels.h"
#include "debias/losses/comparison.h"
#include "debias/losses/label_free.h"
#include "debias/losses/over_classes.h"
#include "debias/pairs/pair_sums.h"
#include "tests/support/embeddings.h"
#include "tests/support/pair_shape.h"

namespace debias {
namespace bfloat16_test {

Rows problem(const PairShape& shape, at::ScalarType type) {
  at::manual_seed(shape.n * 31 + shape.dim);
  const at::Tensor z = at::randn({shape.n, shape.dim}, at::kDouble);
  Rows rows;
  rows.anchors = (z / z.norm(2, 1, true).clamp_min(1e-12)).to(at::kBFloat16).to(type).requires_grad_(true);
  rows.group = at::randint(shape.groups, {shape.n}, at::kLong);
  rows.temperature = shape.temperature;
  rows.bfloat16_products = type == at::kFloat;
  return rows;
}

// The value of a random combination of sums that are there, and its gradient.
struct Combined {
  std::vector<at::Tensor> sums;
  at::Tensor gradient;
};

Combined combined(const Rows& rows, const std::vector<PairSum>& requests, bool first_alone = false) {
  Combined found = {log_sums(rows, requests), {}};
  at::manual_seed(5);
  at::Tensor total = at::zeros({}, at::kDouble);
  for (size_t r = 0; r < (first_alone ? 1 : requests.size()); ++r) {
    const at::Tensor &sum = found.sums[r], weights = at::rand({sum.size(0)}, at::kDouble);
    total = total + (sum.to(at::kDouble).where(sum.gt(kLogOfNothing / 2), 0) * weights).sum();
  }
  total.backward();
  found.gradient = rows.anchors.grad().to(at::kDouble).clone();
  return found;
}

void expect_close(const Combined& found, const Combined& exact) {
  for (size_t r = 0; r < exact.sums.size(); ++r) {
    const at::Tensor there = exact.sums[r].gt(kLogOfNothing / 2);
    const at::Tensor difference = (found.sums[r].to(at::kDouble) - exact.sums[r]).where(there, 0).abs();
    EXPECT_LT((difference / exact.sums[r].where(there, 0).abs().clamp_min(1)).max().item<double>(), 2e-5) << "request " << r;
  }
  EXPECT_LT((found.gradient - exact.gradient).norm().item<double>(), 3e-3 * exact.gradient.norm().item<double>());
}

class Bfloat16Products : public testing::TestWithParam<PairShape> {};

TEST_P(Bfloat16Products, OfOneMultiplier) {  // tiles are kept as exponentials
  const std::vector<PairSum> requests = {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}, {PairSet::kOthers, 1}};
  const Combined exact = combined(problem(GetParam(), at::kDouble), requests);
  expect_close(combined(problem(GetParam(), at::kFloat), requests), exact);
}

TEST_P(Bfloat16Products, OfTilesThatBelongToOneSet) {  // as of two views: most tiles hold unequal pairs alone
  const std::vector<PairSum> requests = {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}};
  const Combined exact = combined(problem(GetParam(), at::kDouble), requests);
  expect_close(combined(problem(GetParam(), at::kFloat), requests), exact);
}

TEST_P(Bfloat16Products, OfSeveralMultipliers) {  // as scores
  const std::vector<PairSum> requests = {{PairSet::kUnequal, 1}, {PairSet::kOthers, 2}, {PairSet::kUnequal, -0.5}};
  const Combined exact = combined(problem(GetParam(), at::kDouble), requests);
  expect_close(combined(problem(GetParam(), at::kFloat), requests), exact);
}

TEST_P(Bfloat16Products, KeptTilesChangeNothing) {
  const std::vector<PairSum> one = {{PairSet::kUnequal, 1}}, two = {{PairSet::kOthers, 1}, {PairSet::kUnequal, 2}};
  for (const bool first_alone : {false, true}) {  // then scores are kept and exponentials of one multiplier wanted
    for (const auto& requests : {one, two}) {
      const Rows rows = problem(GetParam(), at::kFloat);
      Rows small = problem(GetParam(), at::kFloat);
      small.memory_budget = 4 << 20;
      const Combined kept = combined(rows, requests, first_alone), formed_again = combined(small, requests, first_alone);
      for (size_t r = 0; r < requests.size(); ++r) EXPECT_TRUE(kept.sums[r].equal(formed_again.sums[r]));
      EXPECT_TRUE(kept.gradient.equal(formed_again.gradient));
    }
  }
}

TEST_P(Bfloat16Products, OfLogAddSums) {
  const at::Tensor c = at::linspace(-1, 1, GetParam().n, at::kDouble);
  for (const PairSet set : {PairSet::kEqual, PairSet::kUnequal}) {
    const Rows rows = problem(GetParam(), at::kFloat), exact = problem(GetParam(), at::kDouble);
    const LogAdd term = {set, -1, 0.25};
    const at::Tensor found = log_add_sums(rows, c.to(at::kFloat), term), sums = log_add_sums(exact, c.to(at::kFloat).to(at::kDouble), term);
    EXPECT_LT(((found - sums).abs() / sums.abs().clamp_min(1)).max().item<double>(), 2e-5);
    const at::Tensor gradient = torch::autograd::grad({found.sum()}, {rows.anchors})[0];
    const at::Tensor reference = torch::autograd::grad({sums.sum()}, {exact.anchors})[0];
    EXPECT_LE((gradient - reference).norm().item<double>(), 3e-3 * reference.norm().item<double>());
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Bfloat16Products,
                         testing::Values(PairShape{2, 1, 2, 0.5}, PairShape{7, 5, 3, 0.1}, PairShape{255, 16, 128, 0.5},
                                         PairShape{257, 128, 10, 0.5}, PairShape{515, 33, 1000000, 0.1}, PairShape{600, 64, 4, 0.02},
                                         PairShape{300, 20, 5, 0.005}, PairShape{64, 1030, 8, 0.3},
                                         PairShape{1800, 12, 700, 0.5}));  // more than the least budget keeps

TEST(Bfloat16Threads, DecideNothing) {
  const int before = at::get_num_threads();
  const at::Tensor z = random_embeddings(950, 2, 48, 3).to(at::kFloat), labels = at::arange(950) % 9;
  std::vector<at::Tensor> outcomes;
  for (int run = 0; run < 20; ++run) {
    at::set_num_threads(1 + run % 2);
    const at::Tensor leaf = z.clone().requires_grad_(true);
    ObjectiveInput input = {.z = leaf,
                            .labels = labels,
                            .memory_budget = run % 4 < 2 ? kDefaultMemoryBudget : 4 << 20,  // kept, and not
                            .bfloat16_products = true};
    const at::Tensor pairs = infonce(input, InfoNceOptions()).value, classes = supcon(input, SupConOptions()).value;
    (pairs + classes).backward();
    outcomes.push_back(at::cat({pairs.detach().view(1), classes.detach().view(1), leaf.grad().flatten()}));
    EXPECT_TRUE(outcomes.back().equal(outcomes.front())) << "run " << run;
  }
  at::set_num_threads(before);
}

// Rows in bfloat16 and the same values in float32: products are rounded for the first alone, and there only on machines that gain by it.
TEST(Bfloat16Rows, AloneAreMultipliedInIt) {
  const at::Tensor z = random_embeddings(300, 2, 40, 3).to(at::kBFloat16), labels = at::arange(300) % 9;
  for (const bool by_class : {false, true}) {
    const auto gradient = [&](const at::Tensor& rows, bool allowed) {
      const at::Tensor leaf = rows.clone().requires_grad_(true);
      const ObjectiveInput input = {.z = leaf, .labels = labels, .bfloat16_products = allowed};
      (by_class ? supcon(input, SupConOptions()) : infonce(input, InfoNceOptions())).value.backward();
      return leaf.grad();
    };
    const at::Tensor single = gradient(z.to(at::kFloat), false), allowed = gradient(z.to(at::kFloat), true), given = gradient(z, false);
    EXPECT_EQ(single.equal(allowed), !kernels::cpu::bf16::available());
    EXPECT_TRUE(allowed.to(at::kBFloat16).equal(given));
    EXPECT_LT((single - allowed).norm().item<double>(), 3e-3 * single.norm().item<double>());
  }
}

}  // namespace bfloat16_test
}  // namespace debias

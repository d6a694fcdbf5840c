// Blocks of anchors against the dense composition in double: the same sums and gradients, square and with keys, whether or not the keys
// hold the anchors, over sizes that straddle blocks and temperatures on both sides of the one-shift rule.
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "debias/pairs/pair_sums.h"
#include "debias/pairs/row_blocks.h"
#include "tests/support/embeddings.h"
#include "tests/support/finite_differences.h"
#include "tests/support/pair_shape.h"

namespace debias {
namespace blocked_sums_test {

enum class Keys { kNone, kOthers, kAnchorsAmongThem };

at::Tensor unit(const at::Tensor& z) { return z / z.norm(2, -1, true).clamp_min(1e-12); }

class BlockedSums : public testing::TestWithParam<std::tuple<PairShape, Keys>> {
 protected:
  Rows problem(Engine engine, at::ScalarType type = at::kDouble) const {
    const auto& [shape, keys] = GetParam();
    at::manual_seed(shape.n * 31 + shape.dim);
    const at::Tensor z = unit(at::randn({shape.n, shape.dim}, at::kDouble)),
                     more = unit(at::randn({shape.n / 2 + 3, shape.dim}, at::kDouble));
    const at::Tensor group = at::randint(shape.groups, {shape.n}, at::kLong),
                     more_group = at::randint(shape.groups, {more.size(0)}, at::kLong);
    Rows rows = {.anchors = z.to(type).clone().requires_grad_(true), .group = group, .temperature = shape.temperature, .engine = engine};
    rows.engines = std::make_shared<EngineRecord>();
    if (keys == Keys::kNone) return rows;
    const bool among = keys == Keys::kAnchorsAmongThem;
    rows.keys = (among ? at::cat({more, z}) : more).to(type).requires_grad_(true);
    rows.key_group = among ? at::cat({more_group, group}) : more_group;
    if (among) rows.self = more.size(0);
    return rows;
  }

  // sums(rows) -> results. Compares them and the gradients of one random combination.
  template <class Sums>
  void compare(const Sums& sums) const {
    for (const auto type : {at::kDouble, at::kFloat}) {
      const Rows blocked = problem(Engine::kBlocked, type);
      Rows dense = problem(Engine::kDense);
      if (type == at::kFloat) {  // the same rounded rows
        dense.anchors = blocked.anchors.detach().to(at::kDouble).requires_grad_(true);
        if (!dense.square()) dense.keys = blocked.keys.detach().to(at::kDouble).requires_grad_(true);
      }
      const double tolerance = type == at::kDouble ? 1e-12 : 2e-5 * std::max(1.0, 0.05 / std::get<0>(GetParam()).temperature),
                   allowed = type == at::kDouble ? 1e-11 : 1e-3;
      const std::vector<at::Tensor> got = sums(blocked), expected = sums(dense);
      EXPECT_EQ(blocked.engines->engine(), Engine::kBlocked);
      EXPECT_EQ(dense.engines->engine(), Engine::kDense);
      at::Tensor got_total = at::zeros({}, type), expected_total = at::zeros({}, at::kDouble);
      for (size_t r = 0; r < got.size(); ++r) {
        EXPECT_EQ(got[r].scalar_type(), type);
        const at::Tensor there = expected[r].gt(kLogOfNothing / 2), weights = at::randn({expected[r].size(0)}, at::kDouble);
        EXPECT_TRUE(got[r].gt(kLogOfNothing / 2).equal(there)) << "result " << r;
        const at::Tensor difference = (got[r].to(at::kDouble) - expected[r]).where(there, 0).abs();
        EXPECT_LT((difference / expected[r].where(there, 0).abs().clamp_min(1)).max().item<double>(), tolerance) << "result " << r;
        got_total = got_total + (got[r].where(there, 0) * weights.to(type)).sum();
        expected_total = expected_total + (expected[r].where(there, 0) * weights).sum();
      }
      got_total.backward();
      expected_total.backward();
      const auto close = [&](const at::Tensor& gradient, const at::Tensor& exact) {
        EXPECT_LT((gradient.to(at::kDouble) - exact).norm().item<double>(), allowed * std::max(exact.norm().item<double>(), 1e-1));
      };
      close(blocked.anchors.grad(), dense.anchors.grad());
      if (!dense.square()) close(blocked.keys.grad(), dense.keys.grad());
    }
  }
};

TEST_P(BlockedSums, LogSums) {
  compare([](const Rows& rows) {
    return log_sums(rows, {{PairSet::kUnequal, 1}, {PairSet::kEqual, 1}, {PairSet::kOthers, 2}, {PairSet::kUnequal, -0.5}});
  });
}

TEST_P(BlockedSums, LogSumsOfOneSet) {
  for (const PairSet set : {PairSet::kOthers, PairSet::kUnequal, PairSet::kEqual}) {
    compare([&](const Rows& rows) { return log_sums(rows, {{set, 1}}); });
  }
}

TEST_P(BlockedSums, RankedLogSums) {
  const at::Tensor log_weight = at::linspace(0.1, 1.0, 2 * std::get<0>(GetParam()).n + 3, at::kDouble).log(),
                   falling = log_weight.flip(0).clone();
  falling[0] = -INFINITY;
  compare([&](const Rows& rows) { return ranked_log_sums(rows, {{log_weight, 1}, {falling, 0.5}, {log_weight, 2, true}}); });
}

TEST_P(BlockedSums, LogAddSums) {
  for (const LogAdd term : {LogAdd{PairSet::kEqual, -1, 0.25}, LogAdd{PairSet::kUnequal, 1, 0}, LogAdd{PairSet::kOthers, -1, INFINITY}}) {
    std::vector<at::Tensor> gradients;
    compare([&](const Rows& rows) -> std::vector<at::Tensor> {
      at::manual_seed(3);
      at::Tensor c = at::randn({rows.size()}, at::kDouble).to(at::kFloat).to(rows.anchors.scalar_type()).requires_grad_(true);
      c.register_hook([&gradients](const at::Tensor& g) { gradients.push_back(g.to(at::kDouble)); });
      return {log_add_sums(rows, c * 1, term), equal_means(rows)};
    });
    for (size_t i = 0; i + 1 < gradients.size(); i += 2) {
      EXPECT_LT(largest_difference(gradients[i], gradients[i + 1]), 1e-4 * std::max(1.0, gradients[i + 1].abs().max().item<double>()));
    }
  }
}

TEST_P(BlockedSums, SetSizesAreThoseOfTheMasks) {
  const Rows rows = problem(Engine::kDense);
  for (const PairSet set : {PairSet::kOthers, PairSet::kUnequal, PairSet::kEqual}) {
    const at::Tensor counted = excluded(rows, set, 0, rows.size()).logical_not().sum(1).to(at::kDouble);
    EXPECT_TRUE(set_sizes(rows, set).equal(counted));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, BlockedSums,
                         testing::Combine(testing::Values(PairShape{1, 3, 1, 0.5}, PairShape{7, 5, 3, 0.1}, PairShape{257, 12, 10, 0.07},
                                                          PairShape{300, 8, 1, 0.2}, PairShape{1100, 9, 400, 0.5},
                                                          PairShape{600, 16, 4, 0.02}, PairShape{64, 20, 5, 0.005}),
                                          testing::Values(Keys::kNone, Keys::kOthers, Keys::kAnchorsAmongThem)));

TEST(BlockedSumsKeys, ThatAreTheAnchorsAreTheSquareCase) {
  const at::Tensor z = random_embeddings(20, 2, 6, 3);
  Rows square = {.anchors = z, .group = (at::arange(40) % 20), .temperature = 0.2, .engine = Engine::kDense}, keyed = square;
  keyed.keys = square.flat();
  keyed.key_group = square.group;
  keyed.self = 0;
  for (const Engine engine : {Engine::kDense, Engine::kBlocked}) {
    keyed.engine = engine;
    EXPECT_LT(largest_difference(log_sums(keyed, {{PairSet::kUnequal, 1}})[0], log_sums(square, {{PairSet::kUnequal, 1}})[0]), 1e-13);
    EXPECT_LT(largest_difference(equal_sums(keyed), equal_sums(square)), 1e-12);
  }
}

TEST(BlockedSumsKeys, WithoutGradientGetNone) {
  Rows rows = {.anchors = random_embeddings(8, 1, 4, 1).requires_grad_(true),
               .group = at::arange(8),
               .temperature = 0.5,
               .engine = Engine::kBlocked};
  rows.keys = random_embeddings(9, 1, 4, 2).squeeze(1);
  rows.key_group = at::arange(9);
  log_sums(rows, {{PairSet::kUnequal, 1}})[0].sum().backward();
  EXPECT_TRUE(rows.anchors.grad().defined());
  EXPECT_FALSE(rows.keys.grad().defined());
}

// In every engine: a constant sum has its value, and neither takes a gradient nor changes that of the others.
TEST(PairSums, ThatAreConstantHaveNoGradient) {
  const auto gradient = [](Engine engine, at::ScalarType type, const std::vector<PairSum>& requests) {
    Rows rows = {.anchors = random_embeddings(8, 1, 4, 1).to(type).requires_grad_(true),
                 .group = at::arange(8) % 3,
                 .temperature = 0.5,
                 .engine = engine};
    const std::vector<at::Tensor> sums = log_sums(rows, requests);
    if (requests.size() > 1) {
      EXPECT_EQ(sums[1].requires_grad(), !requests[1].constant);
    }
    at::Tensor total = at::zeros({}, type);
    for (const auto& sum : sums) total = total + sum.sum();
    total.backward();
    return rows.anchors.grad();
  };
  for (const auto& [engine, type] :
       {std::pair(Engine::kDense, at::kDouble), {Engine::kBlocked, at::kDouble}, {Engine::kFused, at::kFloat}}) {
    const PairSum negatives{PairSet::kUnequal, 1}, squares{PairSet::kUnequal, 2}, constant_squares{PairSet::kUnequal, 2, true};
    const at::Tensor alone = gradient(engine, type, {negatives});
    EXPECT_LT(largest_difference(gradient(engine, type, {negatives, constant_squares}), alone), 1e-6);
    EXPECT_GT(largest_difference(gradient(engine, type, {negatives, squares}), alone), 1e-2);
  }
}

// Where it is said that no row is longer than 1, the blocked engine does not look, and the sums are the same.
TEST(PairSums, OfRowsWithinUnitNeedNoLook) {
  for (const double temperature : {0.5, 0.01}) {  // one shift for all rows, and one for each
    Rows rows = {
        .anchors = random_embeddings(8, 1, 4, 1), .group = at::arange(8) % 3, .temperature = temperature, .engine = Engine::kBlocked};
    const at::Tensor looked = log_sums(rows, {{PairSet::kUnequal, 1}})[0];
    rows.within_unit = true;
    EXPECT_LT(largest_difference(log_sums(rows, {{PairSet::kUnequal, 1}})[0], looked), 1e-10);
  }
}

TEST(BlockedSumsMemory, ASmallBudgetMeansSmallBlocksAndTheSameSums) {
  Rows rows = {.anchors = random_embeddings(90, 1, 4, 1), .group = at::arange(90) % 7, .temperature = 0.5, .engine = Engine::kBlocked};
  const at::Tensor sums = log_sums(rows, {{PairSet::kUnequal, 1}})[0];
  rows.memory_budget = 10 * 90 * 5 * 8;  // ten rows of scores, five times
  EXPECT_LT(largest_difference(log_sums(rows, {{PairSet::kUnequal, 1}})[0], sums), 1e-13);
  for (const auto& [budget, expected] : {std::pair<int64_t, int64_t>{10 * 90 * 5 * 8, 10}, {1, 1}, {kDefaultMemoryBudget, 90}}) {
    int64_t largest = 0;
    rows.memory_budget = budget;
    RowBlocks(rows.flat(), {}, rows).each([&](const RowBlocks::Block& block) { largest = std::max(largest, block.end - block.begin); });
    EXPECT_EQ(largest, expected);
  }
}

TEST(BlockedSumsErrors, NotANumberStaysOneAndTwiceIsRefused) {
  Rows rows = {.anchors = random_embeddings(5, 2, 3, 1), .group = at::arange(10) / 2, .temperature = 0.5, .engine = Engine::kBlocked};
  rows.group = rows.group.to(at::kLong);
  Rows bad = rows;
  bad.anchors = rows.anchors.clone();
  bad.anchors[3][1][0] = NAN;
  EXPECT_TRUE(log_sums(bad, {{PairSet::kUnequal, 1}})[0].isnan().any().item<bool>());
  rows.anchors.requires_grad_(true);
  const at::Tensor total = log_sums(rows, {{PairSet::kUnequal, 1}})[0].sum();
  EXPECT_THROW(total.backward({}, true, true), Error);
}

TEST(EngineChoice, IsByShapeTypeAndSize) {
  Rows rows = {.anchors = at::zeros({10, 4}, at::kFloat), .group = at::arange(10), .temperature = 1};
  EXPECT_EQ(engine_of(rows), Engine::kFused);
  rows.keys = at::zeros({20, 4}, at::kFloat);
  EXPECT_EQ(engine_of(rows), Engine::kDense);
  rows.engine = Engine::kFused;
  EXPECT_THROW(engine_of(rows), Error);
  rows = {.anchors = at::zeros({2000, 1}, at::kDouble), .group = at::arange(2000), .temperature = 1};
  EXPECT_EQ(engine_of(rows), Engine::kBlocked);
  rows.engine = Engine::kDense;
  EXPECT_EQ(engine_of(rows), Engine::kDense);
}

}  // namespace blocked_sums_test
}  // namespace debias

// Gathered rows under every registered objective: the loss of each rank is that of one process, and the gradients of the own rows, put
// together, are its gradient, byte for byte.
#include "debias/ranks/ranks.h"

#include <ATen/ATen.h>

#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "tests/ranks/threads.h"
#include "tests/support/embeddings.h"

namespace debias {
namespace gather_rows_test {

constexpr int64_t kRows = 14;

class GatheredRows : public testing::TestWithParam<std::string> {
 protected:
  const ObjectiveEntry& entry() const { return find_entry(objective_registry(), GetParam(), "objective"); }

  at::Tensor embeddings() const {
    if (entry().kind == InputKind::kLogits) {
      at::manual_seed(4);
      return at::randn({kRows, 4}, at::kFloat);
    }
    return random_embeddings(kRows, 2, 8, 3).to(at::kFloat);
  }

  at::Tensor loss(const at::Tensor& z) const {
    ObjectiveInput input = {
        .z = z, .labels = at::arange(kRows, at::kLong).remainder(3), .bias = at::arange(kRows, at::kLong).div(2, "floor").remainder(2)};
    if (entry().needs_bias_features)
      input.weights = at::sin(at::arange(kRows * 3, at::kFloat)).view({kRows, 3}) + 1.1;  // on ranks' threads
    return (*entry().make(parse_yaml("{}", "term"), {}))(input).value;
  }
};

TEST_P(GatheredRows, HaveTheLossAndTheGradientOfOneProcess) {
  const at::Tensor z = embeddings();
  const at::Tensor whole = z.clone().requires_grad_();
  const at::Tensor expected = loss(whole);
  expected.backward();
  for (const int64_t W : {2, 3}) {
    on_ranks(W, [&](const Ranks& ranks) {
      const RowRange share = ranks.share_of(kRows);
      at::Tensor own = z.slice(0, share.begin, share.end).clone().requires_grad_();
      const at::Tensor found = loss(gather_rows(own, kRows, ranks));
      found.backward();
      EXPECT_TRUE(found.equal(expected)) << W;
      EXPECT_TRUE(ranks.gather_rows(own.grad(), kRows).equal(whole.grad())) << W;
    });
  }
}

std::vector<std::string> all_objectives() {
  std::vector<std::string> names;
  for (const auto& entry : objective_registry()) names.push_back(entry.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, GatheredRows, testing::ValuesIn(all_objectives()), [](const auto& test) { return test.param; });

TEST(GatherRows, LeavesRowsThatNothingReadsWithoutAGradient) {
  on_ranks(2, [](const Ranks& ranks) {
    at::Tensor own = at::ones({2, 3}).requires_grad_(), other = at::ones({2, 3}).requires_grad_();
    const at::Tensor rows = gather_rows(own, 4, ranks), unread = gather_rows(other, 4, ranks);
    rows.sum().backward();
    EXPECT_TRUE(own.grad().defined());
    EXPECT_FALSE(other.grad().defined());
  });
}

}  // namespace gather_rows_test
}  // namespace debias

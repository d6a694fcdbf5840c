// Against counting pairs, and by hand.
#include "debias/evaluate/protocols/macro_auc.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace macro_auc_test {

// Cosines with the anchor (1, 0): 0.8, 0.6, 0.6, 0, -1.
at::Tensor gallery() { return at::tensor({0.8f, 0.6f, 0.6f, 0.8f, 3.f, 4.f, 0.f, 2.f, -1.f, 0.f}).view({5, 2}); }
AucAnchors anchor(int64_t label, int64_t own = kUnknown) { return {at::tensor({7.f, 0.f}).view({1, 2}), {label}, {own}}; }

TEST(MacroAuc, HandExampleWithATie) {
  // Positives 0.8, 0.6; negatives 0.6, 0, -1: of 6 pairs 5 are right and one is a tie.
  EXPECT_NEAR(macro_auc(gallery(), {1, 1, 0, 0, 0}, anchor(1)).value, 5.5 / 6, 1e-12);
  EXPECT_NEAR(macro_auc(gallery(), {0, 0, 0, 0, 1}, anchor(1)).value, 0, 1e-12);
  EXPECT_NEAR(macro_auc(gallery(), {1, 0, 0, 0, 0}, anchor(1)).value, 1, 1e-12);
}

TEST(MacroAuc, TheAnchorItselfAndUnknownLabelsAreLeftOut) {
  EXPECT_NEAR(macro_auc(gallery(), {1, 0, 1, 0, kUnknown}, anchor(1, 0)).value, 1.5 / 2, 1e-12);  // 0.6 against 0.6 and 0
  EXPECT_NEAR(macro_auc(gallery(), {1, 0, 1, 0, kUnknown}, anchor(1)).value, 3.5 / 4, 1e-12);
}

TEST(MacroAuc, AnchorsWithoutAPositiveOrANegativeDoNotCount) {
  const MacroAuc none = macro_auc(gallery(), {0, 0, 0, 0, 0}, anchor(1));
  EXPECT_TRUE(std::isnan(none.value));
  EXPECT_EQ(none.anchors, 0);
  EXPECT_EQ(macro_auc(gallery(), {1, 1, 1, 1, 1}, anchor(1)).anchors, 0);
}

TEST(MacroAuc, EqualsCountingPairs) {
  Random random({.domain = RngDomain::kTest, .seed = 4});
  const int64_t N = 70, A = 67;  // two blocks of anchors
  at::Tensor rows = at::empty({N, 3}, at::kFloat);
  for (int64_t i = 0; i < N * 3; ++i) rows.mutable_data_ptr<float>()[i] = static_cast<float>(random.below(4) + 1);  // with ties
  std::vector<int64_t> labels, own;
  for (int64_t i = 0; i < N; ++i) labels.push_back(random.below(4));
  for (int64_t i = 0; i < A; ++i) own.push_back(i);
  const at::Tensor z = rows / at::linalg_vector_norm(rows, 2, {1}, true), c = at::mm(z.narrow(0, 0, A), z.t());
  double total = 0;
  for (int64_t a = 0; a < A; ++a) {
    double wins = 0, pairs = 0;
    for (int64_t p = 0; p < N; ++p) {
      for (int64_t n = 0; n < N; ++n) {
        if (p == a || labels[p] != labels[a] || labels[n] == labels[a]) continue;
        const float positive = c[a][p].item<float>(), negative = c[a][n].item<float>();
        wins += positive > negative ? 1 : positive == negative ? 0.5 : 0;
        ++pairs;
      }
    }
    total += wins / pairs;
  }
  const MacroAuc found = macro_auc(rows, labels, {rows.narrow(0, 0, A), {labels.begin(), labels.begin() + A}, own});
  EXPECT_EQ(found.anchors, A);
  EXPECT_NEAR(found.value, total / A, 2e-4);  // products of other shapes may round near-ties otherwise
}

TEST(MacroAuc, RefusesWhatDoesNotFit) {
  EXPECT_EQ(data_error_of([] { macro_auc(gallery(), {0, 1}, anchor(1)); }), "macro_auc: 5 rows and 2 labels; give one label per row");
  const AucAnchors wide{at::ones({1, 3}), {1}, {kUnknown}};
  EXPECT_EQ(data_error_of([&] {
              macro_auc(gallery(), {0, 1, 0, 1, 0}, wide);
            }),
            "macro_auc: anchors of width 3 and 1 places, a gallery of width 2; use one encoder for both");
  at::Tensor bad = gallery();
  bad[1][1] = NAN;
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [&] {
                       macro_auc(bad, {0, 1, 0, 1, 0}, anchor(1));
                     }),
            "macro_auc: a row is not finite; check the encoder's weights");
}

TEST(MacroAucProtocol, IsOneOnASeparableToyAndFollowsItsOptions) {
  const EvaluationInput input = toy_input();
  const EvaluationResult result = evaluated(input, "macro_auc", "{anchors: 20}");
  EXPECT_EQ(result.metrics.at("train.macro_auc"), 1);
  EXPECT_EQ(result.metrics.at("test.macro_auc"), 1);
  EXPECT_EQ(details(result)["anchors"]["train"], 20);
  EXPECT_EQ(details(evaluated(input, "macro_auc"))["anchors"]["test"], 31);
  EvaluationInput noisy = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int64_t i = 0; i < 60; i += 2) train->set_label(i, (i / 2) % 3);
  noisy.train = train;
  const double seed1 = evaluated(noisy, "macro_auc", "{anchors: 5, seed: 1}").metrics.at("train.macro_auc");
  EXPECT_LT(seed1, 1);
  EXPECT_NE(evaluated(noisy, "macro_auc", "{anchors: 5, seed: 2}").metrics.at("train.macro_auc"), seed1);
}

}  // namespace macro_auc_test
}  // namespace debias

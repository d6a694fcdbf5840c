#include "debias/losses/neighbours.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>

#include "tests/support/refusals.h"

namespace debias {
namespace neighbours_test {

// The 5 x 5 scores of the published figures; what stands on the diagonal must not matter.
at::Tensor published_scores() {
  return at::tensor({9.0, 1.0, .2, -.5, .3, .7, -9.0, .9, .1, -.2, 0.0, .4, 3.0, 1.2, .6, -.1, .2, .8, -4.0, 1.1, .5, -.3, .1, .9, 77.0},
                    at::kDouble)
      .view({5, 5});
}

NeighbourOptions options(double tau_plus, NeighbourNegatives denominator, int64_t context = 1) {
  return NeighbourOptions().tau_plus(tau_plus).denominator(denominator).context(context);
}

double loss_of(const at::Tensor& scores, const NeighbourOptions& given) { return neighbour_loss(scores, given).value.item<double>(); }

TEST(Neighbours, HaveThePublishedValues) {
  EXPECT_NEAR(loss_of(published_scores(), options(0, NeighbourNegatives::kOfficial)), 1.1400224, 1e-7);
  EXPECT_NEAR(loss_of(published_scores(), options(.01, NeighbourNegatives::kNegatives)), 0.7383943, 1e-7);
  EXPECT_NEAR(loss_of(published_scores(), options(0, NeighbourNegatives::kNegatives)), 0.7448050, 1e-7);
}

// The formula of the header, a pair at a time.
double naive_loss(const at::Tensor& scores, const NeighbourOptions& given) {
  const int64_t B = scores.size(0), c = given.context();
  const auto s = [&](int64_t i, int64_t j) { return scores[i][j].item<double>(); };
  double total = 0;
  for (int64_t i = 0; i < B; ++i) {
    std::vector<int64_t> positives;
    for (int64_t j = std::max<int64_t>(0, i - c); j <= std::min(B - 1, i + c); ++j) {
      if (j != i) positives.push_back(j);
    }
    double mean = 0;
    for (const int64_t p : positives) mean += std::exp(s(i, p)) / static_cast<double>(positives.size());
    for (const int64_t p : positives) {
      double sum = 0, N = 0;
      for (int64_t j = 0; j < B; ++j) {
        const bool is_positive = std::count(positives.begin(), positives.end(), j) > 0;
        if (given.denominator() == NeighbourNegatives::kNegatives ? (j == i || is_positive) : j == p) continue;
        sum += std::exp(j == i ? 0 : s(i, j));
        ++N;
      }
      const double ng = std::max(0.0, (sum - given.tau_plus() * N * mean) / (1 - given.tau_plus()));
      total += (std::log(std::exp(s(i, p)) + ng) - s(i, p)) / static_cast<double>(positives.size());
    }
  }
  return total / static_cast<double>(B);
}

TEST(Neighbours, AreTheFormulaInBothDenominators) {
  for (const int64_t B : {4, 5, 17}) {
    const at::Tensor scores = (at::arange(B * B, at::kDouble) * 1.37).sin().view({B, B}) * 3;
    for (const auto denominator : {NeighbourNegatives::kNegatives, NeighbourNegatives::kOfficial}) {
      for (const double tau : {0.0, .005, .1, .4}) {
        for (const int64_t context : {1, 2}) {
          const NeighbourOptions given = options(tau, denominator, context);
          EXPECT_NEAR(loss_of(scores, given), naive_loss(scores, given), 1e-9) << B << " " << tau << " " << context;
        }
      }
    }
  }
}

TEST(Neighbours, HaveTheGradientsOfFiniteDifferences) {
  at::Tensor scores = published_scores().clone().set_requires_grad(true);
  for (const auto denominator : {NeighbourNegatives::kNegatives, NeighbourNegatives::kOfficial}) {
    const NeighbourOptions given = options(.1, denominator);
    const at::Tensor gradient = torch::autograd::grad({neighbour_loss(scores, given).value}, {scores})[0];
    const at::NoGradGuard no_grad;
    for (int64_t k = 0; k < 25; ++k) {
      const double step = 1e-6;
      at::Tensor above = scores.detach().clone(), below = above.clone();
      above.view({-1})[k] += step;
      below.view({-1})[k] -= step;
      EXPECT_NEAR(gradient.view({-1})[k].item<double>(), (loss_of(above, given) - loss_of(below, given)) / (2 * step), 1e-8) << k;
    }
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(gradient[i][i].item<double>(), 0);
  }
}

TEST(Neighbours, CountClampedPairsWhichGiveNoGradient) {
  at::Tensor scores = at::zeros({6, 6}, at::kFloat);
  scores[2][1] = 100;  // far above all of its negatives
  scores[2][3] = 100;
  scores.set_requires_grad(true);
  const ObjectiveResult found = neighbour_loss(scores, options(.1, NeighbourNegatives::kNegatives));
  EXPECT_EQ(found.anchors, 10);
  EXPECT_EQ(found.clamped, 2);
  EXPECT_LT(*found.min_estimate, 0);
  EXPECT_LT(found.per_anchor[2].item<double>(), 1e-20);
  const at::Tensor gradient = torch::autograd::grad({found.value}, {scores})[0];
  EXPECT_LT(gradient[2].abs().max().item<double>(), 1e-20);
  EXPECT_GT(gradient[1].abs().max().item<double>(), 0);
}

TEST(Neighbours, StayFiniteAtLargeScores) {
  const at::Tensor scores = ((at::arange(64, at::kFloat) * 0.9).sin() * 3e4).view({8, 8});
  for (const auto denominator : {NeighbourNegatives::kNegatives, NeighbourNegatives::kOfficial}) {
    for (const double tau : {0.0, .01}) {
      at::Tensor own = scores.clone().set_requires_grad(true);
      const ObjectiveResult found = neighbour_loss(own, options(tau, denominator));
      EXPECT_TRUE(std::isfinite(found.value.item<double>()));
      EXPECT_TRUE(at::isfinite(torch::autograd::grad({found.value}, {own})[0]).all().item<bool>());
    }
  }
}

TEST(Neighbours, CountHitsAsPublished) {
  at::Tensor scores = at::full({4, 4}, -1.0);
  scores.fill_diagonal_(50);  // taken as 0, which is above all -1
  scores[0][1] = 2;           // finds the next
  scores[2][1] = 2;           // finds the previous
  scores[3][0] = 2;           // finds neither
  const NeighbourHits hits = neighbour_hits(scores);
  EXPECT_EQ(hits.pairs, 3);
  EXPECT_EQ(hits.next, 1);
  EXPECT_EQ(hits.previous, 1);
  EXPECT_EQ(nearest_is_neighbour(scores), 3);  // row 1, whose own score is left out, has the first of equals: 0
}

TEST(Neighbours, RefuseABatchWithoutNegatives) {
  for (const int64_t B : {1, 2}) {
    usage_error_of([&] { neighbour_loss(at::zeros({B, B}), options(0, NeighbourNegatives::kNegatives)); });
  }
}

}  // namespace neighbours_test
}  // namespace debias

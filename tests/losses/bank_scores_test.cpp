#include "debias/losses/bank_draws.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "tests/support/finite_differences.h"
#include "tests/support/refusals.h"

namespace debias {
namespace bank_scores_test {

struct Problem {
  at::Tensor bank, ids, f;
};

Problem problem(int64_t n, int64_t dim, int64_t anchors, int64_t picks, at::ScalarType type = at::kFloat) {
  const auto wave = [&](at::IntArrayRef shape, double step) {
    return at::sin(at::arange(c10::multiply_integers(shape), at::kDouble) * step).reshape(shape).to(type);
  };
  const at::Tensor ids = at::arange(anchors * picks, at::kLong).mul_(7919).remainder_(n).to(at::kInt).view({anchors, picks});
  return {wave({n, dim}, 0.7), ids, wave({anchors, dim}, 0.3)};
}

// Scores and, for the weights cos(0), cos(1), ... of the scores, the gradient.
template <class Scores>
std::pair<at::Tensor, at::Tensor> evaluated(const Problem& given, const Scores& scores_of) {
  const at::Tensor f = given.f.clone().set_requires_grad(true);
  const at::Tensor scores = scores_of(given.bank, given.ids, f, 0.07);
  (scores * at::cos(at::arange(scores.numel(), scores.options())).view_as(scores)).sum().backward();
  return {scores.detach(), f.grad()};
}

TEST(BankScores, AgreeWithGatheredRows) {
  for (const Problem& given : {problem(1, 1, 1, 1), problem(50, 3, 4, 9), problem(3000, 128, 5, 700)}) {
    const auto [scores, gradient] = evaluated(given, bank_scores);
    const auto [expected, expected_gradient] = evaluated(given, gathered_bank_scores);
    EXPECT_TRUE(at::allclose(scores, expected, 1e-5, 1e-4));
    EXPECT_TRUE(at::allclose(gradient, expected_gradient, 1e-4, 1e-3));
  }
}

TEST(BankScores, GradientIsThatOfFiniteDifferences) {
  const Problem given = problem(40, 5, 3, 6, at::kDouble);
  const auto [scores, gradient] = evaluated(given, bank_scores);
  const at::Tensor weights = at::cos(at::arange(18, at::kDouble)).view({3, 6});
  const at::Tensor numeric = numeric_gradient(
      [&](const at::Tensor& f) { return (bank_scores(given.bank, given.ids, f, 0.07) * weights).sum().item<double>(); }, given.f);
  EXPECT_LT(largest_difference(gradient, numeric), 1e-6);
  const Problem single{given.bank.to(at::kFloat), given.ids, given.f.to(at::kFloat)};
  EXPECT_LT(largest_difference(evaluated(single, bank_scores).second, numeric), 1e-4);
}

TEST(BankScores, AreTheSameBytesOnAnyNumberOfThreads) {
  const Problem given = problem(5000, 128, 7, 900);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const auto [scores, gradient] = evaluated(given, bank_scores);
  for (const int threads : {2, 3, 16}) {
    at::set_num_threads(threads);
    const auto [again, gradient_again] = evaluated(given, bank_scores);
    EXPECT_TRUE(at::equal(again, scores)) << threads;
    EXPECT_TRUE(at::equal(gradient_again, gradient)) << threads;
  }
  at::set_num_threads(before);
}

TEST(BankScores, TakeAnyLayout) {
  const Problem given = problem(50, 4, 6, 6);
  const at::Tensor f = given.f.t().contiguous().t(), ids = given.ids.t().contiguous().t();
  EXPECT_TRUE(at::equal(bank_scores(given.bank, ids, f, 1), bank_scores(given.bank, given.ids, given.f, 1)));
  const Problem turned{given.bank, given.ids, given.f.clone().set_requires_grad(true)};
  bank_scores(turned.bank, turned.ids, turned.f, 1).backward(at::ones({6, 6}).t());
  EXPECT_TRUE(turned.f.grad().defined());
}

TEST(BankScores, ABankChangedBeforeBackwardIsRefused) {
  const Problem given = problem(50, 4, 2, 3);
  const at::Tensor f = given.f.clone().set_requires_grad(true), loss = bank_scores(given.bank, given.ids, f, 1).sum();
  given.bank.select(0, 3).zero_();
  EXPECT_THROW(loss.backward(), c10::Error);
}

std::string refusal(const Problem& given) {
  return data_error_of([&] { bank_scores(given.bank, given.ids, given.f, 1); });
}

TEST(BankScores, WhatDoesNotFitIsRefused) {
  Problem given = problem(50, 4, 2, 3);
  given.ids[1][1] = 50;
  EXPECT_EQ(refusal(given), "bank_scores: ids run from 0 to 50, and the bank has rows 0 to 49");
  given.ids[1][1] = -1;
  EXPECT_EQ(refusal(given).substr(0, 26), "bank_scores: ids run from ");
  EXPECT_EQ(refusal({given.bank, given.ids.to(at::kLong), given.f}), "bank_scores: expected ids in int32 on the CPU, found Long on cpu");
  EXPECT_EQ(refusal({given.bank, given.ids, given.f.narrow(1, 0, 3)}),
            "bank_scores: expected a bank [n, D], ids [B, picks] and anchors [B, D], found [50, 4], [2, 3] and [2, 3]");
}

}  // namespace bank_scores_test
}  // namespace debias

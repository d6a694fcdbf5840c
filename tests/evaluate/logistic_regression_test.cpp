#include "debias/evaluate/logistic_regression.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/golden_folder.h"

namespace debias {
namespace logistic_regression_test {

constexpr int64_t kRows = 2000, kColumns = 40;

// As make_logistic.py makes them.
double hashed_number(uint64_t i, uint64_t j) {
  auto value = static_cast<uint32_t>(i * 7919 + j * 104729 + 12345);
  for (int k = 0; k < 3; ++k) {
    value = (value ^ (value >> 15)) * 0x2c1b3c6du;
    value = (value ^ (value >> 12)) * 0x297a2d39u;
  }
  return value / 4294967296.0 - 0.5;
}

struct Rows {
  at::Tensor x = at::empty({kRows, kColumns}, at::kDouble), y;
  Rows() {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j)
        x.data_ptr<double>()[i * kColumns + j] = hashed_number(static_cast<uint64_t>(i), static_cast<uint64_t>(j));
    }
    x = x / x.norm(2, 1, true);
    at::Tensor truth = at::empty({kColumns}, at::kDouble), noise = at::empty({kRows}, at::kDouble);
    for (int64_t j = 0; j < kColumns; ++j) truth.data_ptr<double>()[j] = hashed_number(kRows + 7, static_cast<uint64_t>(j));
    for (int64_t i = 0; i < kRows; ++i) noise.data_ptr<double>()[i] = 0.3 * hashed_number(static_cast<uint64_t>(i), kColumns + 3);
    y = (x.mv(truth) + noise).gt(0.02).to(at::kDouble).mul(2).sub(1);
  }
};

TEST(LogisticRegression, FindsWhatScikitLearnFinds) {
  const auto golden = nlohmann::json::parse(std::ifstream(golden_folder("logistic") + "/fits.json"));
  const Rows rows;
  ASSERT_EQ(rows.y.gt(0).sum().item<int64_t>(), golden.at("positive").get<int64_t>());
  const LogisticRegression regression(rows.x);
  at::Tensor start;  // each C begins where the one before ended
  for (const auto& fit : golden.at("fits")) {
    const LogisticFits found = regression.fit(rows.y.unsqueeze(1), {fit.at("C").get<double>()}, start);
    start = found.weights;
    EXPECT_EQ(found.unfinished, 0);
    const double objective = fit.at("objective").get<double>();
    EXPECT_NEAR(found.objective[0], objective, 1e-6 * objective) << fit.at("C");
    const at::Tensor decisions = regression.decisions(found.weights).select(1, 0);
    const auto predicted = fit.at("predicted").get<std::string>();
    int64_t alike = 0;
    for (int64_t i = 0; i < kRows; ++i) alike += (decisions[i].item<double>() > 0) == (predicted[static_cast<size_t>(i)] == '1');
    EXPECT_GE(alike, kRows * 999 / 1000) << fit.at("C");
    const LogisticFits exact = regression.fit(rows.y.unsqueeze(1), {fit.at("C").get<double>()}, {}, {.tolerance = 1e-9});
    const at::Tensor weights = at::tensor(fit.at("weights").get<std::vector<double>>(), at::kDouble);
    EXPECT_LT((exact.weights[0] - weights).abs().max().item<double>(), 1e-4 * weights.abs().max().item<double>()) << fit.at("C");
  }
}

TEST(LogisticRegression, FitsManyProblemsAsEachAlone) {
  const Rows rows;
  const LogisticRegression regression(rows.x);
  at::Tensor targets = rows.y.unsqueeze(1).repeat({1, 3});
  targets.select(1, 1).slice(0, 0, 500).zero_();  // left out
  targets.select(1, 2).neg_();
  const std::vector<double> C = {1, 4, 64};
  const LogisticFits together = regression.fit(targets, C, {}, {.tolerance = 1e-8});
  for (int64_t k = 0; k < 3; ++k) {
    const LogisticFits alone =
        regression.fit(targets.slice(1, k, k + 1).contiguous(), {C[static_cast<size_t>(k)]}, {}, {.tolerance = 1e-8});
    EXPECT_LT((together.weights[k] - alone.weights[0]).abs().max().item<double>(), 1e-5) << k;
  }
  const LogisticRegression part(rows.x.slice(0, 500));
  const LogisticFits cut = part.fit(rows.y.slice(0, 500).unsqueeze(1).contiguous(), {4}, {}, {.tolerance = 1e-8});
  EXPECT_LT((together.weights[1] - cut.weights[0]).abs().max().item<double>(), 1e-5);
}

// States of a network: every feature is mostly what all have in common, and the widths along the axes differ a thousandfold.
TEST(LogisticRegression, OfFeaturesThatVaryTogetherTakesFewSteps) {
  const Rows rows;
  const at::Tensor widths = at::logspace(-3, 0, kColumns, 10.0, at::kDouble);
  const at::Tensor mixed = (rows.x * widths).cumsum(1) + 2;
  const LogisticFits found = LogisticRegression(mixed).fit(rows.y.unsqueeze(1), {256});
  EXPECT_EQ(found.unfinished, 0);
  EXPECT_LT(found.evaluations, 100);
}

TEST(LogisticRegression, SaysWhenItIsNotDone) {
  const Rows rows;
  const LogisticFits found = LogisticRegression(rows.x).fit(rows.y.unsqueeze(1), {256}, {}, {.tolerance = 1e-9, .iterations = 3});
  EXPECT_EQ(found.unfinished, 1);
  EXPECT_TRUE(std::isfinite(found.objective[0]));
}

// By hand: one row x = (1, 1) with its constant, y = 1: w1 = w2 = w minimises w^2 + log(1 + e^{-2w}).
TEST(LogisticRegression, HasAProblemOfOneRowByHand) {
  const LogisticFits found = LogisticRegression(at::ones({1, 1})).fit(at::ones({1, 1}, at::kDouble), {1}, {}, {.tolerance = 1e-10});
  const double w = found.weights[0][0].item<double>();
  EXPECT_NEAR(found.weights[0][1].item<double>(), w, 1e-9);
  EXPECT_NEAR(2 * w - 2 / (1 + std::exp(2 * w)), 0, 1e-8);
  EXPECT_NEAR(found.objective[0], w * w + std::log1p(std::exp(-2 * w)), 1e-12);
}

}  // namespace logistic_regression_test
}  // namespace debias

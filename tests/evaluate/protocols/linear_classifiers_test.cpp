// Linear classifiers on features: the probe, logistic regression, and the protocols of both.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/logistic_regression.h"
#include "debias/evaluate/protocols/linear_probe.h"
#include "debias/evaluate/protocols/logistic_regression.h"
#include "tests/evaluate/toy.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace linear_classifiers_test {

Features random_features(int64_t n, int64_t d, int64_t classes) {
  Random random({.domain = RngDomain::kTest, .seed = 9});
  Features features;
  features.values = at::empty({n, d}, at::kFloat);
  for (int64_t i = 0; i < n * d; ++i) features.values.mutable_data_ptr<float>()[i] = static_cast<float>(random.normal());
  for (int64_t i = 0; i < n; ++i) features.labels.push_back(random.below(classes));
  return features;
}

ProbeTraining adam(int64_t epochs, double learning_rate = 1e-3, double weight_decay = 0) {
  Config optimizer = Config::map(
      {{"name", Config::string("adam")}, {"learning_rate", Config::number(learning_rate)}, {"weight_decay", Config::number(weight_decay)}});
  return {"probe", read_optimizer(optimizer), read_schedule(Config()), epochs};
}

TEST(SoftmaxRegression, GradientsEqualAutograds) {
  const Features features = random_features(13, 5, 4);
  const at::Tensor y = at::tensor(features.labels, at::kLong);
  SoftmaxRegression model(5, 4, 1);
  const double loss = model.set_gradients(features.values, y);

  const auto parameters = model.parameters();
  const at::Tensor weight = parameters[0].to(at::kDouble).requires_grad_(), bias = parameters[1].to(at::kDouble).requires_grad_();
  const at::Tensor expected = at::cross_entropy_loss(at::addmm(bias, features.values.to(at::kDouble), weight.t()), y);
  expected.backward();
  EXPECT_NEAR(loss, expected.item<double>(), 1e-6);
  EXPECT_TRUE(at::allclose(parameters[0].grad().to(at::kDouble), weight.grad(), 1e-5, 1e-7));
  EXPECT_TRUE(at::allclose(parameters[1].grad().to(at::kDouble), bias.grad(), 1e-5, 1e-7));
}

TEST(SoftmaxRegression, StartsAsTorchsLinearDoesFromItsSeedAlone) {
  const auto first = SoftmaxRegression(400, 10, 1).parameters(), again = SoftmaxRegression(400, 10, 1).parameters(),
             other = SoftmaxRegression(400, 10, 2).parameters();
  EXPECT_TRUE(at::equal(first[0], again[0]));
  EXPECT_FALSE(at::equal(first[0], other[0]));
  EXPECT_LE(first[0].abs().max().item<double>(), 0.05);                    // 1 / sqrt(400)
  EXPECT_NEAR(first[0].std().item<double>(), 0.05 / std::sqrt(3), 0.001);  // of a uniform distribution; 4000 draws
}

// With Adam's first step the running means are (1 - beta) g, and the bias corrections undo the factor: the step is lr g / (|g| + eps).
TEST(TrainProbe, OneAdamStepIsTheClosedForm) {
  const Features features = random_features(13, 5, 4);
  SoftmaxRegression model(5, 4, 1);
  const double weight_decay = 0.3, learning_rate = 1e-2;
  const at::Tensor before = model.parameters()[0].to(at::kDouble);
  model.set_gradients(features.values, at::tensor(features.labels, at::kLong));
  const at::Tensor gradient = model.parameters()[0].grad().to(at::kDouble) + weight_decay * before;
  train_probe(model, stored_batches(features, 100, 1), adam(1, learning_rate, weight_decay), nullptr, Progress::silent());
  const at::Tensor expected = before - learning_rate * gradient / (gradient.abs() + 1e-8);
  EXPECT_TRUE(at::allclose(model.parameters()[0].to(at::kDouble), expected, 1e-5, 1e-6));
}

TEST(TrainProbe, ALossThatIsNotFiniteIsANumericError) {
  Features features = random_features(13, 5, 4);
  features.values.mul_(1e38);
  SoftmaxRegression model(5, 4, 1);
  const auto train = [&] { train_probe(model, stored_batches(features, 4, 1), adam(2), nullptr, Progress::silent()); };
  EXPECT_THAT(error_of(ErrorKind::kNumeric, train), testing::HasSubstr("lower learning_rate"));
}

TEST(StoredBatches, VisitEachLabelledRowOncePerEpochInAnOrderOfTheirOwn) {
  Features features = random_features(11, 1, 3);
  for (int64_t i = 0; i < 11; ++i) features.values[i][0] = static_cast<float>(i);
  features.labels[3] = features.labels[10] = kUnknown;
  const ProbeBatches batches = stored_batches(features, 4, 1);
  std::vector<std::vector<int64_t>> epochs;
  for (const int64_t epoch : {0, 1, 0}) {
    std::vector<int64_t> sizes, rows;
    batches(epoch, [&](const at::Tensor& x, const at::Tensor& y) {
      sizes.push_back(x.size(0));
      for (int64_t i = 0; i < x.size(0); ++i) {
        rows.push_back(static_cast<int64_t>(x[i][0].item<float>()));
        EXPECT_EQ(y[i].item<int64_t>(), features.labels[rows.back()]);
      }
    });
    EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4, 1}));
    epochs.push_back(rows);
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, (std::vector<int64_t>{0, 1, 2, 4, 5, 6, 7, 8, 9}));
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(epochs[0], epochs[2]);
}

TEST(EncodedBatches, OfUnchangedViewsEqualTheStoredOnes) {
  const auto data = std::make_shared<ToyDataset>(23, 3);
  data->set_label(5, kUnknown);
  ToyEncoder encoder;
  encoder.eval();
  const ViewPipeline views = eval_views(ChosenViews(), data->info());
  const Features features = extract_features(encoder, data, views, ExtractOptions{.workers = 0}, Progress::silent());
  const auto weights = [&](const ProbeBatches& batches) {
    SoftmaxRegression model(6, 3, 4);
    train_probe(model, batches, adam(3), nullptr, Progress::silent());
    return model.parameters()[0];
  };
  const at::Tensor stored = weights(stored_batches(features, 5, 4));
  EXPECT_TRUE(at::allclose(weights(encoded_batches(encoder, data, views, 5, 0, Precision::kFp32, 4)), stored, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(weights(encoded_batches(encoder, data, views, 5, 2, Precision::kFp32, 4)), stored, 1e-5, 1e-6));
  EXPECT_FALSE(at::allclose(weights(stored_batches(features, 5, 5)), stored, 1e-5, 1e-6));
}

TEST(EncodedBatches, NameTheSampleWhoseFeatureIsNotFinite) {
  const auto data = std::make_shared<ToyDataset>(2, 2);
  data->set_label(0, kUnknown);  // leaves sample 1 alone
  ToyEncoder encoder;
  encoder.poison = NAN;
  const ProbeBatches batches = encoded_batches(encoder, data, eval_views(ChosenViews(), data->info()), 5, 0, Precision::kFp32, 1);
  EXPECT_THAT(error_of(ErrorKind::kNumeric, [&] { batches(0, [](const at::Tensor&, const at::Tensor&) {}); }),
              testing::HasSubstr("(toy/1.png)"));
}

// scikit-learn's figures (check_logistic_with_sklearn.py), the gradient at the end, and fits that are cut short.

struct Drawn {
  at::Tensor rows;
  std::vector<int64_t> labels;
};

// Rows of check_logistic_with_sklearn.py, number for number: scales differ by 256, and all lie far from the origin.
Drawn drawn_rows(int64_t count, int64_t dim, int64_t classes) {
  uint64_t state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>((state >> 33) % 1024);
  };
  Drawn drawn{at::empty({count, dim}, at::kFloat), {}};
  float* value = drawn.rows.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % classes;
    drawn.labels.push_back(label);
    for (int64_t d = 0; d < dim; ++d) {
      const double first = next() / 256, second = next() / 256;
      const double raised = label % dim == d ? 2.0 + static_cast<double>(label / dim) : 0.0;
      *value++ = static_cast<float>(50 + static_cast<double>(1 << (2 * (d % 5))) * (first + second + raised));
    }
  }
  return drawn;
}

std::vector<int64_t> first_of(const std::vector<int64_t>& values, int64_t count) { return {values.begin(), values.begin() + count}; }

struct SklearnCase {
  int64_t count, dim, classes;
  double l2, objective, accuracy;
};

class LogisticAgainstSklearn : public testing::TestWithParam<SklearnCase> {};

TEST_P(LogisticAgainstSklearn, TheMinimumAndTheAccuracyOnOtherRowsAreItsOwn) {
  const SklearnCase& known = GetParam();
  const Drawn drawn = drawn_rows(2 * known.count, known.dim, known.classes);
  const LogisticFit fit = fit_logistic_regression(drawn.rows.narrow(0, 0, known.count), first_of(drawn.labels, known.count), known.classes,
                                                  {.l2 = known.l2}, Progress::silent());
  EXPECT_TRUE(fit.converged);
  EXPECT_LE(fit.gradient, 1e-5);
  EXPECT_NEAR(fit.objective, known.objective, 1e-6);
  const std::vector<int64_t> predicted = predicted_classes(fit.logits(drawn.rows.narrow(0, known.count, known.count)));
  int64_t right = 0;
  for (int64_t i = 0; i < known.count; ++i) right += predicted[i] == drawn.labels[known.count + i];
  EXPECT_NEAR(static_cast<double>(right) / static_cast<double>(known.count), known.accuracy, 1.5 / static_cast<double>(known.count));
}

INSTANTIATE_TEST_SUITE_P(Rows, LogisticAgainstSklearn,
                         testing::Values(SklearnCase{200, 3, 2, 1.0, 0.417084764, 0.805},
                                         SklearnCase{1400, 8, 5, 1.0, 1.122156392, 0.5535714285714286},
                                         SklearnCase{3000, 16, 10, 0.01, 1.656955244, 0.41}));

TEST(LogisticRegression, IsTheSameForAnyNumberOfThreads) {
  const Drawn drawn = drawn_rows(2000, 4, 3);
  const auto fitted = [&](int threads) {
    at::set_num_threads(threads);
    return fit_logistic_regression(drawn.rows, drawn.labels, 3, {}, Progress::silent()).weight;
  };
  const int before = at::get_num_threads();
  const at::Tensor one = fitted(1), three = fitted(3);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(one, three));
}

TEST(LogisticRegression, SaysWhenItHasNotConverged) {
  const Drawn drawn = drawn_rows(300, 4, 3);
  const LogisticFit cut = fit_logistic_regression(drawn.rows, drawn.labels, 3, {.iterations = 2}, Progress::silent());
  EXPECT_FALSE(cut.converged);
  EXPECT_EQ(cut.iterations, 2);
  EXPECT_GT(cut.gradient, 1e-5);
  const LogisticFit whole = fit_logistic_regression(drawn.rows, drawn.labels, 3, {}, Progress::silent());
  EXPECT_LT(whole.objective, cut.objective);
}

TEST(LogisticRegression, ADimensionThatDoesNotVaryChangesNothing) {
  const Drawn drawn = drawn_rows(300, 4, 3);
  const at::Tensor wider = at::cat({drawn.rows, at::full({300, 1}, 7.f)}, 1);
  const LogisticFit narrow = fit_logistic_regression(drawn.rows, drawn.labels, 3, {}, Progress::silent());
  const LogisticFit wide = fit_logistic_regression(wider, drawn.labels, 3, {}, Progress::silent());
  EXPECT_TRUE(wide.converged);
  EXPECT_NEAR(wide.objective, narrow.objective, 1e-8);
}

TEST(LogisticRegression, RefusesLengthsThatDifferAndFeaturesThatAreNotFinite) {
  EXPECT_EQ(data_error_of([] {
              fit_logistic_regression(at::ones({3, 2}), {0, 1}, 2, {}, Progress::silent());
            }),
            "logistic regression: 3 rows and 2 classes of rows; give one a row");
  EXPECT_EQ(error_of(ErrorKind::kNumeric,
                     [] {
                       fit_logistic_regression(at::full({2, 2}, NAN), {0, 1}, 2, {}, Progress::silent());
                     }),
            "logistic regression: its loss is nan; check the features");
}

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

}  // namespace linear_classifiers_test
}  // namespace debias

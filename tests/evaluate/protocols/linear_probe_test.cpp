#include "debias/evaluate/protocols/linear_probe.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cmath>

#include "debias/evaluate/eval_views.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace linear_probe_test {

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
  EXPECT_NE(error_of(ErrorKind::kNumeric, train).find("lower learning_rate"), std::string::npos);
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
  EXPECT_NE(error_of(ErrorKind::kNumeric, [&] { batches(0, [](const at::Tensor&, const at::Tensor&) {}); }).find("(toy/1.png)"),
            std::string::npos);
}

}  // namespace linear_probe_test
}  // namespace debias

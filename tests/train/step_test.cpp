#include "debias/train/step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cmath>

#include "debias/core/error.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace {

class PlainEncoder : public Encoder {  // no BatchNorm unless asked for, so that parts of a batch do not interact
 public:
  explicit PlainEncoder(bool batch_norm) {
    linear_ = register_module("linear", torch::nn::Linear(48, 6));
    if (batch_norm) norm_ = register_module("norm", torch::nn::BatchNorm1d(6));
    const at::NoGradGuard no_grad;
    linear_->weight.copy_(at::arange(6 * 48).view({6, 48}).mul(0.37).sin());
    linear_->bias.zero_();
  }
  torch::Tensor forward(const torch::Tensor& images) override {
    const torch::Tensor rows = linear_->forward(images.flatten(1));
    return norm_.is_empty() ? rows : norm_->forward(rows);
  }
  int64_t feature_dim() const override { return 6; }
  Config config() const override { return {}; }

 private:
  torch::nn::Linear linear_{nullptr};
  torch::nn::BatchNorm1d norm_{nullptr};
};

struct Fixture {
  explicit Fixture(bool batch_norm = false, std::optional<int64_t> micro_batch = std::nullopt, Forward order = Forward::kPerView)
      : model{std::make_shared<PlainEncoder>(batch_norm), make_head(Config(), 6, 1)},
        optimizer(model.parameters(), torch::optim::SGDOptions(0.1)),
        step(model, make_terms(read_recipe(small_config("x"))), optimizer, ForwardOptions{order}, micro_batch) {
    model.train(true);
  }

  std::vector<at::Tensor> state() const {
    std::vector<at::Tensor> all;
    for (const auto& [name, tensor] : model.state()) all.push_back(tensor.detach().clone());
    return all;
  }

  Model model;
  torch::optim::SGD optimizer;
  Step step;
};

Batch batch_of(int64_t B) {
  Batch batch;
  batch.images = at::arange(2 * B * 48).mul(0.11).cos().view({2, B, 3, 4, 4}).to(at::kFloat);
  for (int64_t i = 0; i < B; ++i) {
    batch.ids.push_back(100 + i);
    batch.occurrences.push_back(0);
    batch.labels.push_back(i % 3);
    batch.biases.push_back(kUnknown);
  }
  return batch;
}

bool equal(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!at::equal(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

TEST(Step, PartsOfABatchGiveTheGradientOfTheWhole) {
  for (const int64_t micro_batch : {1, 3, 7}) {
    Fixture whole, parts(false, micro_batch);
    const StepReport a = whole.step.run(batch_of(8), 1), b = parts.step.run(batch_of(8), 1);
    EXPECT_NEAR(a.loss, b.loss, 1e-6);
    EXPECT_NEAR(a.grad_norm, b.grad_norm, 1e-5 * a.grad_norm);
    for (size_t i = 0; i < whole.state().size(); ++i) EXPECT_TRUE(at::allclose(whole.state()[i], parts.state()[i], 1e-5, 1e-6));
  }
}

TEST(Step, PartsMoveRunningStatisticsOnceEach) {
  Fixture parts(true, 4);
  parts.step.run(batch_of(8), 1);
  EXPECT_EQ(parts.model.encoder->named_buffers()["norm.num_batches_tracked"].item<int64_t>(), 4);  // two parts, two views
}

TEST(Step, JointAndPerViewDifferOnlyThroughBatchNorm) {
  Fixture joint(false, std::nullopt, Forward::kJoint), per_view;
  EXPECT_NEAR(joint.step.run(batch_of(8), 1).loss, per_view.step.run(batch_of(8), 1).loss, 1e-6);
  Fixture joint_norm(true, std::nullopt, Forward::kJoint), per_view_norm(true);
  Batch batch = batch_of(8);
  batch.images[1].mul_(3);
  EXPECT_GT(std::abs(joint_norm.step.run(batch, 1).loss - per_view_norm.step.run(batch, 1).loss), 1e-4);
}

TEST(Step, ANonFiniteLossNamesTensorAndSamplesAndChangesNothing) {
  Fixture fixture(true);
  fixture.step.run(batch_of(8), 1);
  const auto before = fixture.state();
  Batch batch = batch_of(8);
  batch.images[1][5].fill_(NAN);
  try {
    fixture.step.run(batch, 17);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumeric);
    EXPECT_NE(std::string(error.what()).find("step 17"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("tensor 'images' is not finite for samples 105;"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(equal(before, fixture.state()));
}

TEST(Step, ANonFiniteWeightIsSeenAsFeatures) {
  Fixture fixture;
  {
    const at::NoGradGuard no_grad;
    fixture.model.encoder->parameters()[0].fill_(INFINITY);
  }
  try {
    fixture.step.run(batch_of(4), 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("tensor 'features'"), std::string::npos) << error.what();
  }
}

TEST(Step, TermsAreWeightedAndSummed) {
  const auto loss_of = [](const std::string& objective) {
    Config root = small_config("x");
    root.assign("objective=" + objective);
    Fixture fixture;
    Step step(fixture.model, make_terms(read_recipe(root)), fixture.optimizer, ForwardOptions{}, std::nullopt);
    return step.run(batch_of(8), 1).loss;
  };
  const double a = loss_of("infonce"), b = loss_of("debiased_negatives");
  EXPECT_NEAR(loss_of("[{name: infonce, weight: 0.5}, {name: debiased_negatives, weight: 2, 'on': encoder}]"), 0.5 * a + 2 * b, 1e-5);
}

}  // namespace
}  // namespace debias

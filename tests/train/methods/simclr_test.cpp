#include "debias/train/methods/simclr.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/heads.h"
#include "debias/loader/loader.h"
#include "debias/optim/optimizer.h"
#include "tests/support/refusals.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace simclr_test {

using testing::HasSubstr;

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
  std::string registry_name() const override { return "plain"; }

 private:
  torch::nn::Linear linear_{nullptr};
  torch::nn::BatchNorm1d norm_{nullptr};
};

struct Fixture {
  explicit Fixture(bool batch_norm = false, std::optional<int64_t> micro_batch = std::nullopt, Forward order = Forward::kPerView)
      : Fixture(small_config("x"), batch_norm, micro_batch, order) {}

  explicit Fixture(const Config& root, bool batch_norm = false, std::optional<int64_t> micro_batch = std::nullopt,
                   Forward order = Forward::kPerView)
      : recipe(read_recipe(root)),
        model{std::make_shared<PlainEncoder>(batch_norm), make_no_head(6)},
        optimizers(with_classifier()),
        method(make_simclr({.model = model,
                            .terms = make_terms(recipe, *recipe.train_data.make_images()),
                            .optimizers = optimizers,
                            .forward = ForwardOptions{order},
                            .micro_batch = micro_batch})) {
    model.train(true);
  }

  Optimizers with_classifier() {  // three classes, as batch_of() has
    if (recipe.classifier) model.classifier = std::make_shared<Classifier>(*recipe.classifier, 6, 3, 1);
    return make_optimizers(recipe, model);
  }

  std::vector<at::Tensor> state() const {
    std::vector<at::Tensor> all;
    for (const auto& [name, tensor] : model.state()) all.push_back(tensor.detach().clone());
    return all;
  }

  Recipe recipe;
  Model model;
  Optimizers optimizers;
  std::unique_ptr<Method> method;
};

// The small recipe with another objective, without a head, SGD at 0.1.
Config with_objective(const std::string& objective, const std::string& classifier = "") {
  Config root = small_config("x");
  root.set("head", Config::scalar("none"));
  root.assign("objective=" + objective);
  root.assign("optimizer={name: sgd, learning_rate: 0.1, momentum: 0}");
  if (!classifier.empty()) root.assign("classifier=" + classifier);
  return root;
}

Batch batch_of(int64_t B) {
  Batch batch;
  batch.inputs = {{"images", at::arange(2 * B * 48).mul(0.11).cos().view({2, B, 3, 4, 4}).to(at::kFloat)}};
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

TEST(Simclr, PartsOfABatchGiveTheGradientOfTheWhole) {
  for (const int64_t micro_batch : {1, 3, 7}) {
    Fixture whole, parts(false, micro_batch);
    const StepReport a = whole.method->run(batch_of(8), 1), b = parts.method->run(batch_of(8), 1);
    EXPECT_NEAR(a.loss, b.loss, 1e-6);
    EXPECT_NEAR(a.grad_norm, b.grad_norm, 1e-5 * a.grad_norm);
    for (size_t i = 0; i < whole.state().size(); ++i) EXPECT_TRUE(at::allclose(whole.state()[i], parts.state()[i], 1e-5, 1e-6));
  }
}

class AskedPrecision : public Objective {  // remembers what it was allowed
 public:
  explicit AskedPrecision(bool& bfloat16) : bfloat16_(bfloat16) {}
  ObjectiveResult operator()(const ObjectiveInput& input) const override {
    bfloat16_ = input.bfloat16_products;
    ObjectiveResult result;
    result.value = input.z.sum();
    return result;
  }
  ObjectiveResult on_scores(const Scores&) const override { return {}; }
  std::string refusal(ScoreForm) const override { return "rows alone"; }
  Config config() const override { return Config::map(); }

 private:
  bool& bfloat16_;
};

class AskedPrecisionOptions : public ObjectiveOptions {
 public:
  explicit AskedPrecisionOptions(bool& bfloat16) : bfloat16_(bfloat16) {}
  std::unique_ptr<Objective> make() const override { return std::make_unique<AskedPrecision>(bfloat16_); }
  std::shared_ptr<const ObjectiveOptions> with(const std::vector<OptionNumber>&) const override { return nullptr; }
  Config config() const override { return Config::map(); }
  std::optional<double> temperature() const override { return std::nullopt; }
  bool drops_false_negatives() const override { return false; }
  std::string caution() const override { return ""; }

 private:
  bool& bfloat16_;
};

TEST(Simclr, TheLossesRoundAsLossPrecisionSaysWhateverTheNetworkDoes) {
  bool bfloat16 = false;
  ObjectiveEntry entry;
  entry.name = "asked_precision";
  Fixture fixture;
  TermRecipe written;
  written.entry = &entry;
  written.objective = std::make_shared<AskedPrecisionOptions>(bfloat16);
  for (const Precision network : {Precision::kFp32, Precision::kBf16}) {
    for (const Precision losses : {Precision::kFp32, Precision::kBf16}) {
      const Term term(written, entry.name, fixture.recipe.train_data.make_images()->info());
      bfloat16 = losses == Precision::kFp32;  // what must not be left
      const auto method = make_simclr({.model = fixture.model,
                                       .terms = {term},
                                       .optimizers = fixture.optimizers,
                                       .forward = ForwardOptions{Forward::kPerView, network},
                                       .loss_precision = losses});
      method->run(batch_of(4), 1);
      EXPECT_EQ(bfloat16, losses == Precision::kBf16);
    }
  }
}

TEST(Simclr, PartsMoveRunningStatisticsOnceEach) {
  Fixture parts(true, 4);
  parts.method->run(batch_of(8), 1);
  EXPECT_EQ(parts.model.encoder->named_buffers()["norm.num_batches_tracked"].item<int64_t>(), 4);  // two parts, two views
}

TEST(Simclr, JointAndPerViewDifferOnlyThroughBatchNorm) {
  Fixture joint(false, std::nullopt, Forward::kJoint), per_view;
  EXPECT_NEAR(joint.method->run(batch_of(8), 1).loss, per_view.method->run(batch_of(8), 1).loss, 1e-6);
  Fixture joint_norm(true, std::nullopt, Forward::kJoint), per_view_norm(true);
  Batch batch = batch_of(8);
  batch.images()[1].mul_(3);
  EXPECT_GT(std::abs(joint_norm.method->run(batch, 1).loss - per_view_norm.method->run(batch, 1).loss), 1e-4);
}

TEST(Simclr, ClippingBoundsTheUpdateAndTheReportedNormIsTheOneBefore) {
  Config root = changed(with_objective("infonce"), {"optimizer={name: sgd, learning_rate: 1, momentum: 0}"});
  Fixture free(root);
  root.assign("optimizer.clip_norm=1e-3");
  Fixture clipped(root);
  const auto before = clipped.state();
  const double norm = free.method->run(batch_of(8), 1).grad_norm;
  EXPECT_GT(norm, 1e-2);
  EXPECT_EQ(clipped.method->run(batch_of(8), 1).grad_norm, norm);
  double squares = 0;
  for (size_t i = 0; i < before.size(); ++i) squares += (clipped.state()[i] - before[i]).to(at::kDouble).square().sum().item<double>();
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-6);
}

TEST(Simclr, ANonFiniteLossNamesTensorAndSamplesAndChangesNothing) {
  Fixture fixture(true);
  fixture.method->run(batch_of(8), 1);
  const auto before = fixture.state();
  Batch batch = batch_of(8);
  batch.images()[1][5].fill_(NAN);
  const std::string message = error_of(ErrorKind::kNumeric, [&] { fixture.method->run(batch, 17); });
  EXPECT_THAT(message, HasSubstr("step 17"));
  EXPECT_THAT(message, HasSubstr("tensor 'images' is not finite for samples 105;"));
  EXPECT_TRUE(equal(before, fixture.state()));
}

TEST(Simclr, ANonFiniteWeightIsSeenAsFeatures) {
  Fixture fixture;
  {
    const at::NoGradGuard no_grad;
    fixture.model.encoder->parameters()[0].fill_(INFINITY);
  }
  EXPECT_THAT(error_of(ErrorKind::kNumeric, [&] { fixture.method->run(batch_of(4), 1); }), HasSubstr("tensor 'features'"));
}

double loss_of(const std::string& objective, const std::string& classifier = "") {
  Fixture fixture(with_objective(objective, classifier));
  return fixture.method->run(batch_of(8), 1).loss;
}

TEST(Simclr, TermsAreWeightedAndSummed) {
  const double a = loss_of("infonce"), b = loss_of("debiased_negatives");
  EXPECT_NEAR(loss_of("[{name: infonce, weight: 0.5}, {name: debiased_negatives, weight: 2, 'on': encoder}]"), 0.5 * a + 2 * b, 1e-5);
}

TEST(Simclr, AProbeLearnsAndLeavesTheEncoderAlone) {
  Fixture without(with_objective("infonce")), with(with_objective("infonce", "{name: linear, learning_rate: 0.2}"));
  const at::Tensor before = with.model.classifier->linear()->weight.detach().clone();
  double first = 0, last = 0;
  for (int64_t i = 1; i <= 20; ++i) {
    const StepReport a = without.method->run(batch_of(8), i), b = with.method->run(batch_of(8), i);
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.grad_norm, b.grad_norm);
    EXPECT_EQ(b.diagnostics.classifier.rows, 16);
    (i == 1 ? first : last) = b.diagnostics.classifier.loss_sum;
  }
  EXPECT_LT(last, first - 0.05);
  EXPECT_TRUE(at::equal(without.model.encoder->parameters()[0], with.model.encoder->parameters()[0]));
  EXPECT_GT((with.model.classifier->linear()->weight - before).abs().max().item<double>(), 0.1);
}

TEST(Simclr, AFlowingClassifierJoinsTheLossUnlessATermReadsItsLogits) {
  const std::string flow = "{name: linear, gradient: flow}";
  Fixture joined(with_objective("{name: infonce, weight: 0}", flow)), term(with_objective("cross_entropy", flow));
  const StepReport a = joined.method->run(batch_of(8), 1), b = term.method->run(batch_of(8), 1);
  EXPECT_NEAR(a.loss, b.loss, 1e-6);  // the same cross-entropy, and the encoder moves the same way
  EXPECT_NEAR(a.loss, a.diagnostics.classifier.loss_sum, 1e-6);
  EXPECT_EQ(b.diagnostics.classifier.loss_steps, 0);
  EXPECT_EQ(b.diagnostics.terms[0].anchors, 16);
  EXPECT_TRUE(at::allclose(joined.state()[0], term.state()[0], 1e-5, 1e-7));
  EXPECT_FALSE(at::equal(term.state()[0], Fixture().state()[0]));
  EXPECT_NEAR(loss_of("infonce", flow), loss_of("infonce") + a.loss, 1e-5);
}

TEST(Simclr, PartsOfABatchCarryTheClassifiersGradient) {
  const Config root = with_objective("[infonce, cross_entropy]", "{name: linear, gradient: flow}");
  Fixture whole(root), parts(root, false, 3);
  for (Fixture* fixture : {&whole, &parts}) fixture->method->run(batch_of(8), 1);
  const auto a = whole.state(), b = parts.state();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::allclose(a[i], b[i], 1e-5, 1e-6)) << i;
}

TEST(Simclr, TheClassifierReadsUnitRowsAsItsOptionSays) {
  const std::string objective = "cross_entropy";
  const auto at_scale = [&](const std::string& classifier, double scale) {
    Fixture fixture(with_objective(objective, classifier));
    {
      const at::NoGradGuard no_grad;
      fixture.model.encoder->parameters()[0].mul_(scale);
    }
    return fixture.method->run(batch_of(8), 1).loss;
  };
  const std::string unit = "{name: linear, gradient: flow}", as_it_is = "{name: linear, gradient: flow, normalize: false}";
  EXPECT_NEAR(at_scale(unit, 1), at_scale(unit, 7), 1e-6);  // headless: auto is true
  EXPECT_GT(std::abs(at_scale(as_it_is, 1) - at_scale(as_it_is, 7)), 0.05);
}

TEST(Simclr, AFlowingClassifierHasTheRecipesOptimizerUnlessItHasARateOfItsOwn) {
  const auto moved = [](const std::string& classifier) {
    Fixture fixture(with_objective("cross_entropy", classifier));
    const at::Tensor before = fixture.model.classifier->linear()->bias.detach().clone();
    set_learning_rate(*fixture.optimizers.network, 0);
    fixture.method->run(batch_of(8), 1);
    return (fixture.model.classifier->linear()->bias - before).abs().max().item<double>();
  };
  EXPECT_EQ(moved("{name: linear, gradient: flow}"), 0);
  EXPECT_NEAR(moved("{name: linear, gradient: flow, learning_rate: 0.02}"), 0.02, 1e-4);  // Adam's first step
}

TEST(Simclr, APairwiseTermMayReadLogits) {
  Fixture fixture(with_objective("[cross_entropy, {name: supcon, 'on': logits}]", "{name: linear, gradient: flow}"));
  const StepReport report = fixture.method->run(batch_of(8), 1);
  EXPECT_TRUE(std::isfinite(report.loss));
  EXPECT_EQ(report.diagnostics.terms[1].anchors, 16);
}

TEST(Simclr, ABatchWithNothingToCompareIsNoFailure) {  // biases unknown: no row has a pair
  Fixture fixture(with_objective("end"));
  const auto before = fixture.state();
  const StepReport report = fixture.method->run(batch_of(8), 1);
  EXPECT_EQ(report.loss, 0);
  EXPECT_TRUE(equal(before, fixture.state()));
}

TEST(Simclr, AnInfiniteProbeIsSeenAsLogits) {
  Fixture fixture(with_objective("infonce", "linear"));
  {
    const at::NoGradGuard no_grad;
    fixture.model.classifier->linear()->weight.fill_(INFINITY);
  }
  EXPECT_THAT(error_of(ErrorKind::kNumeric, [&] { fixture.method->run(batch_of(4), 1); }), HasSubstr("tensor 'logits'"));
}

}  // namespace simclr_test
}  // namespace debias

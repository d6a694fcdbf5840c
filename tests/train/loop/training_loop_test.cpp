// The loop by itself, on a training that is neither an encoder's nor an agent's: a number that grows.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include "debias/core/error.h"
#include "debias/encoders/encoder.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/train_log.h"
#include "debias/train/loop/training.h"
#include "debias/train/loop/training_loop.h"
#include "debias/train/named_tensor.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace training_loop_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kSteps = 3;  // of an epoch

// Step k adds k; the sum over an epoch is its metric.
class Growth : public Training, public EpochObserver {
 public:
  void build() override { value_ = at::zeros({1}, at::kDouble); }
  void begin(RunAccess& run, const OpenCheckpoint* checkpoint) override {
    run_ = &run;
    if (checkpoint != nullptr) value_ = named_tensor(checkpoint->file, "growth.value", value_).clone();
  }
  void announce() const override {}
  std::vector<EpochObserver*> observers() override { return {this}; }
  bool is_due(int64_t epoch, int64_t epochs) const override { return epoch % 2 == 0 || epoch == epochs; }
  bool feeds_training() const override { return feeds; }
  Metrics after_epoch(int64_t epoch, int64_t) override {
    evaluated.push_back(epoch);
    if (epoch == fails_at) throw data_error("no picture");
    return {{"test.height", heights.at(static_cast<size_t>(epoch))}};
  }

  void begin_epoch() override { first_ = run_->state.step; }
  bool next(const StepOrders&) override { return run_->state.batch < kSteps; }
  void step() override {
    value_ += run_->state.step == poisoned_at ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(run_->state.step);
    ++run_->state.step;
    ++run_->state.batch;
    if (stop != nullptr && run_->state.step == stop_after) *stop = SIGTERM;
  }
  bool needs_save() const override { return run_->state.step == saves_after; }
  Metrics epoch_metrics() const override { return {{"value", value_.item<double>()}}; }
  void end_epoch(const Metrics& metrics) override { taken.push_back(std::ssize(metrics)); }
  void end(const std::string& folder) override { ended = folder; }
  std::optional<RunProgress> progress() const override { return RunProgress{run_->state.step, 4 * kSteps}; }
  Counted counted() const override { return {run_->state.step - first_, "steps"}; }
  std::string speed_text(double) const override { return "quick"; }
  std::string place() const override { return fmt::format("turn {}", run_->state.batch); }
  NamedTensors weights() const override { return {{"growth.value", value_}}; }
  NamedTensors tensors() override { return weights(); }
  Metadata metadata() const override { return {{"growth.note", "of its own"}}; }

  std::atomic<int>* stop = nullptr;
  int64_t stop_after = 0, saves_after = -1, fails_at = 0, poisoned_at = -1;
  bool feeds = false;
  std::vector<double> heights = {0, 0, 5, 0, 3};  // by epoch
  std::vector<int64_t> evaluated;
  std::vector<std::ptrdiff_t> taken;  // metrics at the end of each epoch
  std::string ended;

 private:
  RunAccess* run_ = nullptr;
  at::Tensor value_;
  int64_t first_ = 0;
};

LoopRecipe recipe_in(const std::string& folder, const std::string& select = "") {
  return {.output = folder,
          .resolved = Config::map({{"seed", Config::integer(1)}, {"evaluate", Config::map({{"select", Config::string(select)}})}}),
          .epochs = 4,
          .select = select,
          .on_evaluation_error = EvaluationFailure::kContinue};
}

std::string last_of(const std::string& run) { return run + "/checkpoints/last.safetensors"; }

TEST(TrainingLoop, TrainsEvaluatesWhatIsDueAndKeepsTheBestEpoch) {
  const TemporaryFolder folder;
  Growth growth;
  const TrainResult result = run_training(growth, recipe_in(folder / "run", "test.height"), {}, {});
  EXPECT_THAT(growth.evaluated, ElementsAre(2, 4));
  EXPECT_THAT(growth.taken, ElementsAre(1, 2, 1, 2));  // what was evaluated joins the epoch's metrics
  EXPECT_EQ(growth.ended, folder / "run");
  EXPECT_EQ(result.metrics, (Metrics{{"value", 66}, {"test.height", 3}}));  // 0 + 1 + ... + 11
  EXPECT_EQ(open_checkpoint(last_of(folder / "run")).file.metadata().at("growth.note"), "of its own");
  const OpenCheckpoint best = open_checkpoint(folder / "run/checkpoints/best.safetensors");
  EXPECT_EQ(best.state.epoch, 2);
  EXPECT_EQ(named_tensor(best.file, "growth.value", at::zeros({1}, at::kDouble)).item<double>(), 15);
}

TEST(TrainingLoop, StoppedAtAnyStepAndResumedGivesTheSameBytes) {
  const TemporaryFolder folder;
  Growth whole;
  run_training(whole, recipe_in(folder / "whole"), {}, {});
  for (const int64_t steps : {1, 3, 4, 11}) {
    const std::string run = fmt::format("{}/stopped{}", folder.path(), steps);
    std::atomic<int> flag{0};
    Growth first;
    first.stop = &flag;
    first.stop_after = steps;
    RunControl control;
    control.stop_signal = &flag;
    const std::string message = error_of(ErrorKind::kInterrupted, [&] { run_training(first, recipe_in(run), {}, control); });
    EXPECT_THAT(message, HasSubstr(fmt::format("stopped by SIGTERM after step {} (epoch {}, turn {}); continue with --resume", steps,
                                               (steps - 1) / kSteps + 1, (steps - 1) % kSteps + 1)));
    EXPECT_EQ(first.ended, "");
    Growth second;
    RunControl again;
    again.existing = ExistingFolder::kResume;
    run_training(second, recipe_in(run), {}, again);
    expect_same_run(folder / "whole", run);
    EXPECT_TRUE(run_training(second, recipe_in(run), {}, again).already_finished);
  }
}

TEST(TrainingLoop, SavesWhenTheTrainingNeedsIt) {
  const TemporaryFolder folder;
  Growth growth;
  growth.saves_after = 5;
  growth.poisoned_at = 5;
  EXPECT_THAT(error_of(ErrorKind::kNumeric, [&] { run_training(growth, recipe_in(folder / "run"), {}, {}); }),
              HasSubstr("'growth.value' is not finite, so it is not saved"));
  EXPECT_EQ(open_checkpoint(last_of(folder / "run")).state.step, 5);
}

TEST(TrainingLoop, AnEvaluationThatFailsIsRememberedUnlessTrainingGoesByIt) {
  const TemporaryFolder folder;
  Growth growth;
  growth.fails_at = 2;
  const TrainResult result = run_training(growth, recipe_in(folder / "run"), {}, {});
  ASSERT_EQ(result.failed_evaluations.size(), 1u);
  EXPECT_EQ(result.failed_evaluations[0].epoch, 2);
  Growth led;
  led.fails_at = 2;
  led.feeds = true;
  data_error_of([&] { run_training(led, recipe_in(folder / "led"), {}, {}); });
}

TEST(TrainingLoop, ARunThatWouldGoOnOtherwiseIsRefusedWithTheKey) {
  const TemporaryFolder folder;
  Growth growth;
  growth.saves_after = 4;
  growth.poisoned_at = 4;
  error_of(ErrorKind::kNumeric, [&] { run_training(growth, recipe_in(folder / "run"), {}, {}); });
  LoopRecipe edited = recipe_in(folder / "run");
  edited.resolved.set("seed", Config::integer(2));
  RunControl again;
  again.existing = ExistingFolder::kResume;
  EXPECT_THAT(usage_error_of([&] { run_training(growth, edited, {}, again); }), HasSubstr("differs from the run's config.yaml at 'seed'"));
  std::ofstream(folder / "run/config.yaml") << edited.resolved.to_yaml();
  EXPECT_THAT(usage_error_of([&] { run_training(growth, edited, {}, again); }), HasSubstr("config.yaml was edited at 'seed'"));
}

// What cannot be built leaves no folder, also where it was asked to resume what is not there.
TEST(TrainingLoop, WhatCannotBeBuiltLeavesNoFolder) {
  class Unbuildable : public Growth {
    void build() override { throw usage_error("it cannot be drawn"); }
  };
  const TemporaryFolder folder;
  for (const ExistingFolder existing : {ExistingFolder::kRefuse, ExistingFolder::kResume}) {
    Unbuildable training;
    RunControl control;
    control.existing = existing;
    usage_error_of([&] { run_training(training, recipe_in(folder / "run"), {}, control); });
    EXPECT_FALSE(fs::exists(folder / "run"));
  }
}

TEST(EpochLine, NumbersAreReadable) {
  EXPECT_EQ(epoch_number(0), "0.0000");
  EXPECT_EQ(epoch_number(0.70123), "0.7012");
  EXPECT_EQ(epoch_number(-12.5), "-12.5000");
  EXPECT_EQ(epoch_number(10000), "10000");
  EXPECT_EQ(epoch_number(500000), "500000");
  EXPECT_EQ(epoch_number(1234.56), "1234.6");
  EXPECT_EQ(epoch_number(0.0001234), "0.0001234");
  EXPECT_EQ(epoch_number(1.5e-7), "1.5e-07");
  EXPECT_EQ(epoch_number(-30167920030440033878016.0), "-3.017e+22");
}

TEST(EpochLine, ShortOneBeginsWithTheLossThenWhatWasEvaluated) {
  const EpochSummary summary{3, 80, {{"grad_norm", 1.5}, {"train_loss", 5.31234}, {"test.knn_acc1", 0.7}}, 3700};
  EXPECT_EQ(short_epoch_line(summary), "epoch 3/80: train_loss 5.3123, test.knn_acc1 0.7000, grad_norm 1.5000, 1:01:40 left");
  EXPECT_EQ(whole_epoch_line(summary), "epoch 3/80, grad_norm 1.5000, train_loss 5.3123, test.knn_acc1 0.7000, 1:01:40 left");
  EXPECT_EQ(short_epoch_line({80, 80, {{"train_loss", 5}}, std::nullopt}), "epoch 80/80: train_loss 5.0000");
  EXPECT_EQ(short_epoch_line({1, 2, {}, std::nullopt}), "epoch 1/2");
}

TEST(EpochLine, ShortOneFitsAHundredColumnsAndCountsTheRest) {
  EpochSummary summary{12, 400, {{"train_loss", 5}}, 360000};
  for (int i = 0; i < 40; ++i) {
    summary.metrics.emplace_back("debiased_negatives.some_diagnostic_" + std::to_string(i), 1e9);
    const std::string line = short_epoch_line(summary);
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_TRUE(line.ends_with(", 100:00:00 left")) << line;
    EXPECT_TRUE(line.starts_with("epoch 12/400: train_loss 5.0000, ")) << line;
  }
  EXPECT_EQ(short_epoch_line(summary), "epoch 12/400: train_loss 5.0000, 40 more in metrics.csv, 100:00:00 left");
}

// Training behind a frozen encoder and fixed views, whose features are computed once.

// A head and a classifier behind a frozen encoder; 96 images in batches of 20, the last one smaller.
Config frozen(const std::string& output, const std::vector<std::string>& words = {}) {
  const Config root =
      changed(small_config(output),
              {"encoder={name: resnet18, width: 8, freeze: all}", "views={steps: [{resize: {size: 16}}], count: 2}",
               "objective={name: supcon}", "classifier={name: linear, gradient: flow}", "train.batch_size=20", "train.drop_last=false"});
  return changed(root, words);
}

bool applies_to(const Config& root) {
  const TrainInput input = input_for(root);
  const Model model = make_model(input.recipe, 3);
  return has_fixed_features(input.recipe, *input.dataset, *model.encoder, Ranks::alone());
}

// Heads and classifiers of two runs.
void expect_close(const std::string& run, const std::string& other) {
  const auto a = SafetensorsFile::open(run + "/checkpoints/last.safetensors"),
             b = SafetensorsFile::open(other + "/checkpoints/last.safetensors");
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const auto& entry : a.tensors()) {
    if (!entry.name.starts_with("head.") && !entry.name.starts_with("classifier.")) continue;
    if (entry.dtype != DType::kFloat32) continue;
    std::vector<float> of_a((entry.end - entry.begin) / sizeof(float)), of_b(of_a.size());
    a.read(entry, of_a.data());
    b.read(*b.find(entry.name), of_b.data());
    for (size_t i = 0; i < of_a.size(); ++i) ASSERT_NEAR(of_a[i], of_b[i], 2e-4) << entry.name << " " << i;
  }
}

TEST(FrozenFeatures, TheWeightsAreThoseOfARunThatEncodesEveryVisit) {
  const std::vector<std::vector<std::string>> settings = {{}, {"views.forward=joint", "train.drop_last=true"}, {"train.micro_batch=8"}};
  for (const auto& setting : settings) {
    const TemporaryFolder folder;
    train(input_for(frozen(folder / "once", setting)));
    EXPECT_THAT(file_text(folder / "once/train.log"), HasSubstr("the features of each image are computed once"));
    std::vector<std::string> each_visit = setting;
    each_visit.emplace_back("data.on_error=substitute");  // no image is unreadable
    train(input_for(frozen(folder / "each", each_visit)));
    EXPECT_EQ(metric_lines(folder / "once").size(), metric_lines(folder / "each").size());
    expect_close(folder / "once", folder / "each");
  }
}

TEST(FrozenFeatures, StoppedAndResumedGiveTheSameBytes) { expect_resumes(frozen(""), {7}); }

TEST(FrozenFeatures, ApplyWhereEveryVisitIsTheSame) {
  EXPECT_TRUE(applies_to(frozen("run")));
  for (const char* word : {"encoder={name: resnet18, width: 8, freeze: 3}", "encoder={name: resnet18, width: 8, freeze_epochs: 2}",
                           "views={preset: sim32, count: 2, random_resized_crop: {size: 16}}", "views.noise=0.1",
                           "data.on_error=substitute", "method={name: moco}"}) {
    EXPECT_FALSE(applies_to(frozen("run", {word}))) << word;
  }
}

}  // namespace training_loop_test
}  // namespace debias

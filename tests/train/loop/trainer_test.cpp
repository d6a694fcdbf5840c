#include "debias/train/loop/trainer.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <sstream>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/state/checkpoint.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace trainer_test {

using testing::HasSubstr;

namespace fs = std::filesystem;

class EpochNumber : public TrainObserver {  // a metric that peaks in the second epoch
 public:
  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    return {{"valid.peak", end.epoch == 2 ? 1.0 : 0.5}};
  }
};

class PriorOfEpoch : public TrainObserver {  // 0.2, 1.5, 0.4
 public:
  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    return {{"estimate.prior", end.epoch == 2 ? 1.5 : 0.2 * static_cast<double>(std::min<int64_t>(end.epoch, 2))}};
  }
};

TEST(Trainer, EstimatesArePutInForceAndLoggedAndSurviveAStop) {
  const TemporaryFolder folder;
  expect_resumes(folder, changed(small_config(""), {"objective.tau_plus={from: prior, start: 0.05}"}), {7, 13},
                 {std::make_shared<PriorOfEpoch>()});  // 6 steps an epoch: an estimate is in force
  const std::string whole = folder / "whole", log = file_text(folder / "whole/train.log");
  for (const auto& line : metric_lines(whole)) {
    EXPECT_EQ(line.at("debiased_negatives.tau_plus").get<double>(),
              (std::vector<double>{0.05, 0.2, 0.99})[line.at("epoch").get<int>() - 1]);
  }
  EXPECT_EQ(metric_lines(whole).back().at("estimate.prior").get<double>(), 0.4);
  EXPECT_THAT(log, HasSubstr("the estimate 1.5 of 'prior' after epoch 2 is outside [0, 0.99] and is taken as 0.99"));
}

TEST(Trainer, ARecipeThatCannotRunLeavesNoFolder) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> refused = {
      {"objective={name: softcon, bias_features: absent.npy}"},
      {"train.batch_size=200"},
      {"train.batch_size=4096"},
      {"train.batch_size=1"},
      {"train.micro_batch=15"},
      {"method={name: moco, queue: 48}", "objective={name: eps_supinfonce, form: d}"}};  // which takes no keys
  for (const auto& words : refused) {
    EXPECT_THROW(train(input_for(changed(small_config(folder / "run"), words))), Error) << words[0];
    EXPECT_EQ(folder.entries(), 0u) << words[0];
  }
}

// The features of held-out images are zero and may come first; `authors`, the default, reads the others.
TEST(Trainer, FairKlTrainsOnBiasFeaturesWhoseFirstRowIsOfAHeldOutImage) {
  const TemporaryFolder folder, data;
  std::vector<float> features(96 * 2);
  for (size_t i = 0; i < features.size(); ++i) features[i] = static_cast<float>(i % 7) + 0.5f;
  features[0] = features[1] = 0;
  write_npy(data / "bias.npy", DType::kFloat32, {96, 2}, features.data());
  const TrainInput input =
      input_for(changed(small_config(folder.path() + "/run"),
                        {"objective=[{name: eps_supinfonce}, {name: fairkl, weight: 0.1, bias_features: " + (data / "bias.npy") + "}]"}));
  const RunParts parts = make_run_parts(input.recipe, input.dataset);
  const std::vector<Term> terms(parts.method->terms().begin(), parts.method->terms().end());
  EXPECT_EQ(terms.back().options().config().find("mode")->text(), "authors");
  EXPECT_TRUE(terms.back().bias_features().defined());
}

TEST(Trainer, ALogBeginsWithWhatIsKnownAgainstAnOption) {
  const auto log_of = [](const std::string& mode) {
    const TemporaryFolder folder;
    train(input_for(changed(
        small_config(folder.path() + "/run"),
        {"data.train.correlation=0.8", "train.epochs=1", "objective=[{name: infonce}, {name: fairkl, weight: 0.01" + mode + "}]"})));
    return file_text(folder.path() + "/run/train.log");
  };
  for (const auto* mode : {", mode: kl", ", variant: paper"}) {
    EXPECT_THAT(log_of(mode), HasSubstr("fairkl: mode kl trained worse than no regulariser"));
  }
  for (const auto* mode : {"", ", mode: mean"}) EXPECT_EQ(log_of(mode).find("worse than no regulariser"), std::string::npos);
}

TEST(Trainer, WeightsThatAreNotFiniteAreNotSaved) {  // one step an epoch: its loss is finite, what the update leaves is not
  const TemporaryFolder folder;
  EXPECT_THAT(error_of(ErrorKind::kNumeric,
                       [&] {
                         train(input_for(
                             changed(small_config(folder.path() + "/run"), {"train.batch_size=96", "objective={name: infonce, weight: 1e6}",
                                                                            "optimizer={name: sgd, learning_rate: 1e38}"})));
                       }),
              HasSubstr("is not saved"));
  EXPECT_FALSE(fs::exists(folder.path() + "/run/checkpoints/last.safetensors"));
}

TEST(Trainer, HalfPrecisionBeginsNearSingle) {
  const TemporaryFolder folder;
  const auto first_loss = [&](const std::string& precision) {
    train(input_for(changed(small_config(folder / precision), {"train.precision=" + precision, "train.epochs=1", "train.log_every=1"})));
    return metric_lines(folder / precision)[0]["loss"].get<double>();
  };
  const double single = first_loss("fp32"), half = first_loss("bf16");
  EXPECT_NE(half, single);
  EXPECT_NEAR(half, single, 0.02 * single);
}

TEST(Trainer, WorkersDoNotChangeTheResult) {
  const TemporaryFolder folder;
  std::string first;
  for (const std::string workers : {"0", "1", "3"}) {
    train(input_for(changed(small_config(folder / workers), {"train.workers=" + workers, "train.epochs=1"})));
    const std::string metrics = file_text(folder / workers + "/metrics.jsonl");
    if (first.empty()) first = metrics;
    EXPECT_EQ(metrics, first);
  }
}

TEST(Trainer, BestIsTheEpochThatSelectNames) {
  const TemporaryFolder folder;
  TrainInput input = input_for(small_config(folder.path() + "/run"));
  input.recipe.evaluate.select = "valid.peak";
  input.observers.push_back(std::make_shared<EpochNumber>());
  train(input);
  EXPECT_EQ(open_checkpoint(folder.path() + "/run/checkpoints/best.safetensors").state.best_epoch, 2);
  EXPECT_THAT(file_text(folder.path() + "/run/metrics.csv"), HasSubstr("valid.peak"));
}

// Sees what is on disk when it is asked, and fails in the second epoch.
class Witness : public TrainObserver {
 public:
  Witness(std::string run, const std::atomic<bool>& all_saved) : run_(std::move(run)), all_saved_(all_saved) {}
  void before_training(const Model&) override { folder_was_there = fs::exists(run_); }
  bool is_due(int64_t epoch, int64_t) const override { return epoch > 1; }
  std::vector<std::pair<std::string, double>> after_epoch(const EpochEnd& end) override {
    const TrainingState state = open_checkpoint(run_ + "/checkpoints/last.safetensors").state;
    EXPECT_EQ(state.epoch, end.epoch - 1);
    EXPECT_EQ(state.batch, 6);
    EXPECT_TRUE(all_saved_.load());
    if (end.epoch == 2) throw data_error("an image is gone");
    return {{"test.seen", 1.0}};
  }
  std::optional<bool> folder_was_there;

 private:
  std::string run_;
  const std::atomic<bool>& all_saved_;
};

class UnsavedInSteps : public Progress {
 public:
  explicit UnsavedInSteps(const std::atomic<bool>& all_saved) : all_saved_(all_saved) {}
  void advance(int64_t, const std::string&) override { EXPECT_FALSE(all_saved_.load()); }

 private:
  const std::atomic<bool>& all_saved_;
};

TEST(Trainer, AnEpochIsOnDiskBeforeItIsEvaluatedAndAFailureEndsTheEvaluationAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  std::atomic<bool> all_saved{false};
  UnsavedInSteps progress(all_saved);
  KeptLog log;
  const auto witness = std::make_shared<Witness>(path, all_saved);
  TrainInput input = input_for(small_config(path));
  input.observers.push_back(witness);
  input.all_saved = &all_saved;
  input.progress = &progress;
  input.log = &log;
  const TrainResult result = train(input);
  EXPECT_EQ(witness->folder_was_there, false);
  ASSERT_EQ(result.failed_evaluations.size(), 1u);
  EXPECT_EQ(result.failed_evaluations[0].epoch, 2);
  EXPECT_EQ(result.failed_evaluations[0].reason, "an image is gone");
  EXPECT_THAT(log.text, HasSubstr("the evaluation after epoch 2 failed: an image is gone"));
  EXPECT_EQ(open_checkpoint(path + "/checkpoints/last.safetensors").state.failed_evaluations.size(), 1u);
  EXPECT_EQ(file_text(path + "/metrics.csv").find("test.seen") != std::string::npos, result.epochs > 2);
}

TEST(Trainer, AFailedEvaluationStopsWhereAskedToAndIsMadeUpForAtResume) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run", whole = folder.path() + "/whole";
  train(input_for(small_config(whole)));
  std::atomic<bool> all_saved{true};
  TrainInput input = input_for(small_config(path));
  input.recipe.evaluate.on_error = EvaluationFailure::kStop;
  input.all_saved = &all_saved;
  input.observers.push_back(std::make_shared<Witness>(path, all_saved));
  EXPECT_THROW(train(input), Error);
  TrainInput rest = input_for(small_config(path));
  rest.existing = ExistingFolder::kResume;
  EXPECT_TRUE(train(rest).failed_evaluations.empty());
  expect_same_run(whole, path);
}

TEST(Trainer, AnObserverThatFeedsTrainingAlwaysEndsTheRun) {
  class Feeding : public Witness {
   public:
    using Witness::Witness;
    bool feeds_training() const override { return true; }
  };
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/run";
  std::atomic<bool> all_saved{true};
  TrainInput input = input_for(small_config(path));
  input.all_saved = &all_saved;
  input.observers.push_back(std::make_shared<Feeding>(path, all_saved));
  EXPECT_THROW(train(input), Error);
}

TEST(Trainer, WhatDoesNotFitInto32BitsEndsAsANumericErrorThatSaysWhere) {
  const TemporaryFolder folder;
  int run = 0;
  for (const char* words : {"optimizer={name: adam, learning_rate: 1e300}", "optimizer={name: adam, learning_rate: 1e38}",
                            "optimizer={name: adam, weight_decay: 1e300}", "optimizer={name: sgd, learning_rate: 1e300}",
                            "optimizer={name: sgd, learning_rate: 1e38}", "optimizer={name: sgd, weight_decay: 1e300}",
                            "optimizer={name: sgd, weight_decay: 1e38}", "schedule={name: cosine, eta_min: 1e300}"}) {
    EXPECT_THAT(error_of(ErrorKind::kNumeric, [&] { train(input_for(changed(small_config(folder / std::to_string(run++)), {words}))); }),
                HasSubstr("training stopped at step"))
        << words;
  }
}

TEST(Trainer, ASelectThatNamesNoMetricIsRefusedAtTheFirstEvaluation) {
  const TemporaryFolder folder;
  TrainInput input = input_for(small_config(folder.path() + "/run"));
  input.recipe.evaluate.select = "valid.peek";
  input.observers.push_back(std::make_shared<EpochNumber>());
  const std::string message = usage_error_of([&] { train(input); });
  EXPECT_THAT(message, HasSubstr("'valid.peek' is not among"));
  EXPECT_THAT(message, HasSubstr("did you mean 'valid.peak'?"));
}

TEST(Trainer, LossFallsOnShapes) {
  const TemporaryFolder folder;
  train(input_for(changed(small_config(folder.path() + "/run"),
                          {"train.epochs=6", "objective={name: infonce}", "head={name: simclr, hidden_dim: 64, output_dim: 32}",
                           "optimizer.learning_rate=3e-3", "data.train.train_count=256"})));
  std::vector<double> losses;
  for (const auto& line : metric_lines(folder / "run")) {
    if (!line.contains("step")) losses.push_back(line["train_loss"]);
  }
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT((losses[4] + losses[5]) / 2, losses.front() - 0.1);
  EXPECT_THAT(file_text(folder.path() + "/run/train.log"), HasSubstr(" images/s, waited "));
  std::istringstream times(file_text(folder.path() + "/run/times.jsonl"));
  int64_t epoch = 0;
  for (std::string line; std::getline(times, line);) {
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["epoch"], ++epoch);
    EXPECT_EQ(json["count"], 256);
    EXPECT_EQ(json["counted"], "images");
    EXPECT_GT(json["seconds"], 0);
  }
  EXPECT_EQ(epoch, 6);
}

TEST(Trainer, APlanWritesNothing) {
  const TemporaryFolder folder;
  const TrainPlan plan = plan_training(input_for(small_config(folder.path() + "/run")));
  EXPECT_EQ(plan.steps_per_epoch, 6);
  EXPECT_GT(plan.seconds_per_step, 0);
  EXPECT_GT(plan.parameters, 1000);
  EXPECT_FALSE(fs::exists(folder.path() + "/run"));
}

TEST(Trainer, CheckpointsInsideAnEpochAreTakenByTheClock) {
  const TemporaryFolder folder;
  train(input_for(changed(small_config(folder.path() + "/run"), {"train.checkpoint_every=1e-9", "train.epochs=1"})));
  EXPECT_EQ(open_checkpoint(folder.path() + "/run/checkpoints/previous.safetensors").state.batch, 6);
}

TEST(Trainer, AWarmUpAsLongAsTheRunIsSaid) {
  const TemporaryFolder folder;
  for (const auto& [epochs, warns] : std::vector<std::pair<std::string, bool>>{{"2", true}, {"3", false}}) {
    Config root =
        changed(small_config(folder / epochs), {"schedule={name: cosine, warmup_epochs: 2, warmup_from: 0.001}", "train.epochs=" + epochs});
    KeptLog log;
    TrainInput input = input_for(root);
    input.log = &log;
    train(input);
    EXPECT_EQ(log.text.find("warning: schedule: warmup_epochs 2 of a run of 2 epochs") != std::string::npos, warns) << log.text;
  }
}

}  // namespace trainer_test
}  // namespace debias

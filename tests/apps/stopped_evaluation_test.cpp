// Evaluations during training: stopped, failing, changed at resume, and kept in the run folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/apps/background.h"
#include "tests/apps/process.h"

namespace debias {
namespace stopped_evaluation_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kRecipe = R"(
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96}
  test: {name: glyphs, size: 16, test_count: 90, split: test}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
objective: {name: infonce}
evaluate: {protocols: [knn, tsne], knn: {k: 7}, tsne: {iterations: 250, samples: 60}}
train: {epochs: 2, batch_size: 32, device: cpu, threads: 1}
)";

class EvaluationInTraining : public testing::Test {
 protected:
  EvaluationInTraining() { std::ofstream(folder_ / "recipe.yaml") << kRecipe; }
  std::string path(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> words(const std::string& name, const std::vector<std::string>& more = {}) const {
    return with({"train", path("recipe.yaml"), "output=" + path(name)}, more);
  }
  std::string metrics(const std::string& name) const {
    return file_text(path(name) + "/metrics.jsonl") + file_text(path(name) + "/metrics.csv");
  }
  void wait_for(const std::string& file) const {
    ASSERT_TRUE(soon([&] { return fs::exists(file); })) << file;
  }
  TemporaryFolder folder_;
};

TEST_F(EvaluationInTraining, AStopInTheMiddleIsObeyedAtOnceAndTheEvaluationMadeUpFor) {
  const std::vector<std::string> slow = {"train.epochs=1", "evaluate.tsne.iterations=6000", "evaluate.tsne.samples=90"};
  ASSERT_EQ(run_debias(words("whole", slow)).exit, 0);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1, SIGKILL}) {
    const std::string name = "stopped" + std::to_string(signal);
    Background process(with({debias_binary()}, words(name, slow)));
    wait_for(path(name) + "/evaluation/knn.json");  // the map is being made
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, signal == SIGKILL ? 128 + SIGKILL : 75);
    EXPECT_FALSE(fs::exists(path(name) + "/evaluation/tsne.json")) << "the map would have been made to its end";
    std::vector<std::string> rest = slow;
    rest.push_back("--resume");
    const ProcessResult resumed = run_debias(words(name, rest));
    EXPECT_EQ(resumed.exit, 0) << resumed.err;
    EXPECT_EQ(metrics(name), metrics("whole"));
  }
}

TEST_F(EvaluationInTraining, AFailureIsReportedAndTrainingGoesOn) {
  const ProcessResult result = run_debias(words("run", {"evaluate.tsne.perplexity=80"}));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("the evaluation after epoch 1 failed: "));
  EXPECT_THAT(result.err, HasSubstr("debias: train: trained to the end, but the evaluation after epoch 1 failed: "));
  EXPECT_THAT(result.err, HasSubstr("(1 later ones, too)"));
  EXPECT_EQ(times("\"train_loss\"", file_text(path("run") + "/metrics.jsonl")), 2u);
}

TEST_F(EvaluationInTraining, AFailureStopsWhereAskedToAndIsMadeUpForWithTheCure) {
  ASSERT_EQ(run_debias(words("whole")).exit, 0);
  const ProcessResult stopped = run_debias(words("run", {"evaluate.tsne.perplexity=80", "evaluate.on_error=stop"}));
  EXPECT_EQ(stopped.exit, 2) << stopped.err;
  const ProcessResult resumed =
      run_debias({"train", path("run"), "--resume", "evaluate.tsne.perplexity=auto", "evaluate.on_error=continue"});
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("changed at resume: evaluate.tsne.perplexity: 80 before, \"auto\" from now on"));
  EXPECT_EQ(metrics("run"), metrics("whole"));
  EXPECT_THAT(file_text(path("run") + "/config.yaml"), Not(HasSubstr("perplexity: 80")));
}

TEST_F(EvaluationInTraining, WhatDoesNotChangeTrainingMayChangeAtResumeAndNothingElse) {
  ASSERT_EQ(run_debias(words("run", {"evaluate.on_error=stop", "evaluate.tsne.perplexity=80"})).exit, 2);
  const ProcessResult refused = run_debias({"train", path("run"), "--resume", "optimizer.learning_rate=0.5"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("'optimizer.learning_rate'"));
  const ProcessResult other = run_debias({"train", path("run"), "--resume", "evaluate.protocols=[knn]", "evaluate.tsne.perplexity=auto",
                                          "data.test.test_count=40", "views.eval={resize: {size: 20}}", "train.workers=2"});
  EXPECT_EQ(other.exit, 0) << other.err;
  const auto knn = nlohmann::json::parse(file_text(path("run") + "/evaluation/knn.json"));
  EXPECT_EQ(knn["counts"]["test"], 40);
  EXPECT_THAT(file_text(path("run") + "/train.log"), HasSubstr("changed at resume: views.eval"));
  EXPECT_THAT(file_text(path("run") + "/config.yaml"), HasSubstr("test_count: 40"));
}

TEST_F(EvaluationInTraining, ResultsAreKeptOfTheLatestAndOfEachEpoch) {
  ASSERT_EQ(run_debias(words("run")).exit, 0);
  const auto record = [&](const std::string& name) { return nlohmann::json::parse(file_text(path("run") + "/evaluation/" + name)); };
  EXPECT_EQ(record("knn.json")["epoch"], 2);
  EXPECT_TRUE(record("knn.json").contains("neighbours"));
  EXPECT_FALSE(fs::is_empty(path("run") + "/evaluation/thumbnails"));
  EXPECT_EQ(record("epoch-1/knn.json")["epoch"], 1);
  EXPECT_FALSE(record("epoch-1/knn.json").contains("neighbours"));
  EXPECT_FALSE(record("epoch-2/tsne.json").contains("map"));
  EXPECT_EQ(record("epoch-2/knn.json")["metrics"], record("knn.json")["metrics"]);
  const auto trained = record("knn.json");
  ASSERT_EQ(run_debias({"eval", "knn", path("run")}).exit, 0);
  EXPECT_EQ(record("knn.json"), trained) << "eval takes the recipe's options, and writes what training wrote";
}

}  // namespace stopped_evaluation_test
}  // namespace debias

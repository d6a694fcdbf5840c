// Evaluations during training: stopped, failing, changed at resume, and kept in the run folder.
#include "tests/apps/command.h"

namespace debias::stopped_evaluation_test {

class EvaluationInTraining : public InFolder {
 protected:
  EvaluationInTraining() {
    std::ofstream("recipe.yaml") << small_recipe({"data.test={name: glyphs, size: 16, test_count: 90, split: test}", "objective=infonce",
                                                  "evaluate={protocols: [knn, tsne], knn: {k: 7}, tsne: {iterations: 250, samples: 60}}",
                                                  "train.epochs=2", "train.batch_size=32"});
  }
  Words words(const std::string& name, const Words& more = {}) const { return with({"train", "recipe.yaml", "output=" + name}, more); }
  std::string metrics(const std::string& name) const { return file_text(name + "/metrics.jsonl") + file_text(name + "/metrics.csv"); }
  void wait_for(const std::string& file) const {
    ASSERT_TRUE(soon([&] { return fs::exists(file); })) << file;
  }
};

TEST_F(EvaluationInTraining, AStopInTheMiddleIsObeyedAtOnceAndTheEvaluationMadeUpFor) {
  const Words slow = {"train.epochs=1", "evaluate.tsne.iterations=6000", "evaluate.tsne.samples=90"};
  done(words("whole", slow));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGXCPU, SIGUSR1, SIGKILL}) {
    const std::string name = "stopped" + std::to_string(signal);
    Background process(with({kBinary}, words(name, slow)));
    wait_for(name + "/evaluation/knn.json");  // the map is being made
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, signal == SIGKILL ? 128 + SIGKILL : 75);
    EXPECT_FALSE(fs::exists(name + "/evaluation/tsne.json")) << "the map would have been made to its end";
    Words rest = slow;
    rest.push_back("--resume");
    done(words(name, rest));
    EXPECT_EQ(metrics(name), metrics("whole"));
  }
}

TEST_F(EvaluationInTraining, AFailureIsReportedAndTrainingGoesOn) {
  const ProcessResult result = run_debias(words("run", {"evaluate.tsne.perplexity=80"}));
  EXPECT_EQ(result.exit, 1);
  expect_parts(result.err, {"the evaluation after epoch 1 failed: ",
                            "debias: train: trained to the end, but the evaluation after epoch 1 failed: ", "(1 later ones, too)"});
  EXPECT_EQ(times("\"train_loss\"", file_text("run/metrics.jsonl")), 2u);
}

TEST_F(EvaluationInTraining, AFailureStopsWhereAskedToAndIsMadeUpForWithTheCure) {
  done(words("whole"));
  const ProcessResult stopped = run_debias(words("run", {"evaluate.tsne.perplexity=80", "evaluate.on_error=stop"}));
  EXPECT_EQ(stopped.exit, 2) << stopped.err;
  const ProcessResult resumed = done({"train", "run", "--resume", "evaluate.tsne.perplexity=auto", "evaluate.on_error=continue"});
  EXPECT_THAT(resumed.err, HasSubstr("changed at resume: evaluate.tsne.perplexity: 80 before, \"auto\" from now on"));
  EXPECT_EQ(metrics("run"), metrics("whole"));
  EXPECT_THAT(file_text("run/config.yaml"), Not(HasSubstr("perplexity: 80")));
}

TEST_F(EvaluationInTraining, WhatDoesNotChangeTrainingMayChangeAtResumeAndNothingElse) {
  ASSERT_EQ(run_debias(words("run", {"evaluate.on_error=stop", "evaluate.tsne.perplexity=80"})).exit, 2);
  const ProcessResult refused = run_debias({"train", "run", "--resume", "optimizer.learning_rate=0.5"});
  EXPECT_EQ(refused.exit, 2);
  EXPECT_THAT(refused.err, HasSubstr("'optimizer.learning_rate'"));
  done({"train", "run", "--resume", "evaluate.protocols=[knn]", "evaluate.tsne.perplexity=auto", "data.test.test_count=40",
        "views.eval={resize: {size: 20}}", "train.workers=2"});
  const auto knn = json_in("run/evaluation/knn.json");
  EXPECT_EQ(knn["counts"]["test"], 40);
  EXPECT_THAT(file_text("run/train.log"), HasSubstr("changed at resume: views.eval"));
  EXPECT_THAT(file_text("run/config.yaml"), HasSubstr("test_count: 40"));
}

TEST_F(EvaluationInTraining, ResultsAreKeptOfTheLatestAndOfEachEpoch) {
  done(words("run"));
  const auto record = [&](const std::string& name) { return json_in("run/evaluation/" + name); };
  EXPECT_EQ(record("knn.json")["epoch"], 2);
  EXPECT_TRUE(record("knn.json").contains("neighbours"));
  EXPECT_FALSE(fs::is_empty("run/evaluation/thumbnails"));
  EXPECT_EQ(record("epoch-1/knn.json")["epoch"], 1);
  EXPECT_FALSE(record("epoch-1/knn.json").contains("neighbours"));
  EXPECT_FALSE(record("epoch-2/tsne.json").contains("map"));
  EXPECT_EQ(record("epoch-2/knn.json")["metrics"], record("knn.json")["metrics"]);
  const auto trained = record("knn.json");
  done({"eval", "knn", "run"});
  EXPECT_EQ(record("knn.json"), trained) << "eval takes the recipe's options, and writes what training wrote";
}

}  // namespace debias::stopped_evaluation_test

// What the check of a sweep finds before anything runs, and what becomes of runs.
#include "debias/runs/sweep_check.h"

#include "debias/core/error.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runs/sweep_runner.h"
#include "tests/runs/trained_run.h"

namespace debias::sweep_check_test {

class SweepCheck : public testing::Test {
 protected:
  SweepCheck() { std::ofstream(folder_ / "small.yaml") << kSmallRecipe; }
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "sweep.yaml") << text << "output: " << folder_ / "out"
                                          << "\n";
    return folder_ / "sweep.yaml";
  }
  SweepPlan plan(const std::string& text, std::vector<std::string> words = {}) const {
    words.insert(words.begin(), "train.epochs=1");
    return read_sweep(file(text), words, find_recipe);
  }
  CheckedPoints checked(const std::string& text, const std::vector<std::string>& words = {}, const SweepCheckOptions& options = {},
                        Log& log = Log::silent()) const {
    const SweepPlan read = plan(text, words);
    sweep_record_if_any(read);
    return check_sweep(read, options, Progress::silent(), log);
  }
  void expect_refused(const std::string& text, const std::string& line, const std::vector<std::string>& words = {}) const {
    EXPECT_THAT(usage_error_of([&] { checked(text, words); }), HasSubstr(line));
  }
  TemporaryFolder folder_;
};

TEST_F(SweepCheck, NamesAMistakeByItsLine) {
  const std::string path = folder_ / "sweep.yaml";
  expect_refused("base: small.yaml\ngrid:\n  optimizer.learning_rate: [1e-3, fast]\n", path + ":3: ");
  expect_refused("base: small.yaml\nvariants:\n  a: {}\n  b: {encoder: {name: resnet18, widht: 8}}\n", path + ":4: ");
  expect_refused("base: small.yaml\n", "command line: ", {"optimizer.learning_rate=fast"});
}

TEST_F(SweepCheck, TellsAllMistakesOfASetting) {
  try {
    checked("base: small.yaml\nvariants:\n  a: {}\n  b: {encoder.widht: 8, train.epoch: 3, optimizer.learning_rate: fast}\n");
    FAIL() << "nothing was rejected";
  } catch (const UsageErrors& several) {
    ASSERT_EQ(several.messages().size(), 3u) << several.what();
    for (const auto& message : several.messages()) EXPECT_THAT(message, HasSubstr("sweep.yaml': b: "));
  }
}

TEST_F(SweepCheck, NamesUnknownKeysWithTheNearestOne) {
  expect_refused("base: small.yaml\ngrid: {objective.0.tau_pls: [0, 0.1]}\n", "unknown option 'tau_pls'");
  expect_refused("base: small.yaml\ngrid: {optimiser.learning_rate: [0, 0.1]}\n", "did you mean 'optimizer'?");
  expect_refused("base: small.yaml\ngrid: {encoder.widht: [8]}\n", "did you mean 'width'?");
  expect_refused(
      "base: small.yaml\ngrid: {evaluate.knn.kk: [8]}\nvariants: {a: {data.test: {name: glyphs, split: test}, evaluate.protocols: "
      "[knn]}}\n",
      "'kk'");
  expect_refused("base: small.yaml\nseeds: [1, 1]\n", "seed 1 is given twice");
  expect_refused("base: nowhere.yaml\n", "no such file");
  EXPECT_FALSE(fs::exists(folder_ / "out"));
  fs::create_directories(folder_ / "out/mine");
  expect_refused("base: small.yaml\n", "has none of these runs");
}

TEST_F(SweepCheck, RejectsAMetricThatNoRunCanHave) {
  const std::string evaluated =
      "base: small.yaml\nvariants: {a: {data.test: {name: glyphs, size: 16, split: test}, evaluate.protocols: [knn]}}\n";
  expect_refused(evaluated + "metric: test.knn_ac1\n", "metric 'test.knn_ac1' is measured by no evaluation; did you mean 'test.knn_acc1'?");
  expect_refused(evaluated + "metric: test.knn_acc1, valid.knn_ac1\n", "did you mean 'valid.knn_acc1'?");
  expect_refused(evaluated + "metric: tets.knn_acc1\n", "write test.knn_acc1");
  expect_refused(evaluated + "metric: knn_acc1\n", "metric 'knn_acc1' is measured of a data set; write test.knn_acc1");
  expect_refused(evaluated + "metric: test.knn_acc1\nexpected: [{metric: test.conflicting_ac, value: 0.5}]\n",
                 "did you mean 'test.conflicting_acc'?");
  expect_refused(evaluated + "metric: test.low_shot_acc1\n", "metric 'test.low_shot_acc1' is measured by no evaluation");
  for (const char* metric : {"test.knn_acc1", "test.linear_acc1", "test.low_shot_acc1_10pct", "test.retrieval_recall_at_1", "train_loss",
                             "fairkl.loss", "acc1"}) {  // some by debias eval
    EXPECT_EQ(checked(evaluated, {std::string("metric=") + metric}).size(), 1u);
  }
  KeptLog log;
  checked(evaluated, {"metric=valid.knn_acc1"}, {}, log);
  EXPECT_THAT(log.text, HasSubstr("no run measures 'valid.knn_acc1' while it trains: the recipes have no data.valid"));
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(SweepCheck, RejectsOutputsInsideAFolderOfTheData) {
  for (const char* picture : {"a/1.ppm", "a/2.ppm", "b/1.ppm", "b/2.ppm"}) {
    const fs::path path = folder_ / "pictures/" + picture;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "P6\n8 8\n255\n" << std::string(3 * 8 * 8, 'x');
  }
  const std::string out = folder_ / "pictures/runs", data = "={name: image_folder, root: " + folder_ / "pictures" + "}";
  for (const char* split : {"train", "test", "valid"}) {
    expect_refused("base: small.yaml\n", "output '" + out + "' is inside the data folder",
                   {"data." + std::string(split) + data, "output=" + out});
  }
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(SweepCheck, TakesOneTimeForSettingsThatCostTheSame) {
  const auto points = checked(
      "base: small.yaml\ngrid: {objective.0.temperature: [0.1, 0.5, 1], optimizer.learning_rate: [1e-2, 1e-3], encoder.width: [8, 16]}\n",
      {}, {.timed = true});
  std::set<double> seconds;
  for (const auto& [number, point] : points) seconds.insert(point.seconds());
  EXPECT_EQ(points.size(), 12u);
  EXPECT_EQ(seconds.size(), 2u);
  EXPECT_GT(*seconds.begin(), 0);
}

TEST_F(SweepCheck, LooksAtThePointsOfAShardAlone) {
  const std::string text = "base: small.yaml\nvariants: {good: {}, bad: {objective.0.tau_pls: 0.1}, other: {objective: unbiased}}\n";
  const SweepPlan read = plan(text);
  EXPECT_EQ(points_of(read, {1, 3}), std::set<size_t>{0});
  EXPECT_EQ(checked(text, {}, {.points = points_of(read, {1, 3})}).size(), 1u);
  usage_error_of([&] { checked(text, {}, {.points = points_of(read, {2, 3})}); });
  usage_error_of([&] { checked(text); });
  EXPECT_TRUE(checked("base: small.yaml\n", {}, {.points = points_of(plan("base: small.yaml\n"), {2, 2})}).empty())
      << "a shard without a run";
}

TEST_F(SweepCheck, GivesEveryRunItsOwnRecipe) {
  const std::string text = "base: small.yaml\nvariants: {a: {}, b: {}}\nseeds: [7, 8]\n";
  const SweepPlan read = plan(text);
  const CheckedPoints points = checked(text);
  ASSERT_EQ(read.runs.size(), 4u);
  for (size_t i = 0; i < read.runs.size(); ++i) {
    const Config recipe = recipe_of(points.at(i / 2), read.runs[i]);
    EXPECT_EQ(recipe.find("seed")->text(), read.runs[i].seed);
    EXPECT_EQ(recipe.find("output")->text(), folder_ / "out/" + read.runs[i].name());
  }
}

TEST_F(SweepCheck, RejectsARunThatTrainedOtherwise) {
  train_into(folder_ / "out/seed-1", kSmallRecipe, {"seed=1", "train.epochs=1"});
  open_sweep_record(plan("base: small.yaml\nseeds: [1]\n"));
  expect_refused("base: small.yaml\nvariants: {\"seed-1\": {}}\n", "that of another sweep");
  expect_refused("base: small.yaml\nseeds: [1, 2]\n", "run 'seed-1' exists with other settings: optimizer.learning_rate was 0.01, now 0.5",
                 {"optimizer.learning_rate=0.5"});
  EXPECT_EQ(checked("base: small.yaml\nseeds: [1, 2]\n").size(), 1u);
}

TEST_F(SweepCheck, OfAgentsNeedsTheirChecks) {
  std::ofstream(folder_ / "agent.yaml") << "environment: {task: cartpole_swingup}\nagent: {name: curl}\n";
  expect_refused("base: agent.yaml\n", "its runs are of agents");
}

TEST_F(SweepCheck, RunsToDoAreThoseOfTheShardThatAreNotFinished) {
  const SweepPlan read = plan("base: small.yaml\nseeds: [1, 2, 3, 4, 5]\n");
  const SweepRecord record = open_sweep_record(read);
  EXPECT_EQ(runs_to_do(read, record, {1, 2}), (std::vector<size_t>{0, 2, 4}));
  EXPECT_EQ(runs_to_do(read, record, {2, 2}), (std::vector<size_t>{1, 3}));
  const SweepRecord after = record_state(read.output, {read.runs[0].point, "1", RunState::kFinished, 0, ""});
  EXPECT_EQ(runs_to_do(read, after, {1, 2}).size(), 3u) << "its checkpoint is gone";
  fs::create_directories(read.output + "/seed-1/checkpoints");
  std::ofstream(read.output + "/seed-1/checkpoints/last.safetensors") << "weights";
  EXPECT_EQ(runs_to_do(read, after, {1, 2}), (std::vector<size_t>{2, 4}));
  EXPECT_EQ(size_text(read), "5 runs (1 setting, 5 seeds each)");
}

TEST_F(SweepCheck, WhatFailedOrWasStoppedIsAnError) {
  const SweepPlan read = plan("base: small.yaml\nseeds: [1, 2]\n");
  open_sweep_record(read);
  record_state(read.output, {read.runs[0].point, "1", RunState::kFailed, 4, "the loss is nan"});
  SweepRecord record = record_state(read.output, {read.runs[1].point, "2", RunState::kFinished, 0, ""});
  EXPECT_EQ(error_of(ErrorKind::kFailure, [&] { require_finished(read, record, {}, 0); }),
            "sweep: 1 of 2 runs failed: seed-1 (exit 4): the loss is nan; the same command tries again");
  require_finished(read, record, {2, 2}, 0);  // the other shard's
  record = record_state(read.output, {read.runs[0].point, "1", RunState::kStopped, 0, ""});
  EXPECT_EQ(error_of(ErrorKind::kInterrupted, [&] { require_finished(read, record, {}, 15); }),
            "sweep: stopped with 1 run to go; the same command continues");
}

}  // namespace debias::sweep_check_test

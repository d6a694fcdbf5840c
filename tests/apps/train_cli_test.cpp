// `debias train` as a process: stopping, resuming, refusing. Killed runs: tests/faults/kills.py.
#include "tests/apps/command.h"

namespace debias {
namespace train_cli_test {

class TrainCommand : public InFolder {
 protected:
  TrainCommand() { std::ofstream("small.yaml") << kSmallRecipe; }
  Words words(const std::string& name, const Words& more = {}) const { return with({"train", "small.yaml", "output=" + name}, more); }
};

TEST_F(TrainCommand, SigtermWritesACheckpointAndExitsWith75) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    const std::string name = "stopped" + std::to_string(signal);
    Background process(with({kBinary}, words(name, {"train.epochs=100000"})));
    EXPECT_TRUE(soon([&] { return fs::exists(name + "/checkpoints/last.safetensors"); }));
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, 75);
    EXPECT_NO_THROW(verify_safetensors(SafetensorsFile::open(name + "/checkpoints/last.safetensors")));
  }
}

TEST_F(TrainCommand, AnExistingFolderIsRefusedAndUnharmed) {
  done(words("run", {"train.epochs=1"}));
  const std::string before = trace_of("run");
  const auto again = run_debias(words("run", {"train.epochs=1"}));
  EXPECT_EQ(again.exit, 2);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
  EXPECT_EQ(trace_of("run"), before);
  const auto finished = done(words("run", {"train.epochs=1", "--resume"}));
  EXPECT_THAT(finished.out, HasSubstr("finished already"));
  EXPECT_EQ(trace_of("run"), before);
}

TEST_F(TrainCommand, AResolvedConfigRepeatsTheRun) {
  done(words("first", {"train.epochs=1"}));
  done({"train", "first/config.yaml", "output=second"});
  EXPECT_EQ(trace_of("second"), trace_of("first"));
}

TEST_F(TrainCommand, SeveralMistakesOfARecipeAreReportedAtOnce) {
  std::ofstream("wrong.yaml") << "sed: 3\n"
                                 "data:\n  train: {name: glyphs, corelation: 0.9}\n"
                                 "views: {preset: none, cuont: 1}\n"
                                 "encoder: {name: resnet18, widht: 8}\n"
                                 "objective: {name: infonce, temperature: -1}\n"
                                 "optimizer: {name: adam, learning_rat: 1e-3}\n"
                                 "train: {epochs: many, batch_siz: 8}\n"
                                 "output: none\n";
  const ProcessResult result = run_debias({"train", "wrong.yaml"});
  EXPECT_EQ(result.exit, 2);
  for (const char* line : {"wrong.yaml:1: recipe: unknown section 'sed'; did you mean 'seed'?", "'correlation'?", "'width'?",
                           "'learning_rate'?", "train: epochs: expected an integer, found many", "'batch_size'?", "temperature"}) {
    EXPECT_THAT(result.err, HasSubstr(line));
  }
  EXPECT_EQ(times("debias: ", result.err), 8u) << result.err;
  EXPECT_EQ(times("\n", result.err), 8u) << result.err;
  EXPECT_FALSE(fs::exists("none"));
}

TEST_F(TrainCommand, ADivergingRunExitsWith4AndKeepsItsCheckpoint) {
  const auto result = run_debias(words("diverged", {"optimizer={name: sgd, learning_rate: 1e38}", "train.epochs=50"}));
  EXPECT_EQ(result.exit, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("training stopped at step"));
}

TEST_F(TrainCommand, ADryRunPrintsPlanAndRecipeAndWritesNothing) {
  const auto result = done(words("dry", {"--dry-run"}));
  EXPECT_THAT(result.out, HasSubstr("ratio"));
  EXPECT_FALSE(fs::exists("dry"));
  const auto json = run_debias(words("dry", {"--dry-run", "--json"}));
  EXPECT_GT(Json::parse(json.out)["seconds_per_cached_step"].get<double>(), 0);
}

TEST_F(TrainCommand, CheckpointShowAndVerify) {
  done(words("run", {"train.epochs=1"}));
  EXPECT_NE(run_debias({"checkpoint", "show", "run"}).out.find("encoder.conv1.weight"), std::string::npos);
  const std::string last = "run/checkpoints/last.safetensors";
  done({"checkpoint", "verify", last});
  {
    std::fstream file(last, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('\x7f');
  }
  const auto damaged = run_debias({"checkpoint", "verify", last});
  EXPECT_EQ(damaged.exit, 3);
  EXPECT_NE(damaged.err.find(last), std::string::npos) << damaged.err;
}

TEST_F(TrainCommand, EveryRegistryIsListed) {
  for (const char* kind :
       {"objectives", "encoders", "heads", "datasets", "views", "steps", "optimizers", "schedules", "protocols", "methods", "samplers"}) {
    const auto json = Json::parse(run_debias({"list", kind, "--json"}).out);
    EXPECT_GE(json[kind].size(), 2u) << kind;
  }
}

}  // namespace train_cli_test

// `data.*.seed: run` as processes: one run, a resumed one, a sweep over seeds, several ranks, and an evaluation afterwards.
namespace data_seed_cli_test {

class DataSeed : public InFolder {
 protected:
  DataSeed() {
    std::ofstream("drawn.yaml") << small_recipe(
        {"data={train: {name: glyphs, size: 16, train_count: 96, correlation: 0.5, seed: run}, test: {name: glyphs, size: 16, test_count: "
         "40, "
         "split: test, correlation: 0.5, seed: run}}",
         "objective=infonce", "train.epochs=1", "train.batch_size=32", "evaluate={every: 1, protocols: [knn], knn: {k: 5}}"});
  }
  ProcessResult train(const std::string& run, const Words& more = {}) const {
    return run_debias(with({"train", "drawn.yaml", "output=" + run}, more));
  }
  json sets(const std::string& run) const { return json_in(run + "/data/sets.json"); }
  std::string weights(const std::string& run) const { return tensor_bytes(run + "/checkpoints/last.safetensors"); }
};

TEST_F(DataSeed, OfTheRunTrainsAsItsNumberAndStaysInTheRecipe) {
  ASSERT_EQ(train("follows").exit, 0);
  ASSERT_EQ(train("number", {"data.train.seed=3", "data.test.seed=3"}).exit, 0);
  ASSERT_EQ(train("other", {"data.train.seed=4", "data.test.seed=4"}).exit, 0);
  EXPECT_EQ(weights("follows"), weights("number"));
  EXPECT_EQ(file_text("follows/metrics.jsonl"), file_text("number/metrics.jsonl"));
  EXPECT_NE(weights("follows"), weights("other"));
  EXPECT_THAT(file_text("follows/config.yaml"), HasSubstr("seed: run"));
}

TEST_F(DataSeed, OfAResumedRunIsTheSame) {
  ASSERT_EQ(train("run").exit, 0);
  const ProcessResult again = train("run", {"--resume"});
  EXPECT_EQ(again.exit, 0) << again.err;
  expect_one_line(train("run", {"--resume", "data.train.seed=4"}), 2, "data.train.seed");
  expect_one_line(train("run", {"--resume", "seed=4"}), 2, "seed");
}

TEST_F(DataSeed, OfASweepDrawsDataForEachSeed) {
  std::ofstream("sweep.yaml") << "base: drawn.yaml\nseeds: [1, 2]\nmetric: test.knn_acc1\noutput: out\n";
  done({"sweep", "sweep.yaml"});
  for (const char* split : {"train", "test"}) EXPECT_NE(sets("out/seed-1")[split], sets("out/seed-2")[split]) << split;
  done({"sweep", "sweep.yaml", "--check"});
}

TEST_F(DataSeed, OfSeveralRanksIsOneForAll) {
  ASSERT_EQ(train("alone").exit, 0);
  const ProcessResult result = train("ranks", {"--ranks", "2"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(sets("ranks")["train"], sets("alone")["train"]);
}

TEST_F(DataSeed, OfAnEvaluationIsThatOfTheRun) {
  ASSERT_EQ(train("run").exit, 0);
  const ProcessResult result = done({"eval", "knn", "run", "k=5", "--json"});
  const std::string line = file_text("run/metrics.jsonl");
  const json last = json::parse(line.substr(line.rfind('\n', line.size() - 2) + 1));
  EXPECT_EQ(json::parse(result.out)["protocols"]["knn"]["metrics"]["test.knn_acc1"], last["test.knn_acc1"]);
}

}  // namespace data_seed_cli_test

// Samplers and sources of alpha in recipes, as a user meets them.
namespace sampler_cli_test {

class SamplerCommand : public InFolder {
 protected:
  SamplerCommand() {
    std::ofstream("recipe.yaml") << small_recipe({"data.train={name: glyphs, size: 16, classes: 2, correlation: 0.9, train_count: 120}",
                                                  "encoder={name: simple_convnet}", "objective.tau_plus={from: prior}", "train.epochs=2",
                                                  "train.batch_size=24"});
  }
  ProcessResult train(const Words& more) const { return run_debias(with({"train", "recipe.yaml", "output=run"}, more)); }
};

TEST_F(SamplerCommand, ADryRunSaysHowOftenEachGroupIsDrawn) {
  const ProcessResult result = train({"--dry-run", "--json", "sampler={name: weighted, oversample_conflicting: 3}"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json drawn = Json::parse(result.out).at("drawn");
  double share = 0, least = 1e9, most = 0;
  for (const Json& group : drawn) {
    share += group.at("share").get<double>();
    least = std::min(least, group.at("times_an_epoch").get<double>());
    most = std::max(most, group.at("times_an_epoch").get<double>());
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_NEAR(most / least, 3, 1e-12);
  const std::string text = train({"--dry-run", "sampler=balanced"}).out;
  EXPECT_THAT(text, HasSubstr("# sampler            of each group: images, share of the draws, times an epoch draws each image"));
  EXPECT_THAT(text, HasSubstr(" groups have no sample and cannot be drawn, the first is class '"));  // colours that a class has not
  EXPECT_FALSE(Json::parse(train({"--dry-run", "--json"}).out).contains("drawn"));
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(SamplerCommand, LabelsOfOnesOwnMustBeWhole) {
  done({"data", "make", "glyphs", "--out", "made", "size=16", "train_count=40", "test_count=10"});
  fs::create_directories("pictures");
  std::ofstream labels("labels.csv");
  labels << "path,label,bias\n";
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator("made")) {
    if (entry.path().extension() != ".png" || count == 12) continue;
    fs::copy_file(entry.path(), fmt::format("pictures/{}.png", count));
    labels << count << ".png," << (count % 2 == 0 ? "cat" : "dog") << "," << (count == 7 ? "" : count % 3 == 0 ? "red" : "blue") << "\n";
    ++count;
  }
  labels.close();
  const std::string data = "data.train={name: image_folder, root: pictures, labels: labels.csv}";
  const Words common = {data, "train.batch_size=4", "objective=infonce", "train.epochs=1"};
  const auto with = [&](const std::string& sampler) {
    Words words = common;
    words.push_back("sampler=" + sampler);
    return train(words);
  };
  const ProcessResult refused = with("balanced");
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err,
              HasSubstr("sampler 'balanced': 1 of 12 samples of data set 'image_folder' (split train) have no label or no bias label, the "
                        "first is '"));
  EXPECT_EQ(refused.err.rfind("debias: "), refused.err.find("debias: "))
      << refused.err;  // one line of the error, beside the columns' notes
  EXPECT_FALSE(fs::exists("run"));
  const ProcessResult by_class = with("{name: weighted, by: class}");
  EXPECT_EQ(by_class.exit, 0) << by_class.err;
}

}  // namespace sampler_cli_test

// `debias train RECIPE --seeds N` as a process: runs, resumption, the report of them, and what is refused.
namespace train_seeds_cli_test {

class TrainSeeds : public InFolder {
 protected:
  TrainSeeds() {
    const std::string glyphs = "{name: glyphs, size: 16, classes: 2, train_count: 64, test_count: 32, ";
    std::ofstream("small.yaml") << small_recipe(
        {"seed=4", "data={train: " + glyphs + "correlation: 0.9}, test: " + glyphs + "correlation: 0.5, split: test}}",
         "views={preset: none, count: 1}", "encoder={name: simple_convnet}", "head={name: none}", "objective=cross_entropy",
         "classifier={name: linear, gradient: flow}", "optimizer=adam", "train={epochs: 1, batch_size: 32, device: cpu, threads: 1}",
         "evaluate={protocols: [groups], groups: {bootstrap: 0}}", "output=runs"});
  }
  ProcessResult train(const Words& more) const { return run_debias(with({"train", "small.yaml"}, more)); }
  bool is_trained(int seed) const { return fs::exists("runs/seed-" + std::to_string(seed) + "/checkpoints/last.safetensors"); }
};

TEST_F(TrainSeeds, TrainsEachSeedOnceAndReportsThemTogether) {
  const ProcessResult first = train({"--seeds", "2"});
  ASSERT_EQ(first.exit, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("2 runs finished; debias report runs"));
  EXPECT_TRUE(is_trained(4) && is_trained(5) && !is_trained(6));
  const auto written = fs::last_write_time("runs/seed-4/config.yaml");
  const ProcessResult more = train({"--seeds", "3", "--resume", "--json"});
  ASSERT_EQ(more.exit, 0) << more.err;
  const json out = json::parse(more.out);
  ASSERT_EQ(out["runs"].size(), 3u);
  for (const auto& run : out["runs"]) EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(fs::last_write_time("runs/seed-4/config.yaml"), written);
  EXPECT_TRUE(is_trained(6));
  const json report = json::parse(run_debias({"report", "runs", "--json"}).out);
  ASSERT_EQ(report["columns"].size(), 1u);
  EXPECT_EQ(report["columns"][0]["metrics"]["test.acc1"]["seeds"], 3);
  EXPECT_EQ(report["verdict"]["shortcut"][0]["over"], "seeds");
  EXPECT_THAT(report["verdict"]["note"].get<std::string>(), HasSubstr("one draw of data.train"));
}

// The advice of the report is a command that works.
TEST_F(TrainSeeds, AreWhatTheReportOfOneRunAdvises) {
  ASSERT_EQ(train({}).exit, 0);
  const json report = json::parse(run_debias({"report", "runs", "--json"}).out);
  EXPECT_EQ(report["verdict"]["shortcut"][0]["command"], "debias train runs --seeds 3 output=runs-seeds");
  EXPECT_TRUE(report["verdict"]["shortcut"][0]["minutes"].is_number());
  const ProcessResult advised = done({"train", "runs", "--seeds", "3", "output=runs-seeds", "--dry-run", "--json"});
  EXPECT_EQ(json::parse(advised.out)["to_do"], 3);
  EXPECT_FALSE(fs::exists("runs-seeds"));
}

// A folder in the group would be counted among its runs.
TEST_F(TrainSeeds, AreFollowedByFurtherSeedsBesideTheGroup) {
  ASSERT_EQ(train({"--seeds", "2"}).exit, 0);
  const json report = json::parse(run_debias({"report", "runs", "--json"}).out);
  const std::string command = report["verdict"]["shortcut"][0]["command"], further = "runs-seeds";
  ASSERT_EQ(command, "debias train runs/seed-4 seed=6 --seeds 3 output=" + further);
  done({"train", "runs/seed-4", "seed=6", "--seeds", "1", "output=" + further});
  EXPECT_TRUE(fs::exists(further + "/seed-6/config.yaml"));
  const json all = json::parse(run_debias({"report", "runs", further, "--json"}).out);
  ASSERT_EQ(all["columns"].size(), 1u);
  EXPECT_EQ(all["columns"][0]["metrics"]["test.acc1"]["seeds"], 3);
}

TEST_F(TrainSeeds, LeaveMarksByWhichTheReportPairsImages) {
  ASSERT_EQ(train({}).exit, 0);
  ASSERT_EQ(train({"optimizer={name: adam, learning_rate: 0.1}", "output=runs-b"}).exit, 0);
  const json groups = json_in("runs/evaluation/groups.json");
  const std::string marks = groups["marks"]["test"];
  EXPECT_EQ(marks.size(), 32u);
  double right = 0, conflicting = 0, conflicting_right = 0;
  for (const char c : marks) {
    right += std::isupper(c) != 0;
    conflicting += c == 'C' || c == 'c';
    conflicting_right += c == 'C';
  }
  EXPECT_NEAR(groups["metrics"]["test.acc1"].get<double>(), right / 32, 1e-12);
  EXPECT_NEAR(groups["metrics"]["test.conflicting_acc"].get<double>(), conflicting_right / conflicting, 1e-12);
  const json report = json::parse(run_debias({"report", "runs", "runs-b", "--json"}).out);
  EXPECT_EQ(report["verdict"]["comparisons"][0]["over"], "images_paired");
  EXPECT_NE(report["verdict"]["comparisons"][0]["command"], "");
}

}  // namespace train_seeds_cli_test
}  // namespace debias

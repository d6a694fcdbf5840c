// `debias train` as a process: stopping, resuming, refusing. Killed runs: tests/faults/kills.py.
#include "tests/apps/command.h"

namespace debias::train_cli_test {

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

}  // namespace debias::train_cli_test

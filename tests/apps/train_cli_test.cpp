// `debias train` as a process: stopping, resuming, refusing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "debias/core/philox.h"
#include "debias/core/safetensors.h"
#include "tests/apps/background.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/apps/tensor_bytes.h"
#include "tests/train/small_recipe_text.h"

namespace debias {
namespace train_cli_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Everything a run must reproduce: metric files and each tensor of the last checkpoint.
std::string trace(const std::string& run) {
  return file_text(run + "/metrics.jsonl") + file_text(run + "/metrics.csv") + tensor_bytes(run + "/checkpoints/last.safetensors");
}

class TrainCommand : public testing::Test {
 protected:
  TrainCommand() { std::ofstream(recipe()) << kSmallRecipe; }
  std::string recipe() const { return folder_.path() + "/small.yaml"; }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::vector<std::string> words(const std::string& name, const std::vector<std::string>& more = {}) const {
    return with({"train", recipe(), "output=" + path(name)}, more);
  }
  TemporaryFolder folder_;
};

TEST_F(TrainCommand, KilledAtRandomMomentsAndResumedEachTimeEndsWithTheSameBytes) {
  const std::vector<std::string> epochs = {"train.epochs=4", "train.checkpoint_every=0.05"};
  const auto started = std::chrono::steady_clock::now();
  ASSERT_EQ(run_debias(words("whole", epochs)).exit, 0);
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  Random random(RngKey{RngDomain::kTest, 11});
  int kills = 0;
  const std::vector<std::string> more = with(epochs, {"--resume"});
  for (int attempt = 0; attempt < 60 && kills < 6; ++attempt) {
    Background process(with({debias_binary()}, words("killed", more)));
    std::this_thread::sleep_for(std::chrono::duration<double>(random.uniform(0.05, 0.8) * whole));
    process.signal(SIGKILL);
    if (process.wait().exit != 0) {
      ++kills;
      continue;
    }
    // The run was faster than the signal: a new one takes its place.
    EXPECT_EQ(trace(path("killed")), trace(path("whole")));
    fs::remove_all(path("killed"));
  }
  EXPECT_GE(kills, 2);
  ASSERT_EQ(run_debias(words("killed", more)).exit, 0);
  EXPECT_EQ(trace(path("killed")), trace(path("whole")));
}

TEST_F(TrainCommand, SigtermWritesACheckpointAndExitsWith75) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    const std::string name = "stopped" + std::to_string(signal);
    Background process(with({debias_binary()}, words(name, {"train.epochs=100000"})));
    EXPECT_TRUE(soon([&] { return fs::exists(path(name) + "/checkpoints/last.safetensors"); }));
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, 75);
    EXPECT_NO_THROW(verify_safetensors(SafetensorsFile::open(path(name) + "/checkpoints/last.safetensors")));
  }
}

TEST_F(TrainCommand, AnExistingFolderIsRefusedAndUnharmed) {
  ASSERT_EQ(run_debias(words("run", {"train.epochs=1"})).exit, 0);
  const std::string before = trace(path("run"));
  const auto again = run_debias(words("run", {"train.epochs=1"}));
  EXPECT_EQ(again.exit, 2);
  EXPECT_NE(again.err.find("--resume"), std::string::npos) << again.err;
  EXPECT_EQ(trace(path("run")), before);
  const auto finished = run_debias(words("run", {"train.epochs=1", "--resume"}));
  EXPECT_EQ(finished.exit, 0);
  EXPECT_NE(finished.out.find("finished already"), std::string::npos) << finished.out;
  EXPECT_EQ(trace(path("run")), before);
}

TEST_F(TrainCommand, AResolvedConfigRepeatsTheRun) {
  ASSERT_EQ(run_debias(words("first", {"train.epochs=1"})).exit, 0);
  ASSERT_EQ(run_debias({"train", path("first") + "/config.yaml", "output=" + path("second")}).exit, 0);
  EXPECT_EQ(trace(path("second")), trace(path("first")));
}

TEST_F(TrainCommand, MistakesExitWith2InOneLineThatNamesThem) {
  const auto expect = [&](const std::string& word, const std::string& text) {
    SCOPED_TRACE(word);
    expect_one_line(run_debias(words("bad", {word})), 2, text);
    EXPECT_FALSE(fs::exists(path("bad")));
  };
  expect("optimizer.learning_rat=1", "did you mean 'learning_rate'?");
  expect("objective.temperature=0", "temperature: 0 is out of range; give a value in [0.001, 100]");
  expect("views.random_resized_crop.sise=3", "did you mean 'size'?");
  expect("schedule.name=cosin", "did you mean 'cosine'?");
  expect("evaluate={protocols: [knnn]}", "did you mean 'knn'?");
  expect("data.train.nam=x", "did you mean 'name'?");
  expect("evaluate={protocols: [groups], select: valid.equalized_odds_difference}", "lower values are better");
  expect("evaluate={protocols: [geometry], select: valid.uniformity}", "neither higher nor lower values are better");
  EXPECT_EQ(run_debias({"trian"}).err, "debias: unknown command 'trian'; did you mean 'train'?\n");
  EXPECT_EQ(run_debias({"train", "absent.yaml"}).exit, 2);
}

TEST_F(TrainCommand, SeveralMistakesOfARecipeAreReportedAtOnce) {
  const std::string path = folder_ / "wrong.yaml";
  std::ofstream(path) << "sed: 3\n"
                         "data:\n  train: {name: glyphs, corelation: 0.9}\n"
                         "views: {preset: none, cuont: 1}\n"
                         "encoder: {name: resnet18, widht: 8}\n"
                         "objective: {name: infonce, temperature: -1}\n"
                         "optimizer: {name: adam, learning_rat: 1e-3}\n"
                         "train: {epochs: many, batch_siz: 8}\n"
                         "output: "
                      << folder_ / "none"
                      << "\n";
  const ProcessResult result = run_debias({"train", path});
  EXPECT_EQ(result.exit, 2);
  for (const char* line : {"wrong.yaml:1: recipe: unknown section 'sed'; did you mean 'seed'?", "'correlation'?", "'width'?",
                           "'learning_rate'?", "train: epochs: expected an integer, found many", "'batch_size'?", "temperature"}) {
    EXPECT_THAT(result.err, HasSubstr(line));
  }
  EXPECT_EQ(times("debias: ", result.err), 8u) << result.err;
  EXPECT_EQ(times("\n", result.err), 8u) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

TEST_F(TrainCommand, AnEmptyRecipeIsOneMistake) {
  for (const char* text : {"", "# nothing yet\n", "{}\n"}) {
    const std::string path = folder_ / "empty.yaml";
    std::ofstream(path) << text;
    expect_one_line(run_debias({"train", path, "output=" + folder_ / "none"}), 2, "recipe '" + path + "': it is empty; write the sections");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
  }
}

TEST_F(TrainCommand, MissingDataExitsWith3AndNamesThePath) {
  const auto result = run_debias(words("bad", {"data.train={name: mnist, root: " + path("nowhere") + "}"}));
  EXPECT_EQ(result.exit, 3);
  EXPECT_NE(result.err.find(path("nowhere")), std::string::npos) << result.err;
}

TEST_F(TrainCommand, ADivergingRunExitsWith4AndKeepsItsCheckpoint) {
  const auto result = run_debias(words("diverged", {"optimizer={name: sgd, learning_rate: 1e38}", "train.epochs=50"}));
  EXPECT_EQ(result.exit, 4) << result.err;
  EXPECT_NE(result.err.find("training stopped at step"), std::string::npos) << result.err;
}

TEST_F(TrainCommand, ADryRunPrintsPlanAndRecipeAndWritesNothing) {
  const auto result = run_debias(words("dry", {"--dry-run"}));
  EXPECT_EQ(result.exit, 0);
  EXPECT_NE(result.out.find("ratio"), std::string::npos) << result.out;
  EXPECT_FALSE(fs::exists(path("dry")));
  const auto json = run_debias(words("dry", {"--dry-run", "--json"}));
  EXPECT_GT(nlohmann::json::parse(json.out)["seconds_per_cached_step"].get<double>(), 0);
}

TEST_F(TrainCommand, CheckpointShowAndVerify) {
  ASSERT_EQ(run_debias(words("run", {"train.epochs=1"})).exit, 0);
  EXPECT_NE(run_debias({"checkpoint", "show", path("run")}).out.find("encoder.conv1.weight"), std::string::npos);
  const std::string last = path("run") + "/checkpoints/last.safetensors";
  EXPECT_EQ(run_debias({"checkpoint", "verify", last}).exit, 0);
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
    const auto json = nlohmann::json::parse(run_debias({"list", kind, "--json"}).out);
    EXPECT_GE(json[kind].size(), 2u) << kind;
  }
  EXPECT_EQ(run_debias({"list", "objective"}).exit, 2);
}

}  // namespace train_cli_test
}  // namespace debias

// `debias sweep` as a process: stopping, resuming, failing, refusing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "debias/core/philox.h"
#include "tests/apps/background.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/apps/tensor_bytes.h"
#include "tests/train/small_recipe_text.h"

namespace debias {
namespace sweep_cli_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kTwelve = R"(
base: small.yaml
variants: {plain: {}, unbiased: {objective: unbiased}}
grid: {optimizer.learning_rate: [1e-2, 1e-3]}
seeds: [1, 2, 3]
metric: train_loss
)";

std::string relative_text(const std::string& folder, const fs::path& file) {
  return file.lexically_relative(folder).string() + "\n" + file_text(file.string());
}

// Everything that a sweep must reproduce: its record, and of each run the metric files and the tensors of the last checkpoint.
std::string sweep_trace(const std::string& output) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(output)) files.insert(entry.path());
  std::string bytes;
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    if (name == "sweep.json" || name == "metrics.jsonl" || name == "metrics.csv") bytes += relative_text(output, file);
    if (name == "last.safetensors") bytes += tensor_bytes(file.string());
  }
  return bytes;
}

class SweepCommand : public testing::Test {
 protected:
  SweepCommand() { std::ofstream(folder_ / "small.yaml") << kSmallRecipe; }
  std::string file(const std::string& text) const {
    std::ofstream(folder_ / "sweep.yaml") << text << "output: " << folder_ / "out"
                                          << "\n";
    return folder_ / "sweep.yaml";
  }
  std::vector<std::string> words(const std::string& path, const std::vector<std::string>& more = {}) const {
    return with({"sweep", path, "train.epochs=1"}, more);
  }
  // One line, exit 2, and nothing run.
  void expect_refused(const std::string& text, const std::string& line, const std::vector<std::string>& more = {}) const {
    debias::expect_refused(run_debias(words(file(text), more)), 2, line);
  }
  json states(const std::string& output) const { return json::parse(file_text(output + "/sweep.json"))["runs"]; }
  TemporaryFolder folder_;
};

TEST_F(SweepCommand, KilledAtRandomMomentsAndRunAgainEndsWithTheSameBytes) {
  const std::string sweep = file(kTwelve);
  const std::vector<std::string> small = {"train.checkpoint_every=0.02", "data.train.train_count=32"};
  auto whole = words(sweep, small), killed = whole;
  whole.push_back("output=" + folder_ / "whole");
  killed.push_back("output=" + folder_ / "killed");
  const auto started = std::chrono::steady_clock::now();
  const ProcessResult undisturbed = run_debias(whole);
  ASSERT_EQ(undisturbed.exit, 0) << undisturbed.err;
  EXPECT_THAT(undisturbed.out, HasSubstr("12 runs finished"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  Random random(RngKey{RngDomain::kTest, 12});
  int kills = 0;
  for (int attempt = 0; attempt < 40 && kills < 5; ++attempt) {
    Background process(with({debias_binary()}, killed));
    std::this_thread::sleep_for(std::chrono::duration<double>(random.uniform(0.1, 0.4) * seconds));
    process.signal(SIGKILL);
    if (process.wait().exit == 0) break;
    ++kills;
  }
  EXPECT_GE(kills, 2);
  const ProcessResult last = run_debias(killed);
  ASSERT_EQ(last.exit, 0) << last.err;
  EXPECT_EQ(states(folder_ / "killed").size(), 12u);
  EXPECT_EQ(sweep_trace(folder_ / "killed"), sweep_trace(folder_ / "whole"));
}

TEST_F(SweepCommand, AStopSignalLeavesCheckpointsAndTheSameCommandGoesOn) {
  const std::string sweep = file("base: small.yaml\nseeds: [1, 2, 3]\n");
  const std::vector<std::string> long_runs = {"sweep", sweep, "train.epochs=400", "--jobs", "2"};
  Background process(with({debias_binary()}, long_runs));
  const std::string out = folder_ / "out";
  const auto both_train = [&] {
    return fs::exists(out + "/seed-1/checkpoints/last.safetensors") && fs::exists(out + "/seed-2/checkpoints/last.safetensors");
  };
  ASSERT_TRUE(soon(both_train));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit, 75);
  EXPECT_EQ(states(out)[0]["state"], "stopped");
  EXPECT_EQ(states(out)[1]["state"], "stopped");
  EXPECT_EQ(states(out)[2]["state"], "waiting");
  const ProcessResult again = run_debias({"sweep", sweep, "train.epochs=400", "--dry-run", "--check"});
  EXPECT_EQ(again.exit, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("3 to do"));
  std::string log = file_text(out + "/seed-1.log");
  EXPECT_THAT(log, HasSubstr("stopped by SIGTERM"));
}

TEST_F(SweepCommand, GoesOnAfterARunThatFailsAndTriesItAgain) {
  const std::string sweep = file("base: small.yaml\nvariants: {bad: {optimizer.learning_rate: 1e30}, good: {}}\n");
  const ProcessResult result = run_debias(words(sweep));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("sweep: 1 of 2 runs failed: bad/seed-1 (exit 4): "));
  EXPECT_EQ(states(folder_ / "out")[0]["state"], "failed");
  EXPECT_EQ(states(folder_ / "out")[0]["exit"], 4);
  EXPECT_EQ(states(folder_ / "out")[1]["state"], "finished");
  const ProcessResult again = run_debias(words(sweep, {"--json"}));
  EXPECT_EQ(again.exit, 1);
  EXPECT_THAT(again.err, HasSubstr("[1/1] bad/seed-1"));
  EXPECT_EQ(times("good/seed-1", again.err), 0u);
  EXPECT_EQ(json::parse(again.out)["runs"][0]["state"], "failed");
}

TEST_F(SweepCommand, KnowsHowRunsEndedWhereSigchldWasIgnored) {
  const auto sweep = words(file("base: small.yaml\nvariants: {bad: {optimizer.learning_rate: 1e30}, good: {}}\n"));
  const ProcessResult result = run(ignoring_sigchld(with({debias_binary()}, sweep)));
  EXPECT_THAT(result.err, HasSubstr("sweep: 1 of 2 runs failed: bad/seed-1 (exit 4): "));
  EXPECT_EQ(states(folder_ / "out")[1]["state"], "finished");
}

TEST_F(SweepCommand, ShardsAreTheWholeAndEachRunOnce) {
  const std::string sweep = file("base: small.yaml\nseeds: [1, 2, 3, 4, 5]\n");
  std::multiset<std::string> commands;
  for (const char* shard : {"1/2", "2/2"}) {
    const ProcessResult result = run_debias(words(sweep, {"--shard", shard, "--print-commands"}));
    ASSERT_EQ(result.exit, 0) << result.err;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) commands.insert(line);
  }
  ASSERT_EQ(commands.size(), 5u);
  EXPECT_EQ(std::set<std::string>(commands.begin(), commands.end()).size(), 5u);
  EXPECT_EQ(*commands.begin(), "debias train " + folder_ / "out" + "/seed-1.yaml --resume");
  ASSERT_EQ(run_debias({"train", folder_ / "out/seed-1.yaml", "--resume"}).exit, 0);  // as another scheduler does
  const ProcessResult rest = run_debias(words(sweep, {"--shard", "2/2"}));
  EXPECT_EQ(rest.exit, 0) << rest.err;
  EXPECT_FALSE(fs::exists(folder_ / "out/seed-3/config.yaml"));
  EXPECT_TRUE(fs::exists(folder_ / "out/seed-4/config.yaml"));
  expect_refused("base: small.yaml\n", "--shard '3/2' is not of the form", {"--shard", "3/2"});
  expect_refused("base: small.yaml\n", "--shard '0/2' is not of the form", {"--shard", "0/2"});
}

TEST_F(SweepCommand, ADryRunSaysHowManyRunsAndHowLongAndWritesNothing) {
  const ProcessResult text = run_debias(words(file(kTwelve), {"--dry-run"}));
  ASSERT_EQ(text.exit, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("12 runs (4 settings, 3 seeds each), 12 to do"));
  EXPECT_THAT(text.out, HasSubstr("one after another"));
  const ProcessResult result = run_debias(words(file(kTwelve), {"--dry-run", "--json"}));
  const json plan = json::parse(result.out);
  ASSERT_EQ(plan["runs"].size(), 12u);
  const json checked = json::parse(run_debias(words(file(kTwelve), {"--check", "--json"})).out);
  ASSERT_EQ(checked["runs"].size(), 12u);
  for (const json* found : {&plan, &checked}) {
    for (const auto& run : found->at("runs")) {
      EXPECT_EQ(run["recipe"]["output"], folder_ / "out/" + run["name"].get<std::string>());
      EXPECT_EQ(run["recipe"]["seed"].dump(), run["seed"].get<std::string>());
    }
  }
  double sum = 0;
  for (const auto& run : plan["runs"]) sum += run["seconds"].get<double>();
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(plan["seconds_to_do"].get<double>(), sum, 1e-9 * sum);
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(SweepCommand, PrintsNoCommandOfAFinishedSweepAndSaysSo) {
  const std::string sweep = file("base: small.yaml\n");
  ASSERT_EQ(run_debias(words(sweep)).exit, 0);
  const ProcessResult finished = run_debias(words(sweep, {"--print-commands"}));
  EXPECT_EQ(finished.exit, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, HasSubstr("out: no run is left to do, so no command is printed"));
}

TEST_F(SweepCommand, BadInputIsOneLineBeforeAnythingRuns) {
  expect_refused("base: small.yaml\ngrid: {encoder.widht: [8]}\n", "did you mean 'width'?");
  expect_refused("base: small.yaml\n", "--jobs 0", {"--jobs", "0"});
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(SweepCommand, TwoAtOnceOnOneOutputAreRefused) {
  const std::string sweep = file("base: small.yaml\n");
  Background process(with({debias_binary()}, {"sweep", sweep, "train.epochs=100000"}));
  EXPECT_TRUE(soon([&] { return fs::exists(folder_ / "out/seed-1/config.yaml"); }));
  const ProcessResult second = run_debias({"sweep", sweep, "train.epochs=100000"});
  EXPECT_EQ(second.exit, 2);
  EXPECT_THAT(second.err, HasSubstr("another process is at work"));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit, 75);
}

}  // namespace sweep_cli_test
}  // namespace debias

// `debias sweep` as a process: stopping, resuming, failing, refusing.
#include "debias/core/philox.h"
#include "tests/apps/command.h"

namespace debias::sweep_cli_test {

constexpr const char* kTwelve = R"(
base: small.yaml
variants: {plain: {}, unbiased: {objective: unbiased}}
grid: {optimizer.learning_rate: [1e-2, 1e-3]}
seeds: [1, 2, 3]
metric: train_loss
)";

// Everything that a sweep must reproduce: its record, and of each run the metric files and the tensors of the last checkpoint.
std::string sweep_trace(const std::string& output) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(output)) files.insert(entry.path());
  std::string bytes;
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    if (name == "sweep.json" || name == "metrics.jsonl" || name == "metrics.csv")
      bytes += file.lexically_relative(output).string() + "\n" + file_text(file);
    if (name == "last.safetensors") bytes += tensor_bytes(file.string());
  }
  return bytes;
}

class SweepCommand : public InFolder {
 protected:
  SweepCommand() { std::ofstream("small.yaml") << kSmallRecipe; }
  std::string file(const std::string& text) const {
    std::ofstream("sweep.yaml") << text << "output: out\n";
    return "sweep.yaml";
  }
  Words words(const std::string& path, const Words& more = {}) const { return with({"sweep", path, "train.epochs=1"}, more); }
  json states(const std::string& output) const { return json_in(output + "/sweep.json")["runs"]; }
};

TEST_F(SweepCommand, KilledAtRandomMomentsAndRunAgainEndsWithTheSameBytes) {
  const std::string sweep = file(kTwelve);
  const Words small = {"train.checkpoint_every=0.02", "data.train.train_count=32"};
  auto whole = words(sweep, small), killed = whole;
  whole.push_back("output=whole");
  killed.push_back("output=killed");
  const auto started = std::chrono::steady_clock::now();
  const ProcessResult undisturbed = done(whole);
  EXPECT_THAT(undisturbed.out, HasSubstr("12 runs finished"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  Random random(RngKey{RngDomain::kTest, 12});
  int kills = 0;
  for (int attempt = 0; attempt < 40 && kills < 5; ++attempt) {
    Background process(with({kBinary}, killed));
    std::this_thread::sleep_for(std::chrono::duration<double>(random.uniform(0.1, 0.4) * seconds));
    process.signal(SIGKILL);
    if (process.wait().exit == 0) break;
    ++kills;
  }
  EXPECT_GE(kills, 2);
  done(killed);
  EXPECT_EQ(states("killed").size(), 12u);
  EXPECT_EQ(sweep_trace("killed"), sweep_trace("whole"));
}

TEST_F(SweepCommand, AStopSignalLeavesCheckpointsAndTheSameCommandGoesOn) {
  const std::string sweep = file("base: small.yaml\nseeds: [1, 2, 3]\n");
  const Words long_runs = {"sweep", sweep, "train.epochs=400", "--jobs", "2"};
  Background process(with({kBinary}, long_runs));
  const std::string out = "out";
  const auto both_train = [&] {
    return fs::exists(out + "/seed-1/checkpoints/last.safetensors") && fs::exists(out + "/seed-2/checkpoints/last.safetensors");
  };
  ASSERT_TRUE(soon(both_train));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit, 75);
  EXPECT_EQ(states(out)[0]["state"], "stopped");
  EXPECT_EQ(states(out)[1]["state"], "stopped");
  EXPECT_EQ(states(out)[2]["state"], "waiting");
  const ProcessResult again = done({"sweep", sweep, "train.epochs=400", "--dry-run", "--check"});
  EXPECT_THAT(again.out, HasSubstr("3 to do"));
  std::string log = file_text(out + "/seed-1.log");
  EXPECT_THAT(log, HasSubstr("stopped by SIGTERM"));
}

TEST_F(SweepCommand, GoesOnAfterARunThatFailsAndTriesItAgain) {
  const std::string sweep = file("base: small.yaml\nvariants: {bad: {optimizer.learning_rate: 1e30}, good: {}}\n");
  const ProcessResult result = run_debias(words(sweep));
  EXPECT_EQ(result.exit, 1);
  EXPECT_THAT(result.err, HasSubstr("sweep: 1 of 2 runs failed: bad/seed-1 (exit 4): "));
  EXPECT_EQ(states("out")[0]["state"], "failed");
  EXPECT_EQ(states("out")[0]["exit"], 4);
  EXPECT_EQ(states("out")[1]["state"], "finished");
  const ProcessResult again = run_debias(words(sweep, {"--json"}));
  EXPECT_EQ(again.exit, 1);
  EXPECT_THAT(again.err, HasSubstr("[1/1] bad/seed-1"));
  EXPECT_EQ(times("good/seed-1", again.err), 0u);
  EXPECT_EQ(json::parse(again.out)["runs"][0]["state"], "failed");
}

TEST_F(SweepCommand, KnowsHowRunsEndedWhereSigchldWasIgnored) {
  const auto sweep = words(file("base: small.yaml\nvariants: {bad: {optimizer.learning_rate: 1e30}, good: {}}\n"));
  const ProcessResult result = run(ignoring_sigchld(with({kBinary}, sweep)));
  EXPECT_THAT(result.err, HasSubstr("sweep: 1 of 2 runs failed: bad/seed-1 (exit 4): "));
  EXPECT_EQ(states("out")[1]["state"], "finished");
}

TEST_F(SweepCommand, ShardsAreTheWholeAndEachRunOnce) {
  const std::string sweep = file("base: small.yaml\nseeds: [1, 2, 3, 4, 5]\n");
  std::multiset<std::string> commands;
  for (const char* shard : {"1/2", "2/2"}) {
    const ProcessResult result = done(words(sweep, {"--shard", shard, "--print-commands"}));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) commands.insert(line);
  }
  ASSERT_EQ(commands.size(), 5u);
  EXPECT_EQ(std::set<std::string>(commands.begin(), commands.end()).size(), 5u);
  EXPECT_EQ(*commands.begin(), "debias train out/seed-1.yaml --resume");
  done({"train", "out/seed-1.yaml", "--resume"});  // as another scheduler does
  done(words(sweep, {"--shard", "2/2"}));
  EXPECT_FALSE(fs::exists("out/seed-3/config.yaml"));
  EXPECT_TRUE(fs::exists("out/seed-4/config.yaml"));
}

TEST_F(SweepCommand, ADryRunSaysHowManyRunsAndHowLongAndWritesNothing) {
  const ProcessResult text = done(words(file(kTwelve), {"--dry-run"}));
  expect_parts(text.out, {"12 runs (4 settings, 3 seeds each), 12 to do", "one after another"});
  const ProcessResult result = run_debias(words(file(kTwelve), {"--dry-run", "--json"}));
  const json plan = json::parse(result.out);
  ASSERT_EQ(plan["runs"].size(), 12u);
  const json checked = json::parse(run_debias(words(file(kTwelve), {"--check", "--json"})).out);
  ASSERT_EQ(checked["runs"].size(), 12u);
  for (const json* found : {&plan, &checked}) {
    for (const auto& run : found->at("runs")) {
      EXPECT_EQ(run["recipe"]["output"], "out/" + run["name"].get<std::string>());
      EXPECT_EQ(run["recipe"]["seed"].dump(), run["seed"].get<std::string>());
    }
  }
  double sum = 0;
  for (const auto& run : plan["runs"]) sum += run["seconds"].get<double>();
  EXPECT_GT(sum, 0);
  EXPECT_NEAR(plan["seconds_to_do"].get<double>(), sum, 1e-9 * sum);
  EXPECT_FALSE(fs::exists("out"));
}

TEST_F(SweepCommand, PrintsNoCommandOfAFinishedSweepAndSaysSo) {
  const std::string sweep = file("base: small.yaml\n");
  done(words(sweep));
  const ProcessResult finished = done(words(sweep, {"--print-commands"}));
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, HasSubstr("out: no run is left to do, so no command is printed"));
}

TEST_F(SweepCommand, TwoAtOnceOnOneOutputAreRefused) {
  const std::string sweep = file("base: small.yaml\n");
  Background process(with({kBinary}, {"sweep", sweep, "train.epochs=100000"}));
  EXPECT_TRUE(soon([&] { return fs::exists("out/seed-1/config.yaml"); }));
  const ProcessResult second = run_debias({"sweep", sweep, "train.epochs=100000"});
  EXPECT_EQ(second.exit, 2);
  EXPECT_THAT(second.err, HasSubstr("another process is at work"));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().exit, 75);
}

}  // namespace debias::sweep_cli_test

// `debias sweep` and `debias table` of agents, as processes, and the sweeps in recipes/rl.
#include "tests/apps/agent_runs.h"
#include "tests/apps/command.h"

namespace debias::agent_sweeps_test {

// With a sweep's base of its own in a folder.
class AgentSweepFolder : public testing::Test {
 protected:
  AgentSweepFolder() { std::ofstream(folder_ / "tiny.yaml") << kSmallAgent; }

  // The words that run this text as a sweep.
  Words sweep(const std::string& text, const Words& more = {}) const {
    std::ofstream(folder_ / "sweep.yaml") << "base: tiny.yaml\nmetric: test.return_mean\n" << text << "output: " << out() << "\n";
    return with({"sweep", folder_ / "sweep.yaml"}, more);
  }
  void expect_refused(const std::string& text, const std::string& line, const Words& more = {}) const {
    debias::expect_refused(run_debias(sweep(text, more)), 2, line);
  }
  std::string out() const { return folder_ / "out"; }
  json states(const std::string& output) const { return json_in(output + "/sweep.json")["runs"]; }

  TemporaryFolder folder_;
};

class AgentSweeps : public AgentSweepFolder {
 protected:
  void SetUp() override {
    if (!has_agents()) GTEST_SKIP() << "built without MuJoCo";
  }
};

// What a sweep of two seeds left: its record, metrics, and all tensors.
std::string trace_of_agents(const std::string& output) {
  std::string bytes = file_text(output + "/sweep.json");
  for (const char* seed : {"/seed-1", "/seed-2"}) {
    bytes += file_text(output + seed + "/metrics.jsonl") + tensor_bytes(output + seed + "/checkpoints/last.safetensors");
  }
  return bytes;
}

constexpr const char* kTwoTasks =
    "variants: {biased: {objective: infonce}, debiased: {}}\n"
    "grid: {environment.task: [cartpole_swingup, reacher_easy]}\n"
    "overrides: [{at: {environment.task: reacher_easy}, set: {train.control_steps: 1000}}]\n"
    "seeds: [1, 2]\n"
    "expected: [{variant: biased, over: environment.task, values: [850, 918], spreads: [20, 96], source: T3}]\n";

TEST_F(AgentSweeps, AreRunOnceAndComparedInATable) {
  const Words words = sweep(kTwoTasks, {"train.epochs=1", "--jobs", "2"});
  const ProcessResult first = done(words);
  EXPECT_THAT(first.out, HasSubstr("8 runs finished"));
  const ProcessResult again = done(words);
  EXPECT_EQ(times(": started", again.err), 0u);
  const json table = json::parse(run_debias({"table", out(), "--json"}).out);
  EXPECT_EQ(table["metric"], "test.return_mean");
  ASSERT_EQ(table["rows"].size(), 4u);
  EXPECT_EQ(table["rows"][1]["label"], "biased, task reacher_easy");
  EXPECT_EQ(table["rows"][1]["expected"], 918);
  EXPECT_EQ(table["rows"][1]["values"].size(), 2u);
  ASSERT_EQ(table["differences"].size(), 2u);
  EXPECT_EQ(table["differences"][0]["a"], "debiased, task cartpole_swingup");
  EXPECT_EQ(table["differences"][0]["b"], "biased, task cartpole_swingup");
  EXPECT_EQ(table["differences"][0]["n"], 2);
  EXPECT_FALSE(table["differences"][0]["paired"]);                               // by Welch's test, with fewer than three common seeds
  EXPECT_EQ(times("%", run_debias({"table", folder_ / "sweep.yaml"}).out), 1u);  // of the interval's 95 %
}

TEST_F(AgentSweeps, KilledAndStoppedAndRunAgainEndWithTheSameBytes) {
  const Words words = sweep("seeds: [1, 2]\n", {"train.epochs=4", "--jobs", "2"});
  Words whole = words, broken = words;
  whole.push_back("output=" + folder_ / "whole");
  broken.push_back("output=" + folder_ / "broken");
  done(whole);
  fs::file_time_type written{};
  for (const int signal : {SIGKILL, SIGTERM}) {
    Background process(with({kBinary}, broken));
    written = wait_for_checkpoint(folder_ / "broken/seed-1", written);
    process.signal(signal);
    EXPECT_EQ(process.wait().exit, signal == SIGTERM ? 75 : 128 + SIGKILL);
    std::error_code none;  // what was written until then
    written = fs::last_write_time(folder_ / "broken/seed-1/checkpoints/last.safetensors", none);
  }
  done(broken);
  EXPECT_TRUE(trace_of_agents(folder_ / "broken") == trace_of_agents(folder_ / "whole"));
}

TEST_F(AgentSweeps, GoOnAfterARunThatFailsAndTryItAgain) {
  const Words words = sweep("variants: {bad: {agent.learning_rate: 1e30}, good: {}}\n", {"train.epochs=1"});
  const ProcessResult result = run_debias(words);
  EXPECT_EQ(result.exit, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("sweep: 1 of 2 runs failed: bad/seed-1 (exit "));
  EXPECT_EQ(states(out())[0]["state"], "failed");
  EXPECT_EQ(states(out())[1]["state"], "finished");
  const ProcessResult again = run_debias(words);
  EXPECT_THAT(again.err, HasSubstr("[1/1] bad/seed-1"));
}

TEST_F(AgentSweeps, SayBeforehandHowManyRunsAndHowLongAndWriteNothing) {
  const ProcessResult text = done(sweep(kTwoTasks, {"--dry-run"}));
  EXPECT_THAT(text.out, AllOf(HasSubstr("8 runs (4 settings, 2 seeds each), 8 to do"), HasSubstr("one after another")));
  const json plan = json::parse(run_debias(sweep(kTwoTasks, {"--dry-run", "--json"})).out);
  ASSERT_EQ(plan["runs"].size(), 8u);
  EXPECT_EQ(plan["runs"][0]["steps_per_epoch"], 75);
  EXPECT_EQ(plan["runs"][2]["steps_per_epoch"], 50);
  double sum = 0;
  for (const auto& run : plan["runs"]) {
    EXPECT_GT(run["seconds"].get<double>(), 0);
    sum += run["seconds"].get<double>();
  }
  EXPECT_NEAR(plan["seconds_to_do"].get<double>(), sum, 1e-9 * sum);
  EXPECT_FALSE(json::parse(run_debias(sweep(kTwoTasks, {"--check", "--json"})).out)["runs"][0].contains("seconds"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(AgentSweeps, PrintTheCommandsOfTheirShard) {
  const ProcessResult result = done(sweep("seeds: [1, 2, 3]\n", {"--shard", "2/2", "--print-commands"}));
  EXPECT_EQ(result.out, "debias rl train " + out() + "/seed-2.yaml --resume\n");
  done({"rl", "train", out() + "/seed-2.yaml", "--dry-run"});
}

TEST_F(AgentSweeps, ThatCannotRunAreRefusedInOneLineBeforeAnythingRuns) {
  expect_refused("grid: {agent.filter: [4, 8]}\n", "filter 4: ");
  expect_refused("grid: {agent.filter: [4, 8]}\n", "unknown option 'filter'; did you mean 'filters'?");
  expect_refused("grid: {agnet.filters: [4, 8]}\n", "unknown section 'agnet'; did you mean 'agent'?");
  expect_refused("grid: {environment.task: [reacher_esay]}\n", "did you mean 'reacher_easy'?");
  expect_refused("variants: {a: {objective: biascon}}\n", "without labels");
  expect_refused("variants: {b: {replay.megabytes: 0.01}}\n", "b: replay: 0.01 MB hold");
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(AgentSweeps, WhoseRunsAreThereMustTrainAsTheyDid) {
  done(sweep("", {"train.epochs=1"}));
  expect_refused("seeds: [1, 2]\n", "run 'seed-1' exists with other settings: agent.hidden was 16, now 8",
                 {"train.epochs=1", "agent.hidden=8"});
}

TEST_F(AgentSweeps, WithoutARendererSayWhatToInstallBeforeAnythingRuns) {
  setenv("__EGL_VENDOR_LIBRARY_FILENAMES", "/nonexistent.json", 1);
  const ProcessResult found = run_debias(sweep(""));
  unsetenv("__EGL_VENDOR_LIBRARY_FILENAMES");
  EXPECT_EQ(found.exit, 1) << found.err;
  EXPECT_THAT(found.err, HasSubstr("install Mesa's EGL (packages libegl1, libegl-mesa0 and libgl1-mesa-dri; in a checkout: "));
  EXPECT_FALSE(fs::exists(out()));
}

using AgentSweepsWithoutMujoco = AgentSweepFolder;

TEST_F(AgentSweepsWithoutMujoco, SayInOneLineWhatToDo) {
  if (has_agents()) GTEST_SKIP() << "built with MuJoCo";
  for (const char* way : {"--check", "--dry-run", "--print-commands", "--json"}) {
    expect_refused("seeds: [1, 2]\n", "built without MuJoCo or EGL; build it where both are installed (in a checkout: ", {way});
  }
  EXPECT_FALSE(fs::exists(out()));
}

class WrittenAgentSweeps : public AgentSweeps {
 protected:
  static json checked(const std::string& name) {
    const ProcessResult result = done({"sweep", golden_folder("../../recipes/rl") + "/" + name + ".yaml", "--check", "--json"});
    return result.exit == 0 ? json::parse(result.out)["runs"] : json::array();
  }
};

TEST_F(WrittenAgentSweeps, OfTheSixTasksHaveAPublishedReturnInEveryRun) {
  const json runs = checked("table3");
  ASSERT_EQ(runs.size(), 108u);
  std::set<std::string> names, settings;
  for (const auto& run : runs) {
    const json& recipe = run["recipe"];
    ASSERT_EQ(recipe.at("expected").size(), 1u);
    const json& expected = recipe["expected"][0];
    EXPECT_EQ(expected.at("metric"), "test.return_mean");
    EXPECT_GT(expected.at("value"), expected.at("spread")) << run["name"];
    EXPECT_EQ(recipe["environment"]["task"], run["grid"]["environment.task"]);
    names.insert(run["name"]);
    settings.insert(expected.dump() + recipe["environment"]["task"].dump());
  }
  EXPECT_EQ(names.size(), 108u);    // all of six tasks, six losses and three seeds
  EXPECT_EQ(settings.size(), 36u);  // the same for all seeds
}

TEST_F(WrittenAgentSweeps, OfSmallScaleCanBeRunWithAsManyStepsOfTheAgentInBothTasks) {
  const json runs = checked("small/control");
  ASSERT_EQ(runs.size(), 18u);
  for (const auto& run : runs) {
    EXPECT_EQ(run["steps_per_epoch"], 1250) << run["name"];
    EXPECT_EQ(run["recipe"]["train"]["threads"], 1);
    EXPECT_EQ(run["recipe"]["environment"]["pixels"], 57);
  }
  EXPECT_EQ(runs[12]["recipe"]["objective"], "none");
}

TEST(AgentSweepRecipes, SayHowLongTheyTake) {
  for (const char* name : {"table3", "small/control"}) {
    EXPECT_THAT(file_text(golden_folder("../../recipes/rl") + "/" + name + ".yaml"), HasSubstr("# Time: ")) << name;
  }
}

}  // namespace debias::agent_sweeps_test

// `debias train RECIPE --seeds N` as a process: runs, resumption, the report of them, and what is refused.
#include "tests/apps/command.h"

namespace debias::train_seeds_cli_test {

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

}  // namespace debias::train_seeds_cli_test

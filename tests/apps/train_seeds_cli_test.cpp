// `debias train RECIPE --seeds N` as a process: runs, resumption, the report of them, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/report/run_fixture.h"

namespace debias {
namespace train_seeds_cli_test {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class TrainSeeds : public testing::Test {
 protected:
  TrainSeeds() {
    write_text(recipe(), R"(name: small
seed: 4
data:
  train: {name: glyphs, root: "", size: 16, classes: 2, train_count: 64, test_count: 32, correlation: 0.9}
  test: {name: glyphs, root: "", size: 16, classes: 2, train_count: 64, test_count: 32, correlation: 0.5, split: test}
views: {preset: none, count: 1}
encoder: {name: simple_convnet}
objective: cross_entropy
classifier: {name: linear, gradient: flow}
train: {epochs: 1, batch_size: 32, device: cpu, threads: 1}
evaluate: {protocols: [groups], groups: {bootstrap: 0}}
output: )" + output() + "\n");
  }
  std::string recipe() const { return folder_ / "small.yaml"; }
  std::string output() const { return folder_ / "runs"; }
  ProcessResult train(const std::vector<std::string>& more) const { return run_debias(with({"train", recipe()}, more)); }
  bool is_trained(int seed) const {
    return std::filesystem::exists(output() + "/seed-" + std::to_string(seed) + "/checkpoints/last.safetensors");
  }
  TemporaryFolder folder_;
};

TEST_F(TrainSeeds, TrainsEachSeedOnceAndReportsThemTogether) {
  const ProcessResult first = train({"--seeds", "2"});
  ASSERT_EQ(first.exit, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("2 runs finished; debias report " + output()));
  EXPECT_TRUE(is_trained(4) && is_trained(5) && !is_trained(6));
  const auto written = std::filesystem::last_write_time(output() + "/seed-4/config.yaml");
  const ProcessResult more = train({"--seeds", "3", "--resume", "--json"});
  ASSERT_EQ(more.exit, 0) << more.err;
  const json out = json::parse(more.out);
  ASSERT_EQ(out["runs"].size(), 3u);
  for (const auto& run : out["runs"]) EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(std::filesystem::last_write_time(output() + "/seed-4/config.yaml"), written);
  EXPECT_TRUE(is_trained(6));
  const json report = json::parse(run_debias({"report", output(), "--json"}).out);
  ASSERT_EQ(report["columns"].size(), 1u);
  EXPECT_EQ(report["columns"][0]["metrics"]["test.acc1"]["seeds"], 3);
  EXPECT_EQ(report["verdict"]["shortcut"][0]["over"], "seeds");
  EXPECT_THAT(report["verdict"]["note"].get<std::string>(), HasSubstr("one draw of data.train"));
}

// The advice of the report is a command that works.
TEST_F(TrainSeeds, AreWhatTheReportOfOneRunAdvises) {
  ASSERT_EQ(train({}).exit, 0);
  const json report = json::parse(run_debias({"report", output(), "--json"}).out);
  EXPECT_EQ(report["verdict"]["shortcut"][0]["command"], "debias train " + output() + " --seeds 3 output=" + output() + "-seeds");
  EXPECT_TRUE(report["verdict"]["shortcut"][0]["minutes"].is_number());
  const ProcessResult advised = run_debias({"train", output(), "--seeds", "3", "output=" + output() + "-seeds", "--dry-run", "--json"});
  ASSERT_EQ(advised.exit, 0) << advised.err;
  EXPECT_EQ(json::parse(advised.out)["to_do"], 3);
  EXPECT_FALSE(std::filesystem::exists(output() + "-seeds"));
}

// A folder in the group would be counted among its runs.
TEST_F(TrainSeeds, AreFollowedByFurtherSeedsBesideTheGroup) {
  ASSERT_EQ(train({"--seeds", "2"}).exit, 0);
  const json report = json::parse(run_debias({"report", output(), "--json"}).out);
  const std::string command = report["verdict"]["shortcut"][0]["command"], further = output() + "-seeds";
  ASSERT_EQ(command, "debias train " + output() + "/seed-4 seed=6 --seeds 3 output=" + further);
  const ProcessResult advised = run_debias({"train", output() + "/seed-4", "seed=6", "--seeds", "1", "output=" + further});
  ASSERT_EQ(advised.exit, 0) << advised.err;
  EXPECT_TRUE(std::filesystem::exists(further + "/seed-6/config.yaml"));
  const json all = json::parse(run_debias({"report", output(), further, "--json"}).out);
  ASSERT_EQ(all["columns"].size(), 1u);
  EXPECT_EQ(all["columns"][0]["metrics"]["test.acc1"]["seeds"], 3);
}

TEST_F(TrainSeeds, LeaveMarksByWhichTheReportPairsImages) {
  ASSERT_EQ(train({}).exit, 0);
  ASSERT_EQ(train({"optimizer={name: adam, learning_rate: 0.1}", "output=" + output() + "-b"}).exit, 0);
  const json groups = json::parse(file_text(output() + "/evaluation/groups.json"));
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
  const json report = json::parse(run_debias({"report", output(), output() + "-b", "--json"}).out);
  EXPECT_EQ(report["verdict"]["comparisons"][0]["over"], "images_paired");
  EXPECT_NE(report["verdict"]["comparisons"][0]["command"], "");
}

TEST_F(TrainSeeds, RefuseWhatCannotBe) {
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) { expect_one_line(train(more), 2, part); };
  refused({"--seeds", "0"}, "train: --seeds 0: give 1 to 10000");
  refused({"--seeds", "2", "--ranks", "2"}, "--seeds and --ranks exclude each other");
  refused({"--seeds", "2", "--overwrite"}, "--seeds and --overwrite exclude each other");
  refused({"--seeds", "2", "train.epochz=2"}, "epochz");
  refused({"--seeds", "2", "seed=1.5"}, "seed");
  EXPECT_FALSE(std::filesystem::exists(output()));
  write_text(output() + "/config.yaml", "seed: 1\n");
  refused({"--seeds", "2"}, "is a single run; add output=" + output() + "-seeds");
  std::filesystem::remove_all(output());
  write_text(output() + "/sweep.json", R"({"metric": "", "grid": [], "runs": []})");
  refused({"--seeds", "2"}, "--resume continues them");
}

}  // namespace train_seeds_cli_test
}  // namespace debias

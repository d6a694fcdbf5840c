// OUTPUT/sweep.json: taken up, changed by several at a time, refused where it is another's.
#include "debias/sweep/sweep_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias::sweep_record_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

SweepPlan plan_of(const std::string& output, const std::vector<std::string>& variants, const std::vector<std::string>& seeds) {
  SweepPlan plan{"sweep.yaml", output, "test.acc1", {}, seeds, {}, {}};
  for (const auto& variant : variants) {
    plan.points.push_back({variant, {{"train.epochs", "2"}}});
    for (const auto& seed : seeds) plan.runs.push_back({plan.points.back(), seed, {}});
  }
  return plan;
}

std::string refusal(const SweepPlan& plan) {
  return usage_error_of([&] { open_sweep_record(plan); });
}

TEST(SweepRecord, IsReadAsItWasWritten) {
  const TemporaryFolder folder;
  const SweepPlan plan = plan_of(folder / "out", {"a", "b"}, {"1", "2"});
  open_sweep_record(plan);
  record_state(plan.output, {plan.points[1], "2", RunState::kFailed, 4, "not finite"});
  const SweepRecord record = read_sweep_record(plan.output);
  ASSERT_EQ(record.runs.size(), 4u);
  EXPECT_EQ(record.metric, "test.acc1");
  EXPECT_EQ(record.runs[0].state, RunState::kWaiting);
  EXPECT_EQ(record.runs[3].state, RunState::kFailed);
  EXPECT_EQ(record.runs[3].exit, 4);
  EXPECT_EQ(record.runs[3].message, "not finite");
  EXPECT_EQ(record.runs[3].point, plan.points[1]);
  EXPECT_EQ(record.find("b/train.epochs=2/seed-2"), &record.runs[3]);
}

TEST(SweepRecord, HasTheAxesOfItsPlan) {
  const TemporaryFolder folder;
  SweepPlan plan = plan_of(folder / "out", {"a", "b"}, {"1"});
  plan.axes = {{"M", "pairs", {{"b", 0.5}, {"a", 2}}}};
  open_sweep_record(plan);
  EXPECT_EQ(record_state(plan.output, {plan.points[1], "1", RunState::kFinished, 0, ""}).axes, plan.axes);
  EXPECT_EQ(read_sweep_record(plan.output).axes, plan.axes);
  plan.axes.clear();
  open_sweep_record(plan);
  EXPECT_TRUE(read_sweep_record(plan.output).axes.empty());
}

TEST(SweepRecord, KeepsTheStatesOfRunsThatALongerPlanHasToo) {
  const TemporaryFolder folder;
  const std::string output = folder / "out";
  open_sweep_record(plan_of(output, {"a"}, {"1"}));
  record_state(output, {{"a", {{"train.epochs", "2"}}}, "1", RunState::kFinished, 0, ""});
  const SweepRecord record = open_sweep_record(plan_of(output, {"z", "a"}, {"1", "2"}));
  ASSERT_EQ(record.runs.size(), 4u);
  EXPECT_EQ(record.runs[0].state, RunState::kWaiting);
  EXPECT_EQ(record.runs[2].state, RunState::kFinished);
}

TEST(SweepRecord, KeepsFinishedRunsOfSeedsThatAreNotAskedForAgain) {
  const TemporaryFolder folder;
  const std::string output = folder / "out";
  open_sweep_record(plan_of(output, {"a", "b"}, {"1", "2", "3"}));
  for (const char* seed : {"1", "2"}) record_state(output, {{"a", {{"train.epochs", "2"}}}, seed, RunState::kFinished, 0, ""});
  record_state(output, {{"b", {{"train.epochs", "2"}}}, "2", RunState::kFinished, 0, ""});
  const SweepRecord record = open_sweep_record(plan_of(output, {"a"}, {"1"}));
  ASSERT_EQ(record.runs.size(), 2u);  // neither a's third, which never ran, nor those of a setting that was taken out
  EXPECT_EQ(record.runs[1].name(), "a/train.epochs=2/seed-2");
}

TEST(SweepRecord, OfSeveralAtATimeLosesNoChange) {
  const TemporaryFolder folder;
  std::vector<std::string> seeds;
  for (int seed = 1; seed <= 40; ++seed) seeds.push_back(std::to_string(seed));
  const SweepPlan plan = plan_of(folder / "out", {"a"}, seeds);
  open_sweep_record(plan);
  std::vector<std::thread> shards;
  for (size_t shard = 0; shard < 4; ++shard) {
    shards.emplace_back([&, shard] {
      for (size_t i = shard; i < plan.runs.size(); i += 4)
        record_state(plan.output, {plan.points[0], plan.runs[i].seed, RunState::kFinished, 0, ""});
    });
  }
  for (auto& thread : shards) thread.join();
  for (const auto& run : read_sweep_record(plan.output).runs) EXPECT_EQ(run.state, RunState::kFinished) << run.seed;
}

TEST(SweepRecord, AnOutputThatIsNoneOfItsRunsIsRefused) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  EXPECT_THAT(refusal(plan_of(folder / "file", {"a"}, {"1"})), HasSubstr("is a file"));
  fs::create_directories(folder / "other");
  std::ofstream(folder / "other/config.yaml") << "name: x\n";
  EXPECT_THAT(refusal(plan_of(folder / "other", {"a"}, {"1"})), HasSubstr("has none of these runs"));
  open_sweep_record(plan_of(folder / "sweep", {"a"}, {"1"}));
  EXPECT_THAT(refusal(plan_of(folder / "sweep", {"b"}, {"1"})), HasSubstr("that of another sweep"));
  fs::create_directories(folder / "empty");
  EXPECT_NO_THROW(open_sweep_record(plan_of(folder / "empty", {"a"}, {"1"})));
}

TEST(SweepRecord, ThatIsDamagedIsADataErrorNamingIt) {
  const TemporaryFolder folder;
  for (const char* text : {"", "{", "[]", "{\"metric\": 1}", "{\"metric\": \"m\", \"grid\": [], \"runs\": [{}]}",
                           "{\"metric\": \"m\", \"grid\": [], \"axes\": [{}], \"runs\": []}"}) {
    std::ofstream(folder / "sweep.json") << text;
    EXPECT_THAT(data_error_of([&] { read_sweep_record(folder.path()); }), HasSubstr("sweep.json'")) << text;
  }
}

}  // namespace debias::sweep_record_test

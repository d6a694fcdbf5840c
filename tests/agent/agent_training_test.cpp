#include "debias/agent/agent_training.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "debias/control/task.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/encoders/state.h"
#include "debias/train/state/checkpoint.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace agent_training_test {

constexpr const char* kTiny = R"(
environment: {task: cartpole_swingup, action_repeat: 20, pixels: 20, look: plain}
agent: {crop: 16, filters: 4, features: 8, hidden: 16, batch_size: 8, random_steps: 30}
train: {epochs: 2, control_steps: 2000, log_every: 10}
evaluate: {every: 2, episodes: 2}
)";

AgentInput input_into(const std::string& folder) {
  AgentInput input;
  input.recipe = read_agent_recipe(parse_yaml(kTiny, "tiny.yaml"));
  input.recipe.output = folder;
  return input;
}

std::vector<nlohmann::json> lines(const std::string& folder) {
  std::ifstream file(folder + "/metrics.jsonl");
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(file, line);) all.push_back(nlohmann::json::parse(line));
  return all;
}

TEST(AgentTrainingTest, WritesEpisodesUpdatesAndReturnsAndLeavesNoReplayBehind) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const AgentResult result = train_agent(input_into(run));
  EXPECT_EQ(result.diverged, 0);
  int episodes = 0, updates = 0, epochs = 0;
  for (const auto& line : lines(run)) {
    episodes += line.contains("episode") ? 1 : 0;
    updates += line.contains("critic_loss") && line.contains("step") ? 1 : 0;
    epochs += line.contains("step") ? 0 : 1;
  }
  EXPECT_EQ(episodes, 4);
  EXPECT_EQ(updates, 17);  // of 200 steps, the first 30 without
  EXPECT_EQ(epochs, 2);
  const auto last = lines(run).back();
  EXPECT_EQ(last["control_steps"], 4000);
  EXPECT_EQ(last["test.diverged"], 0);
  EXPECT_TRUE(last.contains("test.return_mean") && last.contains("test.return_std") && last.contains("clamped_share"));
  EXPECT_FALSE(lines(run)[lines(run).size() - 2].contains("test.return_mean"));
  EXPECT_FALSE(std::filesystem::exists(run + "/replay.pictures"));
  std::ifstream environment(run + "/environment.json");
  EXPECT_EQ(nlohmann::json::parse(environment)["mujoco"].get<std::string>().substr(0, 1), "2");
}

TEST(AgentTrainingTest, ReplayThatARunLeftAtItsEndGoesWhenItIsResumed) {
  const TemporaryFolder folder;
  AgentInput input = input_into(folder / "run");
  train_agent(input);
  std::ofstream(folder / "run/replay.pictures") << "of a run that was killed after its last checkpoint";
  input.existing = ExistingFolder::kResume;
  EXPECT_TRUE(train_agent(input).already_finished);
  EXPECT_FALSE(std::filesystem::exists(folder / "run/replay.pictures"));
}

class NotedProgress : public Progress {
 public:
  struct Task {
    std::string label;
    int64_t total = 0, done = 0;
    std::set<bool> tell_the_end;  // of the run, in their notes
    std::string note;
  };
  void begin(const std::string& label, int64_t total) override { tasks.push_back({label, total, 0, {}, ""}); }
  void advance(int64_t done, const std::string& note) override {
    Task& task = tasks.back();
    task.done = done;
    task.note = note;
    task.tell_the_end.insert(note.starts_with("run "));
  }
  std::vector<Task> tasks;
};

// Random steps take no update: a time that is estimated from them would be far too short.
TEST(AgentTrainingTest, ProgressTellsTheRunsEndByTheStepsThatLearn) {
  const TemporaryFolder folder;
  AgentInput input = input_into(folder / "run");
  NotedProgress progress;
  input.progress = &progress;
  train_agent(input);
  ASSERT_EQ(progress.tasks.size(), 4u);
  const auto &random = progress.tasks[0], &first = progress.tasks[1], &second = progress.tasks[2];
  EXPECT_EQ(random.label, "epoch 1/2, random steps");
  EXPECT_EQ(random.total, 600);
  EXPECT_EQ(random.done, 600);
  EXPECT_EQ(random.tell_the_end, std::set<bool>{false});
  EXPECT_THAT(random.note, testing::MatchesRegex("episode 1, return [0-9.]+, [0-9.]+ steps/s"));
  for (const auto* task : {&first, &second}) {
    EXPECT_EQ(task->total, 2000);
    EXPECT_EQ(task->done, 2000);
    EXPECT_EQ(task->tell_the_end, std::set<bool>{true});
    EXPECT_THAT(task->note, testing::MatchesRegex("run [0-9:]+ left, episode [0-9]+, return [0-9.]+, [0-9.]+ steps/s"));
  }
  EXPECT_EQ(first.label, "epoch 1/2");
  EXPECT_EQ(second.label, "epoch 2/2");
  EXPECT_EQ(progress.tasks[3].label, "evaluation");
}

TEST(AgentTrainingTest, WhatMayChangeAtResumeIsInForceFromThenOn) {
  const TemporaryFolder folder;
  const std::string run = folder / "a run/";  // as a shell completes it
  AgentInput input = input_into(run);
  const std::atomic<int> stop{SIGTERM};
  input.stop_signal = &stop;
  EXPECT_THROW(train_agent(input), Error);
  EXPECT_THAT(file_text(run + "train.log"), testing::HasSubstr(" agent steps/s; stopped after step 1\n"));
  EXPECT_THAT(file_text(run + "times.jsonl"), testing::HasSubstr(R"("count":1,"counted":"agent_steps"})"));
  EXPECT_EQ(read_yaml_file(run + "config.yaml").find("evaluate")->find("episodes")->text(), "2");
  input.stop_signal = nullptr;
  input.existing = ExistingFolder::kResume;
  input.recipe.evaluate.episodes = 1;
  train_agent(input);
  EXPECT_EQ(lines(run).back()["test.return_std"], 0);  // of a single episode
  EXPECT_EQ(read_yaml_file(run + "config.yaml").find("evaluate")->find("episodes")->text(), "1");
  input.recipe.train.epochs = 3;
  EXPECT_THROW(train_agent(input), Error);  // that would be another training
}

TEST(AgentTrainingTest, ARunThatWasKilledAsItsFolderWasMadeGoesOn) {
  const TemporaryFolder folder;
  AgentInput input = input_into(folder / "run");
  std::filesystem::create_directory(folder / "run");
  std::ofstream(folder / "run/config.yaml") << resolved(input.recipe).to_yaml();
  input.existing = ExistingFolder::kResume;
  train_agent(input);
  const auto environment = nlohmann::json::parse(file_text(folder / "run/environment.json"));
  EXPECT_TRUE(environment.contains("renderer") && environment.contains("libtorch"));
  EXPECT_EQ(lines(folder / "run").back()["control_steps"], 4000);
}

TEST(AgentTrainingTest, StartingAgainGivesTheBytesOfTheFirstTime) {
  const TemporaryFolder folder;
  AgentInput input = input_into(folder / "run");
  train_agent(input);
  const std::string first = file_text(folder / "run/metrics.jsonl");
  EXPECT_THROW(train_agent(input), Error);  // the folder exists
  std::ofstream(folder / "run/replay.pictures") << "of a run that was killed";
  input.existing = ExistingFolder::kOverwrite;
  train_agent(input);
  EXPECT_EQ(file_text(folder / "run/metrics.jsonl"), first);
}

// Every other episode begins with a velocity that no simulation survives.
void begin_badly(MujocoModel& model, Random& draws) {
  find_entry(task_registry(), "cartpole_swingup", "task").begin(model, draws);
  static int episodes = 0;
  if (++episodes % 2 == 0) model.data().qvel[0] = 1e14;
}

TEST(AgentTrainingTest, SimulationWithoutAFiniteStateEndsItsEpisodeIsCountedAndReachesNoWeight) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  AgentInput input = input_into(run);
  auto task = std::make_shared<Task>(find_entry(task_registry(), "cartpole_swingup", "task"));
  task->begin = begin_badly;
  input.recipe.own_task = task;
  const AgentResult result = train_agent(input);
  EXPECT_GT(result.diverged, 1);
  EXPECT_EQ(lines(run).back()["diverged"].get<int64_t>(), result.diverged);
  EXPECT_EQ(lines(run).back()["test.diverged"].get<int64_t>(), 1);  // of two evaluation episodes
  const auto checkpoint = open_newest(run + "/checkpoints", Log::silent());
  for (const auto& entry : checkpoint->file.tensors()) {
    const at::Tensor tensor = read_tensor(checkpoint->file, entry);
    if (tensor.is_floating_point()) {
      EXPECT_TRUE(at::isfinite(tensor).all().item<bool>()) << entry.name;
    }
  }
}

void begin_without_hope(MujocoModel& model, Random& draws) {
  find_entry(task_registry(), "cartpole_swingup", "task").begin(model, draws);
  model.data().qvel[0] = 1e14;
}

TEST(AgentTrainingTest, NothingIsLearntUntilThereIsATransition) {
  const TemporaryFolder folder;
  AgentInput input = input_into(folder / "run");
  input.recipe.agent.random_steps = 1;
  input.recipe.train.epochs = 1;
  input.recipe.train.control_steps = 50;
  auto task = std::make_shared<Task>(find_entry(task_registry(), "cartpole_swingup", "task"));
  task->begin = begin_without_hope;
  input.recipe.own_task = task;
  EXPECT_EQ(train_agent(input).diverged, 50);
  const auto last = lines(folder / "run").back();
  EXPECT_FALSE(last.contains("critic_loss"));
  EXPECT_EQ(last["test.diverged"], 2);
  EXPECT_EQ(last["test.return_mean"], 0);
}

TEST(AgentTrainingTest, KeepsTheEpochWithTheHighestReturn) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  AgentInput input = input_into(run);
  input.recipe.evaluate.every = 1;
  input.recipe.evaluate.select = kReturnMean;
  train_agent(input);
  double highest = -1;
  int64_t best = 0;
  for (const auto& line : lines(run)) {
    if (!line.contains(kReturnMean) || line[kReturnMean] <= highest) continue;
    highest = line[kReturnMean];
    best = line["epoch"];
  }
  const OpenCheckpoint kept = open_checkpoint(run + "/checkpoints/best.safetensors");
  EXPECT_EQ(kept.state.epoch, best);
  EXPECT_EQ(kept.state.best_value, highest);
}

TEST(AgentTrainingTest, ARunWhoseRecipeWasEditedIsRefusedWithTheKey) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  AgentInput input = input_into(run);
  const std::atomic<int> stop{SIGTERM};
  input.stop_signal = &stop;
  EXPECT_THROW(train_agent(input), Error);
  input.stop_signal = nullptr;
  input.existing = ExistingFolder::kResume;
  input.recipe.agent.discount = 0.5;
  std::ofstream(run + "/config.yaml") << resolved(input.recipe).to_yaml();
  EXPECT_THAT(usage_error_of([&] { train_agent(input); }), testing::HasSubstr("config.yaml was edited at 'agent.discount' (0.99"));
}

// Fills the disk at a step, and makes room once somebody complains of it.
class FillingProgress : public Progress, public Log {
 public:
  explicit FillingProgress(const SmallDisk& disk) : disk_(disk) {}
  void advance(int64_t, const std::string&) override {
    if (++steps_ == 120) disk_.fill(0);
  }
  void warn(const std::string& line) override {
    warnings.push_back(line);
    disk_.make_room();
  }
  std::vector<std::string> warnings;

 private:
  const SmallDisk& disk_;
  int64_t steps_ = 0;
};

TEST(AgentTrainingTest, WaitsForRoomOnTheDiskAndEndsWithTheSameBytes) {
  const SmallDisk disk(8 << 20);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  const TemporaryFolder folder;
  train_agent(input_into(folder / "whole"));
  AgentInput input = input_into(disk / "run");
  FillingProgress filling(disk);
  input.progress = &filling;
  input.log = &filling;
  input.full_disk_retry = std::chrono::milliseconds(1);
  input.recipe.train.on_full_disk = OnFullDisk::kWait;
  train_agent(input);
  ASSERT_EQ(filling.warnings.size(), 1u);
  EXPECT_THAT(filling.warnings[0], testing::HasSubstr("waiting for space"));
  EXPECT_EQ(file_text(disk / "run/metrics.jsonl"), file_text(folder / "whole/metrics.jsonl"));
}

}  // namespace agent_training_test
}  // namespace debias

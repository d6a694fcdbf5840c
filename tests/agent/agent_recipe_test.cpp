#include "debias/agent/agent_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "debias/agent/agent_parts.h"
#include "debias/core/error.h"
#include "debias/core/recipe_file.h"
#include "debias/core/recipe_keys.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace agent_recipe_test {

AgentRecipe read(const std::string& yaml) { return read_agent_recipe(parse_yaml(yaml, "r.yaml")); }

std::string complaint(const std::string& yaml) {
  return usage_error_of([&] { read(yaml); });
}

TEST(AgentRecipeTest, WrittenOnesCanBeRead) {
  int64_t read_ones = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(golden_folder("../../recipes/rl"))) {
    if (entry.path().extension() != ".yaml") continue;
    const Config root = read_recipe_file(entry.path().string(), [](const std::string& name) { return name; });
    if (!is_agent_recipe(root)) continue;  // a sweep: tests/apps/agent_sweeps_test.cpp
    const AgentRecipe recipe = read_agent_recipe(root);
    EXPECT_EQ(recipe.make_objective() == nullptr, recipe.positives == 0) << entry.path();
    ++read_ones;
    Config biased = root;
    biased.assign("objective=infonce");  // as its first lines say
    EXPECT_NO_THROW(read_agent_recipe(biased)) << entry.path();
  }
  EXPECT_GE(read_ones, 4);
}

TEST(AgentRecipeTest, ResolvedRecipeResolvesToItself) {
  const AgentRecipe recipe = read("environment: {task: finger_spin}\nobjective: {name: debiased, positives: 2}\n");
  EXPECT_EQ(recipe.action_repeat(), 2);
  EXPECT_EQ(recipe.agent.batch_size, 128);
  EXPECT_EQ(recipe.objective.find("clamp")->text(), "positive");
  EXPECT_EQ(recipe.objective.find("temperature")->text(), "1");
  const Config once = resolved(recipe), twice = resolved(read_agent_recipe(once));
  EXPECT_EQ(once.to_yaml(), twice.to_yaml());
}

TEST(AgentRecipeTest, WhatCannotRunIsRefusedInOneLineThatSaysWhatToDo) {
  EXPECT_THAT(complaint("environment: {task: cartpole_swingupp}\n"),
              testing::AllOf(testing::StartsWith("r.yaml:1: "),
                             testing::HasSubstr("unknown task 'cartpole_swingupp'; did you mean 'cartpole_swingup'")));
  EXPECT_THAT(complaint("environment: {pixels: 50}\n"), testing::HasSubstr("no task is given"));
  EXPECT_THAT(complaint("environment: {task: cheetah_run}\nagents: {}\n"),
              testing::HasSubstr("unknown section 'agents'; did you mean 'agent'"));
  EXPECT_THAT(complaint("environment: {task: cheetah_run, pixels: 60}\n"),
              testing::HasSubstr("crop 84 is larger than the frames of 60 pixels"));
  EXPECT_THAT(
      complaint("environment: {task: cheetah_run}\nobjective: biascon\n"),
      testing::HasSubstr("does not compare an anchor with keys without labels; choose infonce, debiased_negatives, debiased_positives, "
                         "combined_debiased, hard_negatives, bayesian, eps_infonce, or none"));
  EXPECT_THAT(complaint("environment: {task: cheetah_run}\ntrain: {epochs: 1, control_steps: 4000}\n"),
              testing::HasSubstr("no more than its 1000 random ones"));
  EXPECT_THAT(complaint("environment: {task: cheetah_run}\nreplay: {megabytes: -1}\n"), testing::HasSubstr("megabytes"));
  EXPECT_THAT(complaint("environment: {task: cheetah_run}\nevaluate: {select: valid.knn_acc1}\n"),
              testing::HasSubstr("write test.return_mean, or leave it out"));
}

TEST(AgentRecipeTest, ObjectiveThatWouldRefuseTheFirstUpdateIsRefusedWhenItIsRead) {
  const auto recipe_of = [](const std::string& objective) { return "environment: {task: cheetah_run}\nobjective: " + objective + "\n"; };
  const auto of = [&](const std::string& objective) { return complaint(recipe_of(objective)); };
  for (const std::string name : {"infonce", "bayesian", "eps_infonce"}) {
    EXPECT_THAT(of("{name: " + name + ", positives: 2}"),
                testing::AllOf(testing::StartsWith("r.yaml:2: objective '" + name + "': positives: it takes one, found 2"),
                               testing::HasSubstr("set positives: 1")));
    EXPECT_NO_THROW(read(recipe_of("{name: " + name + ", positives: 1}")));
  }
  for (const std::string name : {"infonce", "debiased_negatives", "debiased_positives", "combined_debiased"}) {
    EXPECT_THAT(of("{name: " + name + ", drop_false_negatives: true}"),
                testing::AllOf(testing::StartsWith("r.yaml:2: "), testing::HasSubstr("drop_false_negatives needs labels"),
                               testing::HasSubstr("an agent's frames have no labels")));
  }
  for (const std::string name : {"debiased_negatives", "debiased_positives", "combined_debiased", "hard_negatives"}) {
    EXPECT_NO_THROW(read(recipe_of("{name: " + name + ", positives: 2}")));
  }
}

TEST(AgentRecipeTest, ReplayHasRoomForTheStepsOrForItsMegabytes) {
  const AgentRecipe small = read("environment: {task: cartpole_swingup}\ntrain: {epochs: 2, control_steps: 8000}\n");
  const ReplayShape all = replay_shape(small, 1);
  EXPECT_GE(all.capacity, 2000);
  EXPECT_LT(all.capacity, 2100);
  EXPECT_EQ(all.spare, 0);
  const AgentRecipe bounded = read("environment: {task: cartpole_swingup}\nreplay: {megabytes: 300}\n");
  const ReplayShape some = replay_shape(bounded, 1);
  EXPECT_LE(some.slots() * some.picture_bytes, 300000000);
  EXPECT_GT(some.slots() * some.picture_bytes, 280000000);
  EXPECT_GT(some.spare, 0);
  const AgentRecipe least = read("environment: {task: cartpole_swingup}\nreplay: {megabytes: 2}\n");
  EXPECT_THROW(replay_shape(least, 1), Error);
}

}  // namespace agent_recipe_test
}  // namespace debias

#include "debias/agent/agent_plan.h"

#include <gtest/gtest.h>

#include "debias/core/error.h"

namespace debias {
namespace agent_plan_test {

AgentRecipe planned(const std::string& environment, const std::string& more = "") {
  return read_agent_recipe(parse_yaml("environment: " + environment + "\n" + more, "plan.yaml"));
}

TEST(AgentPlanTest, CountsTheStepsOfTheAgent) {
  const AgentPlan plan = plan_agent(planned("{task: cartpole_swingup}"));
  EXPECT_EQ(plan.epochs, 10);
  EXPECT_EQ(plan.steps_per_epoch, 1250);
  EXPECT_EQ(plan.seconds_per_epoch, 0);
  EXPECT_EQ(plan_agent(planned("{task: finger_spin}")).steps_per_epoch, 5000);
  EXPECT_EQ(plan_agent(planned("{task: finger_spin, action_repeat: 3}")).steps_per_epoch, 3334);
  EXPECT_THROW(plan_agent(planned("{task: cartpole_swingup}", "replay: {megabytes: 2}\n")), Error);
}

constexpr const char* kTinyEnvironment = "{task: cartpole_swingup, action_repeat: 500, pixels: 20, look: plain}";

TEST(AgentPlanTest, TimesStepsThroughTheEndOfEpisodesAndCountsRandomOnesAsNothing) {
  const std::string tiny = "agent: {crop: 16, filters: 4, features: 8, hidden: 16, batch_size: 8, random_steps: 1}\n";
  const AgentRecipe recipe = planned(kTinyEnvironment, tiny + "objective: none\ntrain: {epochs: 2, control_steps: 4000}\n");
  try_environments(recipe);
  AgentPlan plan = plan_agent(recipe);
  time_steps(recipe, plan);
  EXPECT_GT(plan.seconds_per_epoch, 0);
  const AgentRecipe random = planned(kTinyEnvironment, tiny + "objective: {name: debiased, positives: 2}\n");
  AgentPlan none{1, 1, 7};
  time_steps(random, none);
  EXPECT_EQ(none.seconds_per_epoch, 0);
}

}  // namespace agent_plan_test
}  // namespace debias

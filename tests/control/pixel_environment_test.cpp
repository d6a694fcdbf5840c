#include "debias/control/pixel_environment.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "debias/control/task.h"
#include "debias/core/registry.h"

namespace debias {
namespace pixel_environment_test {

EnvironmentOptions options_of(const char* task, int64_t repeat) {
  return {.task = &find_entry(task_registry(), task, "task"), .repeat = repeat, .pixels = 20, .stack = 3, .look = Look::kPlain};
}

std::vector<uint8_t> part(const std::vector<uint8_t>& seen, int64_t index) {
  const auto bytes = static_cast<int64_t>(seen.size()) / 3;
  return {seen.begin() + index * bytes, seen.begin() + (index + 1) * bytes};
}

TEST(PixelEnvironmentTest, SeesTheLastThreePicturesAndTheFirstInPlaceOfEarlierOnes) {
  const EglContext context;
  PixelEnvironment environment(options_of("cartpole_swingup", 8));
  environment.begin(0);
  const auto first = part(environment.observation(), 2);
  EXPECT_EQ(part(environment.observation(), 0), first);
  EXPECT_EQ(part(environment.observation(), 1), first);
  std::vector<std::vector<uint8_t>> drawn = {first};
  for (int i = 0; i < 3; ++i) {
    environment.step(std::vector<float>{1.0f});
    drawn.emplace_back(environment.frame().begin(), environment.frame().end());
  }
  EXPECT_NE(drawn[2], drawn[3]);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(part(environment.observation(), i), drawn[static_cast<size_t>(i + 1)]);
}

TEST(PixelEnvironmentTest, RepeatsAnActionAndAddsItsRewards) {
  const EglContext context;
  PixelEnvironment once(options_of("cartpole_swingup", 1)), eight(options_of("cartpole_swingup", 8));
  once.begin(2);
  eight.begin(2);
  double sum = 0;
  for (int i = 0; i < 8; ++i) sum += once.step(std::vector<float>{0.5f}).reward;
  const EnvironmentStep step = eight.step(std::vector<float>{0.5f});
  EXPECT_EQ(step.reward, sum);
  EXPECT_EQ(step.control_steps, 8);
  EXPECT_EQ(part(once.observation(), 2), part(eight.observation(), 2));
}

TEST(PixelEnvironmentTest, EndsAfterAThousandControlStepsInTheMiddleOfARepeat) {
  const EglContext context;
  PixelEnvironment environment(options_of("reacher_easy", 300));
  EXPECT_EQ(environment.steps_per_episode(), 4);
  environment.begin(0);
  for (const int64_t expected : {300, 300, 300, 100}) {
    const EnvironmentStep step = environment.step(std::vector<float>{0.1f, -0.1f});
    EXPECT_EQ(step.control_steps, expected);
    EXPECT_EQ(step.is_last, expected == 100);
  }
}

TEST(PixelEnvironmentTest, HoldsActionsWithinTheirRange) {
  const EglContext context;
  PixelEnvironment environment(options_of("reacher_easy", 4));
  environment.begin(0);
  environment.step(std::vector<float>{3.0f, -2.0f});
  EXPECT_EQ(environment.model().data().ctrl[0], 1);
  EXPECT_EQ(environment.model().data().ctrl[1], -1);
}

TEST(PixelEnvironmentTest, EvaluatedEpisodesBeginElsewhereThanThoseTrainedIn) {
  const EglContext context;
  EnvironmentOptions evaluated = options_of("reacher_easy", 4);
  evaluated.episodes = Episodes::kEvaluated;
  PixelEnvironment trained(options_of("reacher_easy", 4)), other(evaluated);
  trained.begin(0);
  other.begin(0);
  EXPECT_NE(trained.observation(), other.observation());
}

TEST(PixelEnvironmentTest, SaysThatASimulationDiverged) {
  const EglContext context;
  PixelEnvironment environment(options_of("walker_walk", 2));
  environment.begin(0);
  environment.model().data().qpos[0] = std::numeric_limits<double>::infinity();
  const EnvironmentStep step = environment.step(std::vector<float>(6, 0.0f));
  EXPECT_TRUE(step.diverged);
  EXPECT_FALSE(step.is_last);
  environment.begin(1);
  EXPECT_FALSE(environment.step(std::vector<float>(6, 0.0f)).diverged);
}

}  // namespace pixel_environment_test
}  // namespace debias

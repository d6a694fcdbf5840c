#include "debias/control/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "debias/core/error.h"
#include "tests/support/refusals.h"

namespace debias {
namespace task_test {

const Task& task_of(const std::string& name) {
  for (const auto& task : task_registry()) {
    if (task.name == name) return task;
  }
  throw std::runtime_error(name);
}

TEST(ToleranceTest, IsOneWithinAndFallsBeyondAsItsFormSays) {
  EXPECT_EQ(tolerance(0.3, {.low = 0, .high = 1}), 1);
  EXPECT_EQ(tolerance(1.01, {.low = 0, .high = 1}), 0);
  EXPECT_NEAR(tolerance(-1, {.margin = 2}), std::pow(0.1, 0.25), 1e-15);
  EXPECT_NEAR(tolerance(0.5, {.margin = 1, .value_at_margin = 0, .sigmoid = Sigmoid::kQuadratic}), 0.75, 1e-15);
  EXPECT_EQ(tolerance(2, {.margin = 1, .value_at_margin = 0, .sigmoid = Sigmoid::kQuadratic}), 0);
  EXPECT_NEAR(tolerance(0.4, {.low = 1, .high = kUnbounded, .margin = 0.5, .value_at_margin = 0.5, .sigmoid = Sigmoid::kLinear}), 0.4,
              1e-15);
  EXPECT_EQ(tolerance(-1, {.low = 1, .high = kUnbounded, .margin = 0.5, .value_at_margin = 0.5, .sigmoid = Sigmoid::kLinear}), 0);
}

TEST(TaskTest, CartpoleRewardIsTheProductOfItsFourParts) {
  MujocoModel model = make_model(task_of("cartpole_swingup"));
  model.data().qpos[0] = 0.4;
  model.data().qpos[1] = std::acos(0.9);
  model.data().qvel[1] = -2;
  model.forward_without_actuation();
  model.data().ctrl[0] = 0.3;
  EXPECT_NEAR(task_of("cartpole_swingup").reward(model), 0.7544360, 1e-7);
}

TEST(TaskTest, WalkerRewardIsThatOfStandingTimesThatOfWalking) {
  MujocoModel model = make_model(task_of("walker_walk"));
  const int torso = model.id(mjOBJ_BODY, "torso"), speed = model.id(mjOBJ_SENSOR, "torso_subtreelinvel");
  model.data().xpos[3 * torso + 2] = 1.0;
  model.data().xmat[9 * torso + 8] = 0.95;
  model.data().sensordata[model.model().sensor_adr[speed]] = 0.4;
  EXPECT_NEAR(task_of("walker_walk").reward(model), 0.4122239, 1e-7);
}

double& position(MujocoModel& model, const char* joint) {
  return model.data().qpos[model.model().jnt_qposadr[model.id(mjOBJ_JOINT, joint)]];
}

TEST(TaskTest, FingerIsPaidWhileTheSpinnerTurnsFastEnoughInOneDirection) {
  const Task& task = task_of("finger_spin");
  MujocoModel model = make_model(task);
  const auto reward_at = [&](double velocity) {
    model.data().qvel[model.model().jnt_dofadr[model.id(mjOBJ_JOINT, "hinge")]] = velocity;
    model.forward_without_actuation();
    return task.reward(model);
  };
  EXPECT_EQ(reward_at(0), 0);
  EXPECT_EQ(reward_at(-14.99), 0);
  EXPECT_EQ(reward_at(-15), 1);
  EXPECT_EQ(reward_at(-40), 1);
  EXPECT_EQ(reward_at(15), 0);
}

// The links are 0.12 long, target and tip have radii of 0.05 and 0.01.
TEST(TaskTest, ReacherIsPaidWhileItsTipTouchesTheTarget) {
  const Task& task = task_of("reacher_easy");
  MujocoModel model = make_model(task);
  const auto reward_at = [&](double shoulder, double wrist, double target_x, double target_y) {
    position(model, "shoulder") = shoulder;
    position(model, "wrist") = wrist;
    double* target = model.model().geom_pos + 3 * model.id(mjOBJ_GEOM, "target");
    target[0] = target_x;
    target[1] = target_y;
    model.forward_without_actuation();
    return task.reward(model);
  };
  EXPECT_EQ(reward_at(0, 0, 0.24, 0), 1);
  EXPECT_EQ(reward_at(0, 0, 0.24 - 0.059, 0), 1);
  EXPECT_EQ(reward_at(0, 0, 0.24 - 0.061, 0), 0);
  EXPECT_EQ(reward_at(0, 0, 0.24 - 0.045, 0.045), 0);  // 0.0636 apart
  const double right_angle = std::acos(0.0);
  EXPECT_EQ(reward_at(right_angle, 0, 0, 0.24), 1);
  EXPECT_EQ(reward_at(0, right_angle, 0.12, 0.12 + 0.05), 1);
  EXPECT_EQ(reward_at(0, right_angle, 0.12, -0.12), 0);
}

// The cup hangs at (0, 0.6) with its middle 0.05 lower, the ball at (0, 0.2): it is caught within 0.025 of the middle.
TEST(TaskTest, BallInCupIsPaidWhileTheBallIsWithinTheCup) {
  const Task& task = task_of("ball_in_cup_catch");
  MujocoModel model = make_model(task);
  const auto reward_at = [&](double cup_x, double cup_z, double ball_x, double ball_z) {
    position(model, "cup_x") = cup_x;
    position(model, "cup_z") = cup_z;
    position(model, "ball_x") = ball_x;
    position(model, "ball_z") = ball_z;
    model.forward_without_actuation();
    return task.reward(model);
  };
  EXPECT_EQ(reward_at(0, 0, 0, 0), 0);
  EXPECT_EQ(reward_at(0, 0, 0, 0.35), 1);
  EXPECT_EQ(reward_at(0, 0, 0.024, 0.35 - 0.024), 1);
  EXPECT_EQ(reward_at(0, 0, 0.026, 0.35), 0);
  EXPECT_EQ(reward_at(0, 0, 0, 0.35 + 0.026), 0);
  EXPECT_EQ(reward_at(0.1, -0.05, 0.1, 0.3), 1);
  EXPECT_EQ(reward_at(0.1, 0, 0, 0.35), 0);
}

TEST(TaskTest, ModelOfAnotherMassIsRefused) {
  Task task = task_of("cartpole_swingup");
  task.mass = 1.2;
  EXPECT_THAT(error_of(ErrorKind::kFailure, [&] { make_model(task); }),
              testing::HasSubstr("makes a model of 1.100000 kg of it, where 1.200000 is known"));
}

class EveryTask : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(Tasks, EveryTask, testing::ValuesIn(task_registry()), [](const auto& task) { return task.param.name; });

std::vector<double> first_state(MujocoModel& model, const Task& task, uint64_t seed, uint64_t episode) {
  Random draws({.domain = RngDomain::kEnvironment, .seed = seed, .epoch = episode});
  begin_episode(task, model, draws);
  std::vector<double> state(model.data().qpos, model.data().qpos + model.model().nq);
  state.insert(state.end(), model.model().geom_pos, model.model().geom_pos + 3 * model.model().ngeom);
  return state;
}

TEST_P(EveryTask, EpisodeIsAFunctionOfSeedAndNumber) {
  MujocoModel model = make_model(GetParam()), other = make_model(GetParam());
  const auto first = first_state(model, GetParam(), 1, 5);
  EXPECT_NE(first, first_state(model, GetParam(), 1, 6));
  EXPECT_NE(first, first_state(model, GetParam(), 2, 5));
  first_state(other, GetParam(), 7, 0);
  EXPECT_EQ(first, first_state(other, GetParam(), 1, 5));
}

TEST_P(EveryTask, BeginsWithinItsRangesAndWithoutContactWhereThatIsAsked) {
  MujocoModel model = make_model(GetParam());
  const bool settles = GetParam().name == "cheetah_run" || GetParam().name == "cartpole_swingup" || GetParam().name == "walker_walk";
  for (uint64_t episode = 0; episode < 20; ++episode) {
    first_state(model, GetParam(), 3, episode);
    EXPECT_FALSE(model.diverged());
    EXPECT_EQ(model.data().time, 0);
    if (!settles) {
      EXPECT_EQ(model.data().ncon, 0);
    }
    for (int joint = 0; joint < model.model().njnt && GetParam().name != "cheetah_run"; ++joint) {
      if (!model.model().jnt_limited[joint]) continue;
      const double position = model.data().qpos[model.model().jnt_qposadr[joint]];
      EXPECT_GE(position, model.model().jnt_range[2 * joint]);
      EXPECT_LE(position, model.model().jnt_range[2 * joint + 1]);
    }
  }
}

TEST_P(EveryTask, NotANumberInTheStateIsSeenAndForgottenByTheNextEpisode) {
  MujocoModel model = make_model(GetParam());
  first_state(model, GetParam(), 1, 0);
  model.data().qvel[0] = std::numeric_limits<double>::quiet_NaN();
  model.step(GetParam().substeps);
  EXPECT_TRUE(model.diverged());
  first_state(model, GetParam(), 1, 1);
  EXPECT_FALSE(model.diverged());
}

// Mean returns of 40 episodes of random actions, and their standard deviations, of another implementation (specification 3.7).
struct KnownReturn {
  const char* task;
  int repeat, episodes;
  double mean, deviation;
};

class RandomPolicy : public testing::TestWithParam<KnownReturn> {};
INSTANTIATE_TEST_SUITE_P(Tasks, RandomPolicy,
                         testing::Values(KnownReturn{"finger_spin", 2, 40, 0.90, 1.6}, KnownReturn{"cartpole_swingup", 8, 40, 133.8, 64.8},
                                         KnownReturn{"reacher_easy", 4, 40, 56.4, 65.0}, KnownReturn{"cheetah_run", 4, 20, 12.2, 4.6},
                                         KnownReturn{"walker_walk", 2, 8, 42.3, 8.5}, KnownReturn{"ball_in_cup_catch", 4, 20, 19.9, 111}),
                         [](const auto& known) { return std::string(known.param.task); });

// The share of the known episodes that had any reward is at least this (Cauchy and Schwarz). Without it the finger, whose known mean is near
// 0, would do without rewards; the ball, which one episode in thirty may pay, is held to its first states below.
double least_share(const KnownReturn& known) {
  return known.mean * known.mean / (known.mean * known.mean + known.deviation * known.deviation);
}

TEST_P(RandomPolicy, HasTheReturnThatIsKnown) {
  const Task& task = task_of(GetParam().task);
  MujocoModel model = make_model(task);
  Random draws({.domain = RngDomain::kTest, .seed = 9});
  double sum = 0, rewarded = 0;
  for (int episode = 0; episode < GetParam().episodes; ++episode) {
    const double before = sum;
    begin_episode(task, model, draws);
    for (int step = 0; step < kControlSteps; ++step) {
      if (step % GetParam().repeat == 0) {
        for (int i = 0; i < model.model().nu; ++i) model.data().ctrl[i] = draws.uniform(-1, 1);
      }
      model.step(task.substeps);
      sum += task.reward(model);
    }
    rewarded += sum > before;
  }
  const double error = GetParam().deviation * std::sqrt(1.0 / 40 + 1.0 / GetParam().episodes);
  EXPECT_NEAR(sum / GetParam().episodes, GetParam().mean, 3.5 * error);
  const double share = least_share(GetParam());
  EXPECT_GE(rewarded, share * GetParam().episodes - 3.5 * std::sqrt(share * (1 - share) * GetParam().episodes));
}

// Of 400,000 places of the ball drawn as the task draws them, less those nearer to a line of the cup than the two radii, 1.425 % are paid.
TEST(TaskTest, BallBeginsCaughtAsOftenAsItsPlacesSay) {
  constexpr double kShare = 0.01425;
  constexpr int kStarts = 2000;
  const Task& task = task_of("ball_in_cup_catch");
  MujocoModel model = make_model(task);
  Random draws({.domain = RngDomain::kTest, .seed = 9});
  int caught = 0;
  for (int start = 0; start < kStarts; ++start) {
    begin_episode(task, model, draws);
    caught += task.reward(model) == 1;
  }
  EXPECT_NEAR(caught, kShare * kStarts, 3.5 * std::sqrt(kShare * (1 - kShare) * kStarts));
}

}  // namespace task_test
}  // namespace debias

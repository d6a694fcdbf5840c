// A control task: a model of our own, the start of an episode, and the reward of a state. One task a file in tasks/.
#pragma once

#include <string>
#include <vector>

#include "debias/control/mujoco_model.h"
#include "debias/core/philox.h"

namespace debias {

inline constexpr int kControlSteps = 1000;  // of an episode, in every task; it ends by time alone

struct Task {
  std::string name;
  std::vector<std::string> aliases;
  std::string summary;
  std::string mjcf;
  int substeps = 1;                                           // of physics in a control step
  int action_repeat = 4;                                      // control steps of one action, as CURL has it for the task
  double mass = 0;                                            // of the compiled model: another says that MuJoCo reads models otherwise
  void (*prepare)(MujocoModel& model) = [](MujocoModel&) {};  // once
  void (*begin)(MujocoModel& model, Random& draws) = nullptr;
  double (*reward)(const MujocoModel& model) = nullptr;
};

const std::vector<Task>& task_registry();

// The task's model, prepared. A failure where it has another mass than the task's.
MujocoModel make_model(const Task& task);

// A new episode's first state.
void begin_episode(const Task& task, MujocoModel& model, Random& draws);

Task ball_in_cup_catch();
Task cartpole_swingup();
Task cheetah_run();
Task finger_spin();
Task reacher_easy();
Task walker_walk();

}  // namespace debias

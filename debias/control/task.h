// A control task: a model of our own, the start of an episode, and the reward of a state. One task a file in tasks/.
#pragma once

#include <mujoco/mujoco.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/philox.h"

namespace debias {

// A MuJoCo model with its state: what tasks set, step and read.
//
// Reset and step follow dm_control, so that positions, velocities and the sensors made of them belong to the state that a reward or a
// image is made of; plain mj_step leaves them a step behind.
class MujocoModel {
 public:
  // From one self-contained MJCF text. A usage error where the library that is loaded is not the one this program was built with; a
  // failure where it rejects the text.
  MujocoModel(const std::string& name, const std::string& mjcf);

  mjModel& model() { return *model_; }
  const mjModel& model() const { return *model_; }
  mjData& data() { return *data_; }
  const mjData& data() const { return *data_; }

  void reset();                      // to the model's own pose, at rest
  void forward_without_actuation();  // all that follows from positions and velocities
  void step(int substeps);           // with the controls in data().ctrl

  // True if MuJoCo met positions, velocities or accelerations that are not finite or too large since reset(). The state is then void.
  bool diverged() const;

  int id(mjtObj kind, const char* name) const;
  double sensor(const char* name) const;  // its first number
  double mass() const;                    // of all bodies

 private:
  std::unique_ptr<mjModel, void (*)(mjModel*)> model_;
  std::unique_ptr<mjData, void (*)(mjData*)> data_;
};

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

// Which MuJoCo is in the process, for those who do without its headers.
std::string mujoco_version();  // "2.2.2"

// Closeness of a number to an interval, in [0, 1]: the building block of the control suite's rewards.
enum class Sigmoid { kGaussian, kLinear, kQuadratic };

struct Tolerance {
  double low = 0, high = 0;
  double margin = 0;  // beyond which the value falls to `value_at_margin`; 0: to nothing at once
  double value_at_margin = 0.1;
  Sigmoid sigmoid = Sigmoid::kGaussian;
};

// 1 within [low, high]; else with d = distance to it / margin and v = value_at_margin
//   gaussian exp(-(d sqrt(-2 ln v))^2 / 2),  linear max(0, 1 - d (1 - v)),  quadratic max(0, 1 - d^2 (1 - v)).
double tolerance(double x, const Tolerance& within);

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

}  // namespace debias

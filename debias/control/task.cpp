#include "debias/control/task.h"

#include <fmt/format.h>

#include <cmath>

#include "debias/control/mujoco_version.h"
#include "debias/core/error.h"

namespace debias {

const std::vector<Task>& task_registry() {
  static const std::vector<Task> registry = {finger_spin(), cartpole_swingup(), reacher_easy(),
                                             cheetah_run(), walker_walk(),      ball_in_cup_catch()};
  return registry;
}

MujocoModel make_model(const Task& task) {
  MujocoModel model(task.name, task.mjcf);
  if (std::abs(model.mass() - task.mass) > 1e-4 * task.mass) {
    throw Error(ErrorKind::kFailure,
                fmt::format("task '{}': MuJoCo {} makes a model of {:.6f} kg of it, where {:.6f} is known; use MuJoCo 2.2.2 (package "
                            "libmujoco-dev; in a checkout: scripts/bootstrap.sh --rl)",
                            task.name, mujoco_version(), model.mass(), task.mass));
  }
  task.prepare(model);
  return model;
}

void begin_episode(const Task& task, MujocoModel& model, Random& draws) {
  model.reset();
  task.begin(model, draws);
  model.forward_without_actuation();
}

}  // namespace debias

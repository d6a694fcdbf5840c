// An arm of two links on a table moves its tip to a target.
#include <cmath>
#include <numbers>

#include "debias/control/task.h"
#include "debias/control/tasks/model_text.h"

namespace debias {
namespace {

constexpr const char* kReacher = R"(
  <option timestep=".02">
    <flag contact="disable"/>
  </option>
  <default>
    <joint type="hinge" axis="0 0 1" damping=".01"/>
    <motor gear=".05" ctrllimited="true" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <light name="light" pos="0 0 1"/>
    <camera name="fixed" pos="0 0 .75" quat="1 0 0 0"/>
    <geom name="ground" type="plane" pos="0 0 0" size=".3 .3 10" material="grid"/>
    <geom name="wall_x" type="plane" pos="-.3 0 .02" zaxis="1 0 0" size=".02 .3 .02" material="decoration"/>
    <geom name="wall_y" type="plane" pos="0 -.3 .02" zaxis="0 1 0" size=".3 .02 .02" material="decoration"/>
    <geom name="wall_neg_x" type="plane" pos=".3 0 .02" zaxis="-1 0 0" size=".02 .3 .02" material="decoration"/>
    <geom name="wall_neg_y" type="plane" pos="0 .3 .02" zaxis="0 -1 0" size=".3 .02 .02" material="decoration"/>
    <geom name="root" type="cylinder" fromto="0 0 0 0 0 .02" size=".011" material="decoration"/>
    <body name="arm" pos="0 0 .01">
      <geom name="arm" type="capsule" fromto="0 0 0 .12 0 0" size=".01" material="self"/>
      <joint name="shoulder"/>
      <body name="hand" pos=".12 0 0">
        <geom name="hand" type="capsule" fromto="0 0 0 .1 0 0" size=".01" material="self"/>
        <joint name="wrist" limited="true" range="-160 160"/>
        <body name="finger" pos=".12 0 0">
          <camera name="hand" pos="0 0 .2" mode="track"/>
          <geom name="finger" type="sphere" size=".01" material="effector"/>
        </body>
      </body>
    </body>
    <geom name="target" type="sphere" pos="0 0 .01" size=".05" material="target"/>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder"/>
    <motor name="wrist" joint="wrist"/>
  </actuator>
)";

constexpr double kTargetRadius = 0.05;  // of the easy task

void enlarge_target(MujocoModel& model) { model.model().geom_size[3 * model.id(mjOBJ_GEOM, "target")] = kTargetRadius; }

void place_target(MujocoModel& model, Random& draws) {
  randomise_joints(model, draws);
  const double angle = draws.uniform(0, 2 * std::numbers::pi), radius = draws.uniform(0.05, 0.20);
  double* position = model.model().geom_pos + 3 * model.id(mjOBJ_GEOM, "target");
  position[0] = radius * std::sin(angle);
  position[1] = radius * std::cos(angle);
}

double reward_of_reach(const MujocoModel& model) {
  const int target = model.id(mjOBJ_GEOM, "target"), finger = model.id(mjOBJ_GEOM, "finger");
  const double *places = model.data().geom_xpos, *sizes = model.model().geom_size;
  const double x = places[3 * target] - places[3 * finger], y = places[3 * target + 1] - places[3 * finger + 1];
  return tolerance(std::sqrt(x * x + y * y), {.high = sizes[3 * target] + sizes[3 * finger]});
}

}  // namespace

Task reacher_easy() {
  return {.name = "reacher_easy",
          .aliases = {},
          .summary = "bring the tip of a two-link arm into a target whose position changes with each episode",
          .mjcf = model_text("reacher", kReacher),
          .action_repeat = 4,
          .mass = 0.0816814090,
          .prepare = enlarge_target,
          .begin = place_target,
          .reward = reward_of_reach};
}

}  // namespace debias

// A ball on a string is caught in a cup.
#include <cmath>

#include "debias/control/task.h"
#include "debias/control/tasks/model_text.h"

namespace debias {
namespace {

constexpr const char* kBallInCup = R"(
  <default>
    <motor gear="5" ctrllimited="true" ctrlrange="-1 1"/>
    <default class="cup">
      <joint type="slide" damping="3" stiffness="20"/>
      <geom type="capsule" size=".008" material="self"/>
    </default>
  </default>
  <worldbody>
    <light name="light" directional="true" diffuse=".6 .6 .6" specular=".3 .3 .3" pos="0 0 2"/>
    <geom name="ground" type="plane" pos="0 0 0" size=".6 .2 10" material="grid"/>
    <camera name="cam0" pos="0 -1 .8" xyaxes="1 0 0 0 1 2"/>
    <camera name="cam1" pos="0 -1 .4" xyaxes="1 0 0 0 0 1"/>
    <body name="cup" pos="0 0 .6" childclass="cup">
      <joint name="cup_x" axis="1 0 0"/>
      <joint name="cup_z" axis="0 0 1"/>
      <geom name="cup_part_0" fromto="-.05 0 0 -.05 0 -.075"/>
      <geom name="cup_part_1" fromto="-.05 0 -.075 -.025 0 -.1"/>
      <geom name="cup_part_2" fromto="-.025 0 -.1 .025 0 -.1"/>
      <geom name="cup_part_3" fromto=".025 0 -.1 .05 0 -.075"/>
      <geom name="cup_part_4" fromto=".05 0 -.075 .05 0 0"/>
      <site name="cup" pos="0 0 -.108" size=".005"/>
      <site name="target" type="box" pos="0 0 -.05" size=".05 .006 .05" group="4"/>
    </body>
    <body name="ball" pos="0 0 .2">
      <joint name="ball_x" type="slide" axis="1 0 0"/>
      <joint name="ball_z" type="slide" axis="0 0 1"/>
      <geom name="ball" type="sphere" size=".025" material="effector"/>
      <site name="ball" size=".005"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="x" joint="cup_x"/>
    <motor name="z" joint="cup_z"/>
  </actuator>
  <tendon>
    <spatial name="string" limited="true" range="0 .3" width=".003">
      <site site="ball"/>
      <site site="cup"/>
    </spatial>
  </tendon>
)";

void drop_the_ball(MujocoModel& model, Random& draws) {
  const auto position = [&](const char* joint) -> double& {
    return model.data().qpos[model.model().jnt_qposadr[model.id(mjOBJ_JOINT, joint)]];
  };
  do {
    position("ball_x") = draws.uniform(-0.2, 0.2);
    position("ball_z") = draws.uniform(0.2, 0.5);
    model.forward_without_actuation();
  } while (model.data().ncon > 0);
}

double reward_of_catch(const MujocoModel& model) {
  const mjModel& m = model.model();
  const int target = model.id(mjOBJ_SITE, "target"), ball = model.id(mjOBJ_BODY, "ball"), ball_geom = model.id(mjOBJ_GEOM, "ball");
  for (const int axis : {0, 2}) {
    const double distance = std::abs(model.data().site_xpos[3 * target + axis] - model.data().xpos[3 * ball + axis]);
    if (!(distance < m.site_size[3 * target + axis] - m.geom_size[3 * ball_geom])) return 0;
  }
  return 1;
}

}  // namespace

Task ball_in_cup_catch() {
  return {.name = "ball_in_cup_catch",
          .aliases = {},
          .summary = "swing a ball on a string into the cup that it hangs from",
          .mjcf = model_text("ball_in_cup", kBallInCup),
          .substeps = 10,
          .action_repeat = 4,
          .mass = 0.1306027612,
          .begin = drop_the_ball,
          .reward = reward_of_catch};
}

}  // namespace debias

// A cart on rails swings a pole up and balances it there.
#include <numbers>

#include "debias/control/task.h"
#include "debias/control/tasks/model_text.h"

namespace debias {
namespace {

constexpr const char* kCartpole = R"(
  <option timestep=".01" integrator="RK4">
    <flag contact="disable" energy="enable"/>
  </option>
  <worldbody>
    <light name="light" pos="0 0 6"/>
    <camera name="fixed" pos="0 -4 1" zaxis="0 -1 0"/>
    <camera name="lookatcart" mode="targetbody" target="cart" pos="0 -2 2"/>
    <geom name="floor" type="plane" pos="0 0 -.05" size="4 4 .2" material="grid"/>
    <geom name="rail1" type="capsule" pos="0 .07 1" zaxis="1 0 0" size=".02 2" material="decoration"/>
    <geom name="rail2" type="capsule" pos="0 -.07 1" zaxis="1 0 0" size=".02 2" material="decoration"/>
    <body name="cart" pos="0 0 1">
      <joint name="slider" type="slide" limited="true" axis="1 0 0" range="-1.8 1.8" solreflimit=".08 1" damping="5e-4"/>
      <geom name="cart" type="box" size=".2 .15 .1" mass="1" material="self"/>
      <body name="pole_1">
        <joint name="hinge_1" type="hinge" axis="0 1 0" damping="2e-6"/>
        <geom name="pole_1" type="capsule" fromto="0 0 0 0 0 1" size=".045" mass=".1" material="self"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="slide" joint="slider" gear="10" ctrllimited="true" ctrlrange="-1 1"/>
  </actuator>
)";

void hang_the_pole(MujocoModel& model, Random& draws) {
  mjData& data = model.data();
  data.qpos[0] = 0.01 * draws.normal();
  data.qpos[1] = std::numbers::pi + 0.01 * draws.normal();
  for (int i = 0; i < 2; ++i) data.qvel[i] = 0.01 * draws.normal();
}

double reward_of_upright(const MujocoModel& model) {
  const mjData& data = model.data();
  const double cosine = data.xmat[9 * model.id(mjOBJ_BODY, "pole_1") + 8];
  const double upright = (cosine + 1) / 2;
  const double centred = (1 + tolerance(data.qpos[0], {.margin = 2})) / 2;
  const double effort = tolerance(data.ctrl[0], {.margin = 1, .value_at_margin = 0, .sigmoid = Sigmoid::kQuadratic});
  const double small_control = (4 + effort) / 5;
  const double small_velocity = (1 + tolerance(data.qvel[1], {.margin = 5})) / 2;
  return upright * small_control * small_velocity * centred;
}

}  // namespace

Task cartpole_swingup() {
  return {.name = "cartpole_swingup",
          .aliases = {},
          .summary = "swing a pole up from hanging and balance it, by a force on its cart",
          .mjcf = model_text("cartpole", kCartpole),
          .action_repeat = 8,
          .mass = 1.1,
          .begin = hang_the_pole,
          .reward = reward_of_upright};
}

}  // namespace debias

// A planar biped stands up and walks.
#include "debias/control/task.h"
#include "debias/control/tasks/model_text.h"

namespace debias {
namespace {

constexpr const char* kWalkerTorso = R"(
  <option timestep=".0025"/>
  <statistic extent="2" center="0 0 1"/>
  <default>
    <joint damping=".1" armature=".01" limited="true" solimplimit="0 .99 .01"/>
    <geom contype="1" conaffinity="0" friction=".7 .1 .1"/>
    <motor ctrllimited="true" ctrlrange="-1 1"/>
    <default class="walker">
      <geom type="capsule" material="self"/>
      <joint axis="0 -1 0"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" conaffinity="1" pos="248 0 0" size="250 .8 .2" material="grid"/>
    <body name="torso" pos="0 0 1.3" childclass="walker">
      <light name="light" pos="0 0 2" mode="trackcom"/>
      <camera name="side" pos="0 -2 .7" euler="60 0 0" mode="trackcom"/>
      <camera name="back" pos="-2 0 .5" xyaxes="0 -1 0 1 0 3" mode="trackcom"/>
      <joint name="rootz" type="slide" axis="0 0 1" limited="false" armature="0" damping="0"/>
      <joint name="rootx" type="slide" axis="1 0 0" limited="false" armature="0" damping="0"/>
      <joint name="rooty" type="hinge" axis="0 1 0" limited="false" armature="0" damping="0"/>
      <geom name="torso" size=".07 .3"/>
)";

// `y`: to which side of the torso.
std::string leg(const std::string& side, const std::string& y) {
  return "<body name=\"" + side + "_thigh\" pos=\"0 " + y + " -.3\">" + "<joint name=\"" + side + "_hip\" range=\"-20 100\"/>" +
         "<geom name=\"" + side + "_thigh\" pos=\"0 0 -.225\" size=\".05 .225\"/>" + "<body name=\"" + side + "_leg\" pos=\"0 0 -.7\">" +
         "<joint name=\"" + side + "_knee\" pos=\"0 0 .25\" range=\"-150 0\"/>" + "<geom name=\"" + side + "_leg\" size=\".04 .25\"/>" +
         "<body name=\"" + side + "_foot\" pos=\".06 0 -.25\">" + "<joint name=\"" + side + "_ankle\" pos=\"-.06 0 0\" range=\"-45 45\"/>" +
         "<geom name=\"" + side + "_foot\" zaxis=\"1 0 0\" size=\".05 .1\"/>" + "</body></body></body>\n";
}

std::string walker_text() {
  const std::string motors = moving_parts_text(
      {{"right_hip", 100}, {"right_knee", 50}, {"right_ankle", 20}, {"left_hip", 100}, {"left_knee", 50}, {"left_ankle", 20}});
  return kWalkerTorso + leg("right", "-.05") + leg("left", ".05") + "</body></worldbody>\n" + motors;
}

constexpr double kStandHeight = 1.2, kWalkSpeed = 1;

double reward_of_walk(const MujocoModel& model) {
  const int torso = model.id(mjOBJ_BODY, "torso");
  const double height = model.data().xpos[3 * torso + 2], cosine = model.data().xmat[9 * torso + 8];
  const double speed = model.sensor("torso_subtreelinvel");
  const double standing = tolerance(height, {.low = kStandHeight, .high = kUnbounded, .margin = kStandHeight / 2});
  const double upright = (1 + cosine) / 2;
  const double stand = (3 * standing + upright) / 4;
  const double move = tolerance(
      speed, {.low = kWalkSpeed, .high = kUnbounded, .margin = kWalkSpeed / 2, .value_at_margin = 0.5, .sigmoid = Sigmoid::kLinear});
  return stand * (5 * move + 1) / 6;
}

}  // namespace

Task walker_walk() {
  return {.name = "walker_walk",
          .aliases = {},
          .summary = "stand upright on two legs and walk at 1 m/s",
          .mjcf = model_text("walker", walker_text()),
          .substeps = 10,
          .action_repeat = 2,
          .mass = 28.5403220621,
          .begin = randomise_joints,
          .reward = reward_of_walk};
}

}  // namespace debias

// A planar animal with two legs runs.
#include <fmt/format.h>

#include <array>

#include "debias/control/task.h"
#include "debias/control/tasks/model_text.h"

namespace debias {
namespace {

constexpr const char* kCheetahTorso = R"(
  <compiler settotalmass="14"/>
  <option timestep=".01"/>
  <statistic center="0 0 .7" extent="2"/>
  <default>
    <motor ctrllimited="true" ctrlrange="-1 1"/>
    <default class="cheetah">
      <joint type="hinge" axis="0 1 0" limited="true" damping=".01" armature=".1" stiffness="8"/>
      <geom contype="1" conaffinity="1" condim="3" friction=".4 .1 .1" material="self"/>
      <default class="free">
        <joint limited="false" damping="0" armature="0" stiffness="0"/>
      </default>
    </default>
  </default>
  <worldbody>
    <geom name="ground" type="plane" conaffinity="1" pos="98 0 0" size="100 .8 .5" material="grid"/>
    <body name="torso" pos="0 0 .7" childclass="cheetah">
      <light name="light" pos="0 0 2" mode="trackcom"/>
      <camera name="side" pos="0 -3 0" quat=".707 .707 0 0" mode="trackcom"/>
      <camera name="back" pos="-1.8 -1.3 .8" xyaxes=".45 -.9 0 .3 .15 .94" mode="trackcom"/>
      <joint name="rootx" type="slide" axis="1 0 0" class="free"/>
      <joint name="rootz" type="slide" axis="0 0 1" class="free"/>
      <joint name="rooty" type="hinge" axis="0 1 0" class="free"/>
      <geom name="torso" type="capsule" fromto="-.5 0 0 .5 0 0" size=".046"/>
      <geom name="head" type="capsule" pos=".6 0 .1" euler="0 50 0" size=".046 .15"/>
)";

// One below the other; numbers as MJCF has them.
struct Limb {
  const char *name, *place, *range, *stiffness, *damping, *centre, *tilt, *half_length;
};
using CheetahLeg = std::array<Limb, 3>;

constexpr CheetahLeg kHindLeg = {{{"bthigh", "-.5 0 0", "-30 60", "240", "6", ".1 0 -.13", "-218", ".145"},
                                  {"bshin", ".16 0 -.25", "-50 50", "180", "4.5", "-.14 0 -.07", "-116", ".15"},
                                  {"bfoot", "-.28 0 -.14", "-230 50", "120", "3", ".03 0 -.097", "-15", ".094"}}};
constexpr CheetahLeg kForeLeg = {{{"fthigh", ".5 0 0", "-57 .40", "180", "4.5", "-.07 0 -.12", "30", ".133"},
                                  {"fshin", "-.14 0 -.24", "-70 50", "120", "3", ".065 0 -.09", "-34", ".106"},
                                  {"ffoot", ".13 0 -.18", "-28 28", "60", "1.5", ".045 0 -.07", "-34", ".07"}}};

std::string leg(const CheetahLeg& limbs) {
  std::string text;
  for (const Limb& limb : limbs) {
    text += fmt::format(R"(<body name="{0}" pos="{1}"><joint name="{0}" range="{2}" stiffness="{3}" damping="{4}"/>)"
                        R"(<geom name="{0}" type="capsule" pos="{5}" euler="0 {6} 0" size=".046 {7}"/>)",
                        limb.name, limb.place, limb.range, limb.stiffness, limb.damping, limb.centre, limb.tilt, limb.half_length);
  }
  return text + "</body></body></body>\n";
}

std::string cheetah_text() {
  const std::string motors =
      moving_parts_text({{"bthigh", 120}, {"bshin", 90}, {"bfoot", 60}, {"fthigh", 90}, {"fshin", 60}, {"ffoot", 30}});
  return kCheetahTorso + leg(kHindLeg) + leg(kForeLeg) + "</body></worldbody>\n" + motors;
}

constexpr double kRunning = 10;  // metres a second
constexpr int kSettling = 200;

void settle_in_random_pose(MujocoModel& model, Random& draws) {
  const mjModel& m = model.model();
  for (int joint = 0; joint < m.njnt; ++joint) {
    if (!m.jnt_limited[joint]) continue;
    model.data().qpos[m.jnt_qposadr[joint]] = draws.uniform(m.jnt_range[2 * joint], m.jnt_range[2 * joint + 1]);
  }
  model.step(kSettling);
  model.data().time = 0;
}

double reward_of_speed(const MujocoModel& model) {
  const double speed = model.sensor("torso_subtreelinvel");
  return tolerance(speed, {.low = kRunning, .high = kUnbounded, .margin = kRunning, .value_at_margin = 0, .sigmoid = Sigmoid::kLinear});
}

}  // namespace

Task cheetah_run() {
  return {.name = "cheetah_run",
          .aliases = {},
          .summary = "run forwards on two legs; full reward from 10 m/s on",
          .mjcf = model_text("cheetah", cheetah_text()),
          .action_repeat = 4,
          .mass = 14,
          .begin = settle_in_random_pose,
          .reward = reward_of_speed};
}

}  // namespace debias

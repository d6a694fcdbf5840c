#include "debias/control/tasks/model_text.h"

#include <fmt/format.h>

#include <numbers>

namespace debias {
namespace {

constexpr const char* kLook = R"(
  <visual>
    <headlight ambient=".4 .4 .4" diffuse=".8 .8 .8" specular=".1 .1 .1"/>
    <map znear=".01"/>
    <quality shadowsize="2048"/>
  </visual>
  <asset>
    <texture name="skybox" type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2="0 0 0" width="800" height="800" mark="random"
             markrgb="1 1 1"/>
    <texture name="grid" type="2d" builtin="checker" rgb1=".1 .2 .3" rgb2=".2 .3 .4" width="300" height="300" mark="edge"
             markrgb=".2 .3 .4"/>
    <material name="grid" texture="grid" texrepeat="1 1" texuniform="true" reflectance=".2"/>
    <material name="self" rgba=".7 .5 .3 1"/>
    <material name="effector" rgba=".7 .4 .2 1"/>
    <material name="decoration" rgba=".3 .5 .7 1"/>
    <material name="target" rgba=".6 .3 .3 1"/>
    <material name="site" rgba=".5 .5 .5 .3"/>
  </asset>
)";

}  // namespace

std::string model_text(const std::string& name, const std::string& body) {
  return "<mujoco model=\"" + name + "\">" + kLook + body + "</mujoco>\n";
}

std::string moving_parts_text(const std::vector<std::pair<std::string, int>>& gears) {
  std::string text = "<sensor><subtreelinvel name=\"torso_subtreelinvel\" body=\"torso\"/></sensor>\n<actuator>\n";
  for (const auto& [joint, gear] : gears) text += fmt::format("<motor name=\"{0}\" joint=\"{0}\" gear=\"{1}\"/>\n", joint, gear);
  return text + "</actuator>\n";
}

void randomise_joints(MujocoModel& model, Random& draws) {
  const mjModel& m = model.model();
  for (int joint = 0; joint < m.njnt; ++joint) {
    double& position = model.data().qpos[m.jnt_qposadr[joint]];
    if (m.jnt_limited[joint]) {
      position = draws.uniform(m.jnt_range[2 * joint], m.jnt_range[2 * joint + 1]);
    } else if (m.jnt_type[joint] == mjJNT_HINGE) {
      position = draws.uniform(-std::numbers::pi, std::numbers::pi);
    }
  }
}

}  // namespace debias

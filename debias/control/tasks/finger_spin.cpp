// A finger of two links keeps a free body spinning.
#include "debias/control/task.h"
#include "debias/control/tasks/model_text.h"

namespace debias {
namespace {

constexpr const char* kFinger = R"(
  <option timestep=".01" cone="elliptic" iterations="200">
    <flag gravity="disable"/>
  </option>
  <default>
    <geom solimp="0 .9 .01" solref=".02 1"/>
    <joint type="hinge" axis="0 -1 0"/>
    <motor ctrllimited="true" ctrlrange="-1 1"/>
    <default class="finger">
      <joint damping="2.5" limited="true"/>
      <site type="ellipsoid" size=".025 .03 .025" material="site" group="3"/>
    </default>
  </default>
  <worldbody>
    <light name="light" directional="true" diffuse=".6 .6 .6" specular=".3 .3 .3" pos="0 0 2"/>
    <geom name="ground" type="plane" pos="0 0 0" size=".6 .2 10" material="grid"/>
    <camera name="cam0" pos="0 -1 .8" xyaxes="1 0 0 0 1 2"/>
    <camera name="cam1" pos="0 -1 .4" xyaxes="1 0 0 0 0 1"/>
    <body name="proximal" pos="-.2 0 .4" childclass="finger">
      <geom name="proximal_decoration" type="cylinder" fromto="0 -.033 0 0 .033 0" size=".034" material="decoration"/>
      <joint name="proximal" range="-110 110" ref="-90"/>
      <geom name="proximal" type="capsule" fromto="0 0 0 0 0 -.17" size=".03" material="self"/>
      <body name="distal" pos="0 0 -.18">
        <joint name="distal" range="-110 110"/>
        <geom name="distal" type="capsule" fromto="0 0 0 0 0 -.16" size=".028" material="self" contype="0" conaffinity="0"/>
        <geom name="fingertip" type="capsule" fromto="0 0 -.13 0 0 -.161" size=".03" material="effector"/>
        <site name="touchtop" pos=".01 0 -.17"/>
        <site name="touchbottom" pos="-.01 0 -.17"/>
      </body>
    </body>
    <body name="spinner" pos=".2 0 .4">
      <joint name="hinge" frictionloss=".1" damping=".5"/>
      <geom name="cap1" type="capsule" pos=".02 0 0" size=".04 .09" material="self"/>
      <geom name="cap2" type="capsule" pos="-.02 0 0" size=".04 .09" material="self"/>
      <site name="tip" type="sphere" pos="0 0 .13" size=".02" material="target"/>
      <geom name="spinner_decoration" type="cylinder" fromto="0 -.045 0 0 .045 0" size=".02" material="decoration"/>
    </body>
    <site name="target" type="sphere" pos="0 0 .4" size=".03" material="target"/>
  </worldbody>
  <actuator>
    <motor name="proximal" joint="proximal" gear="30"/>
    <motor name="distal" joint="distal" gear="15"/>
  </actuator>
  <sensor>
    <jointpos name="proximal" joint="proximal"/>
    <jointpos name="distal" joint="distal"/>
    <jointvel name="proximal_velocity" joint="proximal"/>
    <jointvel name="distal_velocity" joint="distal"/>
    <jointvel name="hinge_velocity" joint="hinge"/>
    <framepos name="tip" objtype="site" objname="tip"/>
    <framepos name="target" objtype="site" objname="target"/>
    <framepos name="spinner" objtype="xbody" objname="spinner"/>
    <touch name="touchtop" site="touchtop"/>
    <touch name="touchbottom" site="touchbottom"/>
    <framepos name="touchtop_pos" objtype="site" objname="touchtop"/>
    <framepos name="touchbottom_pos" objtype="site" objname="touchbottom"/>
  </sensor>
)";

constexpr double kSpinning = -15;  // radians a second
constexpr int kMostDraws = 1000;

void hide_sites_and_ease_hinge(MujocoModel& model) {
  for (const char* site : {"target", "tip"}) model.model().site_rgba[4 * model.id(mjOBJ_SITE, site) + 3] = 0;
  model.model().dof_damping[model.model().jnt_dofadr[model.id(mjOBJ_JOINT, "hinge")]] = 0.03;
}

void draw_until_nothing_touches(MujocoModel& model, Random& draws) {
  for (int i = 0; i < kMostDraws; ++i) {
    randomise_joints(model, draws);
    model.forward_without_actuation();
    if (model.data().ncon == 0) return;
  }
}

double reward_of_spin(const MujocoModel& model) { return model.sensor("hinge_velocity") <= kSpinning ? 1 : 0; }

}  // namespace

Task finger_spin() {
  return {.name = "finger_spin",
          .aliases = {},
          .summary = "keep a body on a hinge spinning by pushing it with a two-link finger",
          .mjcf = model_text("finger", kFinger),
          .substeps = 2,
          .action_repeat = 2,
          .mass = 3.9790532904,
          .prepare = hide_sites_and_ease_hinge,
          .begin = draw_until_nothing_touches,
          .reward = reward_of_spin};
}

}  // namespace debias

// What the models have in common: the look of the control suite, and random joint angles.
#pragma once

#include <string>

#include "debias/control/mujoco_model.h"
#include "debias/core/philox.h"

namespace debias {

// A whole MJCF text: the common textures, materials and lights, then `body`.
std::string model_text(const std::string& name, const std::string& body);

// In the joints' order: hinges and slides with a range uniform in it, hinges without one uniform in (-pi, pi), other slides as they are.
void randomise_joints(MujocoModel& model, Random& draws);

}  // namespace debias

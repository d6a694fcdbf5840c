// Common parts of the models: the look of the control suite, sensors and motors, and random joint angles.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/control/task.h"
#include "debias/core/philox.h"

namespace debias {

// A whole MJCF text: the common textures, materials and lights, then `body`.
std::string model_text(const std::string& name, const std::string& body);

// Elements beside the <worldbody> for a body `torso` and its subtree: its velocity as the sensor torso_subtreelinvel, and motors named
// as their joints, with these gears.
std::string moving_parts_text(const std::vector<std::pair<std::string, int>>& gears);

// In the joints' order: hinges and slides with a range uniform in it, hinges without one uniform in (-pi, pi), other slides as they are.
void randomise_joints(MujocoModel& model, Random& draws);

}  // namespace debias

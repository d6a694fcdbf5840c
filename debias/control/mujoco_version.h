// Which MuJoCo is in the process, for those who do without its headers.
#pragma once

#include <string>

namespace debias {

std::string mujoco_version();  // "2.2.2"

}  // namespace debias

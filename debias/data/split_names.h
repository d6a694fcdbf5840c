// Names of folders and values that mean a part of a data set, and not for a class or a bias.
#pragma once

#include <string>

namespace debias {

// "train", "Testing", "val" and the like, in capitals or not.
bool names_a_split(const std::string& name);

std::string in_lower_case(std::string name);

}  // namespace debias

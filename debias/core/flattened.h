// A recipe's leaves by their keys.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// "objective.0.temperature" -> "0.5", in the order written; the plain values of a list are one leaf, "[a, b]".
// An empty map is none, but in a list it is "{}": `steps: [{rgb_to_lab: {}}]` says what is done, and when.
std::vector<std::pair<std::string, std::string>> flattened(const Config& config);

}  // namespace debias

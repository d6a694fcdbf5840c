#pragma once

#include <vector>

#include "debias/losses/objective.h"

namespace debias {

// Combines the results of one objective in several directions, at least one: the sum of their values times `share`.
ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share);

}  // namespace debias

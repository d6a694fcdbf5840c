#pragma once

#include <vector>

#include "debias/losses/objective.h"

namespace debias {

// The results of one objective in several directions, at least one, as one: values are added, times `share`.
ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share);

}  // namespace debias

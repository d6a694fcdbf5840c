// What `debias fix` prints of a correction.
#pragma once

#include <string>

#include "debias/fix/fixed_folder.h"

namespace debias {

// Accuracies in percent with intervals, before and after, a line for each split but train; then what was done, and the folder.
std::string fixed_text(const FixedOutcome& outcome, const std::string& folder);

}  // namespace debias

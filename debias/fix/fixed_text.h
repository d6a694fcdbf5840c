// The text that `debias fix` prints about a correction.
#pragma once

#include <string>

#include "debias/fix/fixed_folder.h"

namespace debias {

// Accuracies in percent with intervals, before and after, one line for each split except train; then the correction and the folder.
std::string fixed_text(const FixedOutcome& outcome, const std::string& folder);

}  // namespace debias

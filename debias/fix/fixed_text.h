// The text that `debias fix` prints about a correction.
#pragma once

#include <string>

#include "debias/core/text_style.h"
#include "debias/fix/fixed_folder.h"

namespace debias {

// The correction and the folder; then accuracies in percent before and after, of the test rows or else of the validation rows. Verbose:
// those of all splits but train, with intervals.
std::string fixed_text(const FixedOutcome& outcome, const std::string& folder, const TextStyle& style);

}  // namespace debias

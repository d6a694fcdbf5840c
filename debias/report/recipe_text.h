// Describes a run in a few words.
#pragma once

#include <string>

#include "debias/report/run_column.h"

namespace debias {

std::string progress_text(const RunRecord& run);  // "2 of 4 epochs, unfinished"; "corrected features" of debias fix

// "1, 2, 3"; empty where the recipes have none.
std::string seeds_text(const RunColumn& column);

// The recipe's name; empty where that of each seed is another.
std::string recipe_name(const RunColumn& column);

// "demo, objective infonce, encoder resnet18, trained on glyphs, seeds 1, 2, 3, 4 of 4 epochs".
std::string column_words(const RunColumn& column);

}  // namespace debias

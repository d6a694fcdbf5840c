// Describes a run in a few words.
#pragma once

#include <initializer_list>
#include <string>

#include "debias/report/run_column.h"

namespace debias {

// The text of a scalar under nested keys; empty where there is none.
std::string text_at_path(const Config& config, std::initializer_list<const char*> path);

std::string progress_text(const RunRecord& run);  // "2 of 4 epochs, unfinished"; "corrected features" of debias fix

// "1, 2, 3"; empty where the recipes have none.
std::string seeds_text(const RunColumn& column);

// The recipe's name; empty where that of each seed is another.
std::string recipe_name(const RunColumn& column);

// "demo, objective infonce, encoder resnet18, trained on glyphs, seeds 1, 2, 3, 4 of 4 epochs".
std::string column_words(const RunColumn& column);

}  // namespace debias

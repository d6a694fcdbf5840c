// Output of `debias init` on a folder, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "debias/data/folder_survey.h"
#include "debias/runs/proposed_recipe.h"

namespace debias {

std::string survey_text(const FolderSurvey& survey, const std::string& folder);

// {"images", "classes", "biases", "columns", "splits", "bias_table", "sizes", "bad_files", "notes"}; the table and the columns describe
// the training images.
nlohmann::ordered_json survey_json(const FolderSurvey& survey);

// {"read", "ignored", "likely_bias"}, titles of columns.
nlohmann::ordered_json columns_json(const ColumnUse& columns);

// `doubt`: of the bias labels (bias_doubt).
std::string goal_text(InitGoal goal, bool asked, const std::string& doubt);

}  // namespace debias

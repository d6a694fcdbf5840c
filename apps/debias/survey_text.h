// What `debias init` says of a folder, to a person and to a program.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "apps/debias/proposed_recipe.h"
#include "debias/data/folder_survey.h"

namespace debias {

std::string survey_text(const FolderSurvey& survey, const std::string& folder);

// {"images", "classes", "biases", "splits", "bias_table", "sizes", "bad_files", "remarks"}; the table is of the training pictures.
nlohmann::ordered_json survey_json(const FolderSurvey& survey);

std::string goal_text(InitGoal goal, bool asked);

}  // namespace debias

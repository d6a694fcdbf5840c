// Output of `debias init` on a folder, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/data/data_check.h"
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

// Output of `debias data check`, as text and as JSON.

// Keys "name", "split", "count", "shape", "classes", "per_class", "mean", "std", "bias_table" if there are bias labels, "bad_files",
// "columns" of a CSV, "notes".
nlohmann::ordered_json to_json(const DataCheck& check);

std::string check_text(const DataCheck& check);

// Output of a check of a data set that cannot be opened.
DataCheck unreadable_check(const ChosenData& data, const FileError& error);

// Lists each registered data set {"name", "aliases", "summary", "options"}.
nlohmann::ordered_json listed_datasets();

}  // namespace debias

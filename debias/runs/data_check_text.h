// Output of `debias data check`, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "debias/core/config.h"
#include "debias/core/file_error.h"
#include "debias/data/data_check.h"

namespace debias {

// Keys "name", "split", "count", "shape", "classes", "per_class", "mean", "std", "bias_table" if there are bias labels, "bad_files",
// "columns" of a CSV, "notes".
nlohmann::ordered_json to_json(const DataCheck& check);

std::string check_text(const DataCheck& check);

// Output of a check of a data set that cannot be opened.
DataCheck unreadable_check(const ChosenData& data, const FileError& error);

// Lists each registered data set {"name", "aliases", "summary", "options"}.
nlohmann::ordered_json listed_datasets();

}  // namespace debias

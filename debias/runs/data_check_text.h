// What `debias data check` finds, for a person and for a program.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "debias/core/config.h"
#include "debias/core/file_error.h"
#include "debias/data/data_check.h"

namespace debias {

// Keys "name", "split", "count", "shape", "classes", "per_class", "mean", "std", "bias_table" where there are bias labels, "bad_files",
// "columns" of a CSV, "remarks".
nlohmann::ordered_json to_json(const DataCheck& check);

std::string check_text(const DataCheck& check);

// What a check says of a data set that cannot be opened at all.
DataCheck unreadable_check(const Config& section, const FileError& error);

// Of each registered data set {"name", "aliases", "summary", "options"}.
nlohmann::ordered_json listed_datasets();

}  // namespace debias

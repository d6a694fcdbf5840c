// The traces of image files as columns, like those of a CSV.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

struct FileColumn {
  std::string name;
  FileColumnKind kind = FileColumnKind::kValue;
  std::vector<std::string> values;  // one per row; empty: not in the file
};

// Every trace (file_traces.h) that at least kLeastRows files have, at most 200 of them, the extension, and the columns of names
// (name_columns.h). Left out are columns whose categories are the same for all audited files, or divide them as an earlier column or a fact
// does; values come before the order of a file's parts. `labels` are those of the first, audited, rows.
std::vector<FileColumn> file_columns(std::span<const FileFacts> files, std::span<const int32_t> labels);

// As column_categories; texts of which most occur in fewer than kLeastRows files are reduced to their common words.
CategoryFeatures file_column_categories(const std::vector<std::string>& values);

}  // namespace debias

// An audit of a table of features: its columns, and the directions in which the features vary most.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

struct AuditTableOptions {
  std::string embeddings, csv;       // feature_table.h; empty csv: the one beside the vectors
  std::vector<std::string> columns;  // empty: all usable ones
  std::string split;                 // train, valid or test; empty: train
  std::string key, label;            // names of the tensor and of the class column (feature_table.h)
  std::vector<std::string> group;    // columns that name what belongs together; empty: looked for
  Expected expected;
};

// As audit_folder, for rows in place of images. Files have the table's names, or row numbers if it has none, and cannot be opened. Throws
// the errors of open_feature_table, and usage errors for a missing column or split.
FolderAudit audit_table(const AuditTableOptions& options, uint64_t seed, Progress& progress = Progress::silent());

}  // namespace debias

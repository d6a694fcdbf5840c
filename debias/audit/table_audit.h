// An audit of a table of features: its columns, and the directions in which the features vary most.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

struct AuditTableOptions {
  std::string embeddings, csv;       // feature_table.h; an empty csv is the one beside the vectors
  std::vector<std::string> columns;  // empty: all that can be used
  std::string split;                 // train, valid or test; empty: train
};

// As audit_folder, of rows in place of images: files are named by the table, or by the number of the row where it has no names, and cannot be
// opened. Errors of open_feature_table, and usage errors for a column or split that is not there.
FolderAudit audit_table(const AuditTableOptions& options, uint64_t seed, Progress& progress = Progress::silent());

}  // namespace debias

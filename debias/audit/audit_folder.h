// A folder of images, and a CSV about them, as an audit reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/audit/audit.h"
#include "debias/audit/picture_table.h"

namespace debias {

struct AuditFolderOptions {
  std::string folder;
  std::string labels;                // a CSV with a column path, or ""
  std::vector<std::string> columns;  // of the CSV; empty: all that can be used
  std::string split;                 // a folder of `folder`; empty: train, or the folder itself
};

// An image of a split that is not audited.
struct OtherImage {
  PictureFile file;
  std::string label_name;
  std::vector<std::string> column_values;  // as AuditFolder::columns; empty where there is no CSV
};

struct AuditFolder {
  std::vector<std::string> classes;
  std::vector<PictureFile> files;
  std::vector<int64_t> labels;           // numbers in `classes`; -1: unknown, or not to be audited
  std::vector<std::string> label_names;  // of each file, also of those that are not audited; empty where unknown
  std::vector<std::string> splits;       // of each file; empty where the input has none
  std::vector<AuditColumn> columns;      // of all files
  std::vector<OtherImage> other_splits;
  std::vector<std::string> remarks;  // one line each: what is not read, and why
};

// Labels come from the CSV's column `label` if it has one, else from the class folders. A CSV with a column `split` selects the rows of
// `split` ("train" if that is empty). Throws the data errors of find_layout, image_folder and rows_of_images, a data error if no image has
// a row, and a usage error for a column that the CSV does not have.
AuditFolder read_audit_folder(const AuditFolderOptions& options);

}  // namespace debias

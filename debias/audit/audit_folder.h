// The input of an audit: a folder of images, and optionally a CSV about them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/audit/audit.h"
#include "debias/audit/picture.h"
#include "debias/core/config.h"

namespace debias {

struct AuditFolderOptions {
  std::string folder;
  std::string labels;                // a CSV with a column path, or ""
  std::vector<std::string> columns;  // of the CSV; empty: all usable ones
  std::string split;                 // a folder of `folder`; empty: train, or the folder itself
  std::vector<std::string> group;    // columns of the CSV that name what belongs together; empty: looked for
  Expected expected;
  Config pixels = Config::map();  // pixel_options()
  std::string mask;               // a folder of images of the same names: other than black is the object; or ""
};

// An image of a split that is not audited.
struct OtherImage {
  PictureFile file;
  std::string label_name;
  std::vector<std::string> column_values;  // in the order of AuditFolder::columns; empty without a CSV
};

struct AuditFolder {
  std::vector<std::string> classes;
  std::vector<PictureFile> files;
  std::vector<int64_t> labels;           // indices into `classes`; -1: unknown or not audited
  std::vector<std::string> label_names;  // one per file, including unaudited ones; empty if unknown
  std::vector<std::string> splits;       // one per file; empty without splits
  std::vector<AuditColumn> columns;      // of all files
  std::vector<OtherImage> other_splits;
  std::vector<std::string> notes;  // one line each: what was left out and why
};

// Adds columns that the names of all images give (parts_of_names), below the folder of the class. One titled as another column is left out.
void take_name_columns(AuditFolder& folder);

// Header fields of DICOM files that differ are further columns (dicom.h).
//
// Labels come from the CSV's column `label` if it has one (table_column.h), else from the class folders. Images without a label or a row,
// and rows without a file, are counted in notes. A CSV with a column `split` selects the rows of
// `split` ("train" if that is empty). Throws the data errors of find_layout, image_folder and rows_of_images, a data error if no image has
// a row, and a usage error for a column that the CSV does not have.
AuditFolder read_audit_folder(const AuditFolderOptions& options);

}  // namespace debias

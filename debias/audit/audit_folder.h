// The input of an audit: a folder of images, and optionally a CSV about them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/audit/audit.h"
#include "debias/audit/file_facts.h"
#include "debias/audit/picture_features.h"
#include "debias/core/progress.h"
#include "debias/data/data_check.h"
#include "debias/image/image.h"

namespace debias {

// The images of an audit, read once.
struct PictureFile {
  std::string path;    // path of the file
  std::string source;  // name in the data set
  std::string name;    // below the folder of its class
};

struct PictureTable {
  std::vector<PictureFeatures> pictures;
  std::vector<FileFacts> files;
  std::vector<int64_t> index;  // indices into the requested files, without unreadable ones
  std::vector<BadFile> bad;    // the unreadable files
};

// Decodes every file, large JPEGs at a reduced size plus their middle at full size, on all cores.
PictureTable read_pictures(std::span<const PictureFile> files, Progress& progress);

// For a page: rotated upright, resized to a square of `side` pixels.
Image read_thumbnail(const PictureFile& file, int side);

struct AuditFolderOptions {
  std::string folder;
  std::string labels;                // a CSV with a column path, or ""
  std::vector<std::string> columns;  // of the CSV; empty: all usable ones
  std::string split;                 // a folder of `folder`; empty: train, or the folder itself
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
  std::vector<std::string> remarks;  // one line each: what was left out and why
};

// Labels come from the CSV's column `label` if it has one (candidate.h), else from the class folders. Images without a label or a row,
// and rows without a file, are counted in remarks. A CSV with a column `split` selects the rows of
// `split` ("train" if that is empty). Throws the data errors of find_layout, image_folder and rows_of_images, a data error if no image has
// a row, and a usage error for a column that the CSV does not have.
AuditFolder read_audit_folder(const AuditFolderOptions& options);

}  // namespace debias

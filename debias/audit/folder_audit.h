// An audit of a folder of images, from listing it to findings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/audit/audit_folder.h"
#include "debias/features/feature_vectors.h"

namespace debias {

// The rows that an audit uses.
constexpr int64_t kLeastOfClass = 20;  // rows; smaller classes are left out
constexpr int64_t kMostClasses = 100;  // the largest ones; the time of the permutation test is proportional to their number
constexpr int64_t kMostRows = 6'000;   // a share of a class is known to within a few points

struct AuditSample {
  std::vector<std::string> classes;
  std::vector<int64_t> rows;       // shuffled without regard to labels
  std::vector<int32_t> labels;     // of `rows`, indices into `classes`
  std::vector<std::string> notes;  // one line each: classes and rows that were left out
};

// `labels[i]` is an index into `classes`, or -1 for unknown, which is left out. Above kMostRows, large classes are reduced to equal numbers
// of rows. Data error, beginning with `what`, if fewer than two classes have kLeastOfClass rows.
AuditSample audit_sample(const std::string& what, const std::vector<std::string>& classes, const std::vector<int64_t>& labels,
                         uint64_t seed);

struct FolderAudit {
  AuditFolder folder;
  AuditRows rows;              // the sampled images that could be read
  std::vector<int64_t> files;  // index into folder.files of each row
  std::vector<BadFile> bad;    // sampled images that could not be read
  AuditResult result;
  std::shared_ptr<const FeatureVectors> vectors = nullptr;  // of the rows `folder.files`; null for a folder of images
};

// Throws the data errors of read_audit_folder and audit_sample.
FolderAudit audit_folder(const AuditFolderOptions& options, uint64_t seed, Progress& progress = Progress::silent());

// The audit of `done.rows`, to which the columns of `done.files` are added.
void run_audit(const std::vector<std::string>& sample_notes, const AuditFolderOptions& options, uint64_t seed, FolderAudit& done,
               Progress& progress);

// An audit of a table of features: its columns, and the directions in which the features vary most.
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

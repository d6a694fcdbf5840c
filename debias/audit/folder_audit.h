// An audit of a folder of images, from listing it to findings.
#pragma once

#include <memory>
#include <vector>

#include "debias/audit/audit_folder.h"
#include "debias/audit/audit_sample.h"
#include "debias/features/feature_vectors.h"

namespace debias {

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

}  // namespace debias

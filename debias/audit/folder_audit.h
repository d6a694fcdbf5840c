// An audit of a folder of images, from listing it to findings.
#pragma once

#include <vector>

#include "debias/audit/audit_folder.h"
#include "debias/audit/audit_sample.h"

namespace debias {

struct FolderAudit {
  AuditFolder folder;
  AuditRows rows;              // of the images that were drawn and could be read
  std::vector<int64_t> files;  // of each row its place in folder.files
  std::vector<BadFile> bad;    // images that were drawn and could not be read
  AuditResult result;
  uint64_t seed = 0;
};

// Throws the data errors of read_audit_folder and audit_sample.
FolderAudit audit_folder(const AuditFolderOptions& options, uint64_t seed, Progress& progress = Progress::silent());

}  // namespace debias

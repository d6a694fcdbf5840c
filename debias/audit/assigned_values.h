// The values of an accepted finding for all images, audited or not.
//
// Audited images have their held-out values. Others (images beyond the sample, without a label, or of other splits) get the value that the
// same classifier, fitted to all audited images, predicts. Features are computed anew for the audited images and 10,000 others at a time,
// without labels.
#pragma once

#include <optional>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

struct AssignedValues {
  std::vector<std::optional<HeldOutValue>>
      files;  // in the order of audit.folder.files; none: the image is unreadable or its column is empty
  std::vector<std::optional<HeldOutValue>> others;  // in the order of audit.folder.other_splits
};

// Requires an assignable `finding`.
AssignedValues assigned_values(const FolderAudit& audit, const AuditFinding& finding, Progress& progress = Progress::silent());

}  // namespace debias

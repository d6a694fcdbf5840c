// The values of an accepted finding for all images: of the audited ones and of those outside of the audit.
//
// Audited images keep their held-out values. Others (images beyond the sample, without a label, or of other splits) get the value that the
// same classifier, fitted to all audited images, predicts. Features are computed anew for the audited images and 10,000 others at a time,
// without labels.
#pragma once

#include <optional>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

struct AssignedValues {
  std::vector<std::optional<HeldOutValue>> files;   // as audit.folder.files; none: the image cannot be read, or its column is empty
  std::vector<std::optional<HeldOutValue>> others;  // as audit.folder.other_splits
};

// `finding` is assignable. Rows of a feature table get values of columns alone.
AssignedValues assigned_values(const FolderAudit& audit, const AuditFinding& finding, Progress& progress = Progress::silent());

}  // namespace debias

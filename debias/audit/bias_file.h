// A candidate's values as bias labels: what `debias init --labels` and `debias fix` read.
#pragma once

#include <string>

#include "debias/audit/folder_audit.h"

namespace debias {

// A CSV path,label,bias,confidence of every image of the folder, those of other splits included. The bias label is named by the class that
// it goes with; it is empty where the value is not certain, where the image was not audited and in other splits. A usage error where no
// finding has this name (with the nearest) or values cannot be given for it.
std::string bias_file(const FolderAudit& audit, const std::string& finding);

}  // namespace debias

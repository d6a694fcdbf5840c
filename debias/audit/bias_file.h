// A candidate's values as bias labels, which `debias init --labels` and `debias fix` read.
#pragma once

#include <string>

#include "debias/audit/folder_audit.h"

namespace debias {

// A CSV path,label,bias,confidence with every image of the folder, including other splits; a table with splits adds the column split. The
// bias label has the name of the class that it predicts (assigned_values.h). It is empty if the value is not certain. Reads images that
// were not audited. Throws a usage error if no finding has this name (with the nearest), if the finding has no values, or if a class is
// named as a missing value (table_column.h).
std::string bias_file(const FolderAudit& audit, const std::string& finding, Progress& progress = Progress::silent());

}  // namespace debias

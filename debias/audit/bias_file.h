// A candidate's values as bias labels, which `debias init --labels` and `debias fix` read.
#pragma once

#include <string>

#include "debias/audit/folder_audit.h"

namespace debias {

// A CSV path,label,bias with every image of the folder, including other splits; a table with splits adds the column split, and an audit whose groups
// come from columns or times the column group, which says what belongs together. The bias label
// is the property's value: of a column or file as it is written, else measured (every image is read); empty where there is none or the image
// cannot be read. Throws a usage error if no finding has this name (with the nearest), if it cannot give values, or if a class is named as
// a missing value (table_column.h).
std::string bias_file(const FolderAudit& audit, const std::string& finding, Progress& progress = Progress::silent());

}  // namespace debias

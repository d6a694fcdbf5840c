// An audit as one self-contained page: what was found, with six images that have it and six that have not, and all properties.
#pragma once

#include <string>

#include "debias/audit/folder_audit.h"

namespace debias {

// `name` is the name of the folder, `commands` are those to run next. Images are read again for the contact sheets;
// images that have disappeared are left out.
std::string audit_page(const FolderAudit& audit, const std::string& name, const std::vector<std::string>& commands);

}  // namespace debias

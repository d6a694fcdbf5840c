// An audit as one self-contained page of at most 2 MB: the verdict, the findings with images that have and have not the property, all else folded.
#pragma once

#include <string>

#include "debias/audit/folder_audit.h"

namespace debias {

// `name` is the name of the folder, `commands` are those to run next. Images are read again for the contact sheets;
// images that have disappeared are left out.
std::string audit_page(const FolderAudit& audit, const std::string& name, const std::vector<std::string>& commands);

}  // namespace debias

// The commands to run after an audit, with arguments quoted for a shell.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/table_audit.h"

namespace debias {

// `bias_file` is the file of bias labels that --accept wrote, or empty.
std::vector<std::string> commands_after(const AuditFolderOptions& options, const AuditResult& result, const std::string& bias_file);
std::vector<std::string> commands_after(const AuditTableOptions& options, const AuditResult& result);

}  // namespace debias

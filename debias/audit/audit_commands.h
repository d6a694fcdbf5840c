// The commands that go on from an audit, with the arguments quoted for a shell.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/table_audit.h"

namespace debias {

// `bias_file`: the file of bias labels that --accept has written; empty: none.
std::vector<std::string> commands_after(const AuditFolderOptions& options, const AuditResult& result, const std::string& bias_file);
std::vector<std::string> commands_after(const AuditTableOptions& options, const AuditResult& result);

}  // namespace debias

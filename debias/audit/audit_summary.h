// An audit in short: as JSON, as lines for a terminal, and as numbers for conditions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

// {"images", "classes", "candidates", "searched", "not_detectable", "remarks", "bad_files"}.
nlohmann::ordered_json to_json(const FolderAudit& audit);

// `commands` are those to run next.
std::string audit_text(const FolderAudit& audit, const std::vector<std::string>& commands);

// The number of findings by name of the verdict, and "accuracy", that of the first finding, or chance without findings.
std::vector<std::pair<std::string, double>> audit_metrics(const AuditResult& result);

// The commands to run after an audit, with arguments quoted for a shell.

// `bias_file` is the file of bias labels that --accept wrote, or empty.
std::vector<std::string> commands_after(const AuditFolderOptions& options, const AuditResult& result, const std::string& bias_file);
std::vector<std::string> commands_after(const AuditTableOptions& options, const AuditResult& result);

}  // namespace debias

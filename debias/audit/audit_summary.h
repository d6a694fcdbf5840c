// An audit in short: as JSON, as lines for a terminal, and as numbers for conditions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <utility>
#include <vector>

#include "debias/audit/folder_audit.h"

namespace debias {

// {"images", "classes", "candidates", "searched", "not_detectable", "notes", "bad_files"}.
nlohmann::ordered_json to_json(const FolderAudit& audit);

// `commands` are those to run next.
std::string audit_text(const FolderAudit& audit, const std::vector<std::string>& commands);

// The number of findings by name of the verdict, and "accuracy", that of the first finding, or chance without findings.
std::vector<std::pair<std::string, double>> audit_metrics(const AuditResult& result);

}  // namespace debias

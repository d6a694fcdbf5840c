// An audit in short: as JSON, as lines for a terminal, and as numbers for conditions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "debias/audit/folder_audit.h"
#include "debias/core/text_style.h"

namespace debias {

// {"images", "groups", "groups_from", "identifiers", "classes", "shortcuts", "look", "candidates", "smallest_effect_seen", "searched",
// "not_detectable", "notes", "bad_files"}.
nlohmann::ordered_json to_json(const FolderAudit& audit);

// "1 shortcut: image size. 98 % of vehicle are 800 x 600, 6 % of the others"; "no shortcut in 320 images; ...". `rows` is what they are.
std::string verdict_line(const AuditResult& result, const std::string& rows);

// "320 images of 2 classes (carnivore, herbivore), 50 groups (by EXIF times), each counted once".
std::string audited_line(const AuditResult& result, const std::string& rows);

// `commands` are those to run next.
std::string audit_text(const FolderAudit& audit, const std::vector<std::string>& commands, const TextStyle& style);

// Numbers of findings by name of the verdict; "shortcut" without those that were expected.
std::vector<std::pair<std::string, double>> audit_metrics(const AuditResult& result);

// The commands to run after an audit, with arguments quoted for a shell.

// `bias_file` is the file of bias labels that --accept wrote, or empty.
std::vector<std::string> commands_after(const AuditFolderOptions& options, const AuditResult& result, const std::string& bias_file,
                                        uint64_t seed = 0);
std::vector<std::string> commands_after(const AuditTableOptions& options, const AuditResult& result);

}  // namespace debias

#include "debias/audit/bias_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/data/csv_text.h"

namespace debias {
namespace {

const AuditFinding& assignable_finding(const AuditResult& result, const std::string& name) {
  std::vector<std::string> known;
  for (const AuditFinding& finding : result.findings) known.push_back(finding.candidate.name);
  const auto found = std::ranges::find(result.findings, name, [](const AuditFinding& finding) { return finding.candidate.name; });
  if (found == result.findings.end()) throw usage_error("audit: --accept: no candidate '{}'{}", name, suggestion(name, known));
  if (found->assignable) return *found;
  if (found->candidate.kind == CandidateKind::kGlobal) {
    throw usage_error("audit: --accept '{}': a property of whole images varies with what they show, so no bias labels can be given", name);
  }
  throw usage_error("audit: --accept '{}': the value is certain for {:.0f} % of the images, and at least half are needed", name,
                    100 * found->confident_share);
}

}  // namespace

std::string bias_file(const FolderAudit& audit, const std::string& finding) {
  const AuditFinding& accepted = assignable_finding(audit.result, finding);
  std::vector<const HeldOutValue*> value_of(audit.folder.files.size(), nullptr);
  for (size_t row = 0; row < audit.files.size(); ++row) value_of[static_cast<size_t>(audit.files[row])] = &accepted.values[row];
  const auto line = [&](std::vector<std::string> fields, const std::string& split) {
    if (!audit.folder.splits.empty()) fields.push_back(split);
    return csv_line(fields);
  };
  std::string text = line({"path", "label", "bias", "confidence"}, "split");
  for (size_t i = 0; i < audit.folder.files.size(); ++i) {
    const HeldOutValue* value = value_of[i];
    text += line({audit.folder.files[i].source, audit.folder.label_names[i],
                  value != nullptr && value->confident ? audit.result.classes[static_cast<size_t>(value->value)] : "",
                  value != nullptr ? fmt::format("{:.4f}", value->confidence) : ""},
                 audit.folder.splits.empty() ? "" : audit.folder.splits[i]);
  }
  for (const auto& [path, label] : audit.folder.other_splits) text += csv_line({path, label, "", ""});
  return text;
}

}  // namespace debias

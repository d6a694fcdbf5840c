#include "debias/audit/bias_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/audit/assigned_values.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/data/csv_text.h"
#include "debias/data/readers/table_column.h"

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

// A class folder may have such a name; a field of a CSV with it is unknown.
void require_class_names(const AuditFolder& folder) {
  for (const std::string& name : folder.classes) {
    if (is_missing_word(name))
      throw usage_error("audit: --bias-out: class '{}' would be read as an unknown label; rename its folder", name);
  }
}

}  // namespace

std::string bias_file(const FolderAudit& audit, const std::string& finding, Progress& progress) {
  require_class_names(audit.folder);
  const AssignedValues values = assigned_values(audit, assignable_finding(audit.result, finding), progress);
  const bool has_splits = !audit.folder.splits.empty();
  std::string text = csv_line(has_splits ? std::vector<std::string>{"path", "label", "bias", "confidence", "split"}
                                         : std::vector<std::string>{"path", "label", "bias", "confidence"});
  const auto add = [&](const std::string& path, const std::string& label, const std::optional<HeldOutValue>& value,
                       const std::string& split) {
    std::vector<std::string> fields = {path, label,
                                       value && value->confident ? audit.result.classes[static_cast<size_t>(value->value)] : "",
                                       value ? fmt::format("{:.4f}", value->confidence) : ""};
    if (has_splits) fields.push_back(split);
    text += csv_line(fields);
  };
  for (size_t i = 0; i < values.files.size(); ++i) {
    add(audit.folder.files[i].source, audit.folder.label_names[i], values.files[i], has_splits ? audit.folder.splits[i] : "");
  }
  for (size_t i = 0; i < values.others.size(); ++i) {
    const OtherImage& other = audit.folder.other_splits[i];
    add(other.file.source, other.label_name, values.others[i], "");
  }
  return text;
}

}  // namespace debias

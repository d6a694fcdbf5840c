#include "debias/audit/audit_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace debias {
namespace {

nlohmann::ordered_json place_json(const std::optional<ImagePlace>& place) {
  if (!place) return nullptr;
  return {place->x, place->y, place->width, place->height};
}

std::string bad_files_line(const std::vector<BadFile>& files) {
  constexpr size_t kShown = 3;
  std::string text = fmt::format("note: {} image{} cannot be read and {} left out: ", files.size(), files.size() == 1 ? "" : "s",
                                 files.size() == 1 ? "is" : "are");
  for (size_t i = 0; i < std::min(kShown, files.size()); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", files[i].path, files[i].reason);
  }
  if (files.size() > kShown) text += fmt::format(" and {} more; --json and the page name all", files.size() - kShown);
  return text + '\n';
}

}  // namespace

nlohmann::ordered_json to_json(const FolderAudit& audit) {
  const AuditResult& result = audit.result;
  nlohmann::ordered_json json = {{"images", result.images}, {"classes", result.classes}, {"candidates", nlohmann::ordered_json::array()}};
  for (const AuditFinding& f : result.findings) {
    json["candidates"].push_back({{"name", f.candidate.name},
                                  {"kind", enum_name(f.candidate.kind)},
                                  {"place", place_json(f.candidate.place)},
                                  {"accuracy", f.accuracy},
                                  {"chance", result.chance},
                                  {"reference", f.reference},
                                  {"p_adjusted", f.p_adjusted},
                                  {"verdict", enum_name(f.verdict)},
                                  {"assignable", f.assignable},
                                  {"confident_share", f.confident_share}});
    if (const std::string note = note_of(f); !note.empty()) json["candidates"].back()["note"] = note;
  }
  json["searched"] = nlohmann::ordered_json::array();
  for (const CandidateKind kind : result.searched) json["searched"].push_back(enum_name(kind));
  json["not_detectable"] = not_detectable(result);
  json["notes"] = result.remarks;
  json["bad_files"] = nlohmann::ordered_json::array();
  for (const BadFile& bad : audit.bad) json["bad_files"].push_back({{"path", bad.path}, {"reason", bad.reason}});
  return json;
}

std::string audit_text(const FolderAudit& audit, const std::vector<std::string>& commands) {
  const AuditResult& result = audit.result;
  const char* what = audit.rows.embeddings.empty() ? "images" : "rows";
  std::string text = fmt::format("{} {} of {} classes; chance {:.1f} %\n", result.images, what, result.classes.size(), 100 * result.chance);
  for (const std::string& remark : result.remarks) text += fmt::format("note: {}\n", remark);
  if (!audit.bad.empty()) text += bad_files_line(audit.bad);
  for (const AuditFinding& f : result.findings) {
    text += fmt::format("{:<11}{:<10}{:<24} {:5.1f} %  reference {:5.1f} %  p {:.3f}  {}{}\n", enum_name(f.verdict),
                        enum_name(f.candidate.kind), f.candidate.name, 100 * f.accuracy, 100 * f.reference, f.p_adjusted,
                        f.assignable ? fmt::format("values for {:.0f} %", 100 * f.confident_share) : "no values",
                        note_of(f).empty() ? "" : "; " + note_of(f));
  }
  text += "not detectable:\n";
  for (const std::string& kind : not_detectable(result)) text += fmt::format("  {}\n", kind);
  if (!commands.empty()) text += "next:\n";
  for (const std::string& command : commands) text += fmt::format("  {}\n", command);
  return text;
}

std::vector<std::pair<std::string, double>> audit_metrics(const AuditResult& result) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const auto& [name, verdict] : EnumNames<AuditVerdict>::values) {
    metrics.emplace_back(name, static_cast<double>(std::ranges::count(result.findings, verdict, &AuditFinding::verdict)));
  }
  metrics.emplace_back("accuracy", result.findings.empty() ? result.chance : result.findings.front().accuracy);
  return metrics;
}

}  // namespace debias

#include "debias/audit/audit_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "debias/data/shown_names.h"
#include "debias/report/sections/missing_parts.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

Json place_json(const std::optional<ImagePlace>& place) {
  if (!place) return nullptr;
  return {place->x, place->y, place->width, place->height};
}

Json finding_json(const AuditFinding& f, const AuditResult& result) {
  Json json = {{"name", f.property.name},
               {"kind", enum_name(f.property.kind)},
               {"verdict", enum_name(f.verdict)},
               {"class", result.classes[static_cast<size_t>(f.tested.label)]},
               {"value", f.class_value_text()},
               {"in_class", f.tested.in_class},
               {"elsewhere", f.tested.elsewhere},
               {"effect", f.tested.effect},
               {"p_adjusted", f.tested.p_adjusted},
               {"exact", f.property.exact},
               {"assignable", f.assignable()},
               {"place", place_json(f.property.place)},
               {"with_it", f.with_it},
               {"expected", f.expected}};
  if (f.names_classes) json["note"] = "the label under another name";
  return json;
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

std::string groups_text(const AuditResult& result) {
  const RowGroups& groups = result.groups;
  if (groups.from == "none") return "";
  const std::string from = groups.from == "times" ? "by EXIF times" : groups.from;
  return fmt::format(" of {} groups ({})", groups.count, from);
}

std::string findings_lines(const std::vector<const AuditFinding*>& findings, const AuditResult& result) {
  std::string text;
  size_t width = 0;
  for (const AuditFinding* f : findings) width = std::max(width, f->property.name.size());
  for (size_t i = 0; i < findings.size(); ++i) {
    const AuditFinding& f = *findings[i];
    text += fmt::format("{}. {:<{}}   {}{}{}\n", i + 1, f.property.name, width, shares_text(f, result), f.property.exact ? "   exact" : "",
                        f.expected ? "   expected" : "");
    if (!f.with_it.empty()) text += fmt::format("   with it: {}\n", shown_names(f.with_it, 6));
  }
  return text;
}

}  // namespace

std::string shares_text(const AuditFinding& f, const AuditResult& result) {
  return fmt::format("{} on {:.0f} % of {}, {:.0f} % of the others", f.class_value_text(), 100 * f.tested.in_class,
                     result.classes[static_cast<size_t>(f.tested.label)], 100 * f.tested.elsewhere);
}

std::string verdict_line(const AuditResult& result, const std::string& rows) {
  const auto shortcuts = result.of(AuditVerdict::kShortcut).size();
  std::string text =
      fmt::format("{} in {} {}{}", shortcuts == 0 ? "no shortcut" : fmt::format("{} shortcut{}", shortcuts, shortcuts == 1 ? "" : "s"),
                  result.images, rows, groups_text(result));
  if (shortcuts == 0) {
    text += result.smallest_share >= 1 ? "; there are too few groups to see one"
                                       : fmt::format("; a mark on fewer than {:.0f} % of a class's {} would be missed",
                                                     100 * result.smallest_share, result.groups.from == "none" ? rows : "groups");
  }
  return text;
}

Json to_json(const FolderAudit& audit) {
  const AuditResult& result = audit.result;
  Json json = {{"images", result.images},
               {"groups", result.groups.count},
               {"groups_from", result.groups.from},
               {"identifiers", result.identifiers},
               {"classes", result.classes}};
  for (const auto& [key, verdict] : {std::pair("shortcuts", AuditVerdict::kShortcut), std::pair("look", AuditVerdict::kLook)}) {
    json[key] = Json::array();
    for (const AuditFinding* finding : result.of(verdict)) json[key].push_back(finding_json(*finding, result));
  }
  json["candidates"] = Json::array();
  for (const AuditFinding& finding : result.findings) json["candidates"].push_back(finding_json(finding, result));
  json["smallest_effect_seen"] = result.smallest_share;
  json["searched"] = Json::array();
  for (const PropertyKind kind : result.searched) json["searched"].push_back(enum_name(kind));
  json["not_detectable"] = not_detectable(result);
  json["notes"] = result.notes;
  json["bad_files"] = Json::array();
  for (const BadFile& bad : audit.bad) json["bad_files"].push_back({{"path", bad.path}, {"reason", bad.reason}});
  return json;
}

std::string audit_text(const FolderAudit& audit, const std::vector<std::string>& commands) {
  const AuditResult& result = audit.result;
  std::string text = verdict_line(result, audit.rows.embeddings.empty() ? "images" : "rows") + '\n';
  text += findings_lines(result.of(AuditVerdict::kShortcut), result);
  if (const auto looks = result.of(AuditVerdict::kLook); !looks.empty()) {
    text += "worth a look (they may be what the classes are about):\n" + findings_lines(looks, result);
  }
  text += fmt::format("not detectable: {}\n", fmt::join(not_detectable(result), "; "));
  for (const std::string& command : commands) text += fmt::format("next: {}\n", command);
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  if (!audit.bad.empty()) text += bad_files_line(audit.bad);
  return text;
}

std::vector<std::pair<std::string, double>> audit_metrics(const AuditResult& result) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const auto& [name, verdict] : EnumNames<AuditVerdict>::values) {
    double count = 0;
    for (const AuditFinding& f : result.findings)
      count += f.verdict == verdict && !f.follows && !(verdict == AuditVerdict::kShortcut && f.expected);
    metrics.emplace_back(name, count);
  }
  return metrics;
}

namespace {

// The first shortcut that can give bias labels, or null.
const AuditFinding* assignable_shortcut(const AuditResult& result) {
  const auto found = std::ranges::find_if(result.findings, [](const AuditFinding& f) { return f.is_alarm() && f.assignable(); });
  return found == result.findings.end() ? nullptr : &*found;
}

std::string option(const char* name, const std::string& value) {
  return value.empty() ? std::string() : fmt::format(" --{} {}", name, shell_word(value));
}

// What takes bias labels.
std::vector<std::string> commands_with(const std::string& folder, const std::string& labels) {
  return {fmt::format("debias init {} --labels {}", folder, shell_word(labels)),
          fmt::format("debias fix --embeddings Z.npy --csv {} --out fixed", shell_word(labels))};
}

}  // namespace

std::vector<std::string> commands_after(const AuditFolderOptions& options, const AuditResult& result, const std::string& bias_file) {
  const std::string folder = shell_word(options.folder);
  if (!bias_file.empty()) return commands_with(folder, bias_file);
  const AuditFinding* found = assignable_shortcut(result);
  if (found == nullptr) return {fmt::format("debias init {}", folder)};
  const std::string csv =
      option("labels", options.labels) + option("group", fmt::format("{}", fmt::join(options.group, ","))) + option("mask", options.mask);
  std::vector<std::string> commands = commands_with(folder, "bias.csv");
  commands.insert(commands.begin(),
                  fmt::format("debias audit {}{} --accept {} --bias-out bias.csv", folder, csv, shell_word(found->property.name)));
  return commands;
}

std::vector<std::string> commands_after(const AuditTableOptions& options, const AuditResult& result) {
  const AuditFinding* found = assignable_shortcut(result);
  if (found == nullptr || found->property.kind != PropertyKind::kColumn) return {};
  return {fmt::format("debias fix --embeddings {}{}{}{} --bias {} --out fixed", shell_word(options.embeddings), option("csv", options.csv),
                      option("key", options.key), option("label", options.label),
                      shell_word(found->property.name.substr(std::string_view("column ").size())))};
}

}  // namespace debias

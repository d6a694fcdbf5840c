#include "debias/audit/audit_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>

#include "debias/audit/finding_evidence.h"
#include "debias/audit/finding_words.h"
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
  if (f.divides_classes) json["note"] = "each value lies in one class";
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

}  // namespace

std::string verdict_line(const AuditResult& result, const std::string& rows) {
  constexpr size_t kNamed = 3;
  std::vector<const AuditFinding*> alarms;
  size_t expected = 0;
  for (const AuditFinding* finding : result.of(AuditVerdict::kShortcut)) {
    expected += finding->expected ? 1 : 0;
    if (!finding->expected) alarms.push_back(finding);
  }
  const std::string beside = expected == 0 ? "" : fmt::format(" but {} that {} expected", expected, expected == 1 ? "is" : "are");
  if (alarms.empty() && result.plain_images > 0 && result.plain_images == result.images) {
    return fmt::format("no shortcut{} in the files of {} {}; they are of one colour as they are read, so that marks were not looked for",
                       beside, result.images, rows);
  }
  if (alarms.empty()) {
    return fmt::format("no shortcut{} in {} {}", beside, result.images, rows) +
           (result.smallest_share >= 1 ? "; there are too few groups to see one"
                                       : fmt::format("; a mark on fewer than {:.0f} % of a class's {} would be missed",
                                                     100 * result.smallest_share, result.groups.from == "none" ? rows : "groups"));
  }
  std::string names;
  for (size_t i = 0; i < alarms.size() && i < kNamed; ++i) names += (i == 0 ? "" : "; ") + plain_name(alarms[i]->property);
  if (alarms.size() > kNamed) names += fmt::format(" and {} more", alarms.size() - kNamed);
  return fmt::format("{} shortcut{}{}: {}. {}", alarms.size(), alarms.size() == 1 ? "" : "s", beside, names,
                     shares_text(*alarms.front(), result));
}

std::string audited_line(const AuditResult& result, const std::string& rows) {
  std::string text = fmt::format("{} {} of {} classes ({})", result.images, rows, result.classes.size(), shown_names(result.classes, 4));
  const RowGroups& groups = result.groups;
  if (groups.from == "none") return text;
  return text + fmt::format(", {} groups (by {}), each counted once", groups.count, groups.from == "times" ? "EXIF times" : groups.from);
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

namespace {

std::string finding_line(const AuditFinding& finding, const AuditResult& result, size_t number) {
  return fmt::format("{}. {}: {}{}", number, plain_name(finding.property), shares_text(finding, result),
                     finding.expected ? " (expected)" : "");
}

std::string with_it_line(const AuditFinding& finding, size_t most) {
  return fmt::format("   with it: {}", shown_names(finding.with_it, most));
}

// A line for each class, its own first.
std::vector<std::string> share_lines(const AuditFinding& finding, const FolderAudit& audit, const TextStyle& style, size_t most) {
  const std::vector<double> shares = class_shares(finding, audit.rows, audit.result.groups);
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto own = static_cast<size_t>(finding.tested.label);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return std::pair(a != own, -shares[a]) < std::pair(b != own, -shares[b]); });
  order.resize(std::min(order.size(), most));
  size_t width = 0;
  for (const size_t k : order) width = std::max(width, audit.result.classes[k].size());
  std::vector<std::string> lines;
  for (const size_t k : order) {
    lines.push_back(fmt::format("   {:<{}}{} {:3.0f} %", audit.result.classes[k], std::min<size_t>(width, 24),
                                share_bar(shares[k], style, 20), 100 * shares[k]));
  }
  return lines;
}

// Of all properties, one a line.
std::string property_table(const AuditResult& result) {
  size_t width = std::string_view("property").size(), of_class = std::string_view("class").size();
  for (const AuditFinding& f : result.findings) {
    width = std::max(width, f.property.name.size());
    of_class = std::max(of_class, result.classes[static_cast<size_t>(f.tested.label)].size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<12}  {:<{}}  in it  elsewhere  effect      p  value\n", "property", width, "verdict", "class", of_class);
  for (const AuditFinding& f : result.findings) {
    const std::string_view verdict = f.names_classes ? "the label"
                                     : f.follows     ? "with another"
                                     : f.expected    ? "expected"
                                                     : enum_name(f.verdict);
    text += fmt::format("{:<{}}  {:<12}  {:<{}}  {:3.0f} %      {:3.0f} %    {:4.2f}  {:5.3f}  {}\n", f.property.name, width, verdict,
                        result.classes[static_cast<size_t>(f.tested.label)], of_class, 100 * f.tested.in_class, 100 * f.tested.elsewhere,
                        f.tested.effect, f.tested.p_adjusted, shown_value(f.class_value_text()));
  }
  return text;
}

std::string whole_text(const FolderAudit& audit, const std::vector<std::string>& commands, const TextStyle& style) {
  const AuditResult& result = audit.result;
  std::string text;
  const auto add = [&](const std::vector<const AuditFinding*>& findings) {
    for (size_t i = 0; i < findings.size(); ++i) {
      text += finding_line(*findings[i], result, i + 1) + '\n';
      if (const std::string what = meaning(findings[i]->property); !what.empty()) text += fmt::format("   {}\n", what);
      for (const std::string& line : share_lines(*findings[i], audit, style, result.classes.size())) text += line + '\n';
      if (!findings[i]->with_it.empty()) text += with_it_line(*findings[i], findings[i]->with_it.size()) + '\n';
    }
  };
  add(result.of(AuditVerdict::kShortcut));
  if (const auto looks = result.of(AuditVerdict::kLook); !looks.empty()) {
    text += "worth a look (they may be what the classes are about):\n";
    add(looks);
  }
  text += property_table(result);
  text += fmt::format("not detectable: {}\n", fmt::join(not_detectable(result), "; "));
  for (const std::string& command : commands) text += fmt::format("next: {}\n", command);
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  return text + (audit.bad.empty() ? "" : bad_files_line(audit.bad));
}

// The last lines of the short text: what else there is, what to do, and what is to be known.
std::vector<std::string> closing_lines(const FolderAudit& audit, const std::vector<std::string>& commands) {
  constexpr size_t kNotes = 3;
  const AuditResult& result = audit.result;
  std::vector<std::string> lines;
  if (const auto looks = result.of(AuditVerdict::kLook); !looks.empty()) {
    std::vector<std::string> names;
    for (const AuditFinding* finding : looks) names.push_back(finding->property.name);
    lines.push_back(fmt::format("worth a look, as they may be what the classes are about: {}", shown_names(names, 3)));
  }
  const size_t named = result.of(AuditVerdict::kShortcut).size() + result.of(AuditVerdict::kLook).size();
  const std::vector<std::string> kinds = not_detectable(result);
  lines.push_back(
      fmt::format("not detectable: {}{}", kinds.front(), kinds.size() > 1 ? fmt::format("; and {} more", kinds.size() - 1) : ""));
  const size_t weaker = result.findings.size() - std::min(named, result.findings.size());
  lines.push_back(weaker == 0 ? "-v prints these" : fmt::format("-v prints these, and the numbers of {} weaker properties", weaker));
  for (const std::string& command : commands) lines.push_back("next: " + command);
  std::vector<std::string> notes;
  for (const std::string& note : result.notes) notes.push_back("note: " + note);
  if (!audit.bad.empty()) {
    notes.push_back(bad_files_line(audit.bad));
    notes.back().pop_back();
  }
  if (notes.size() > kNotes) {
    const size_t more = notes.size() - (kNotes - 1);
    notes.erase(notes.begin() + kNotes - 2, notes.end() - 1);  // what is said of files that cannot be read stays
    notes.push_back(fmt::format("note: {} more notes; -v prints them", more));
  }
  lines.insert(lines.end(), notes.begin(), notes.end());
  return lines;
}

std::string short_text(const FolderAudit& audit, const std::vector<std::string>& commands, const TextStyle& style) {
  const AuditResult& result = audit.result;
  const std::vector<std::string> closing = closing_lines(audit, commands);
  size_t room = kShortText - 2 - closing.size();
  const auto shortcuts = result.of(AuditVerdict::kShortcut);
  // The verdict says what the first is; below stand its bars.
  std::vector<std::vector<std::string>> lines;
  for (size_t i = 0; i < shortcuts.size() && room > 0; ++i, --room) {
    if (room == 1 && i + 1 < shortcuts.size()) {
      lines.push_back({fmt::format("   and {} more shortcuts", shortcuts.size() - i)});
      room = 0;
      break;
    }
    lines.push_back({i == 0 && !shortcuts[0]->expected ? fmt::format("1. {}", plain_name(shortcuts[0]->property))
                                                       : finding_line(*shortcuts[i], result, i + 1)});
  }
  for (size_t i = 0; i < lines.size() && room > 0; ++i) {
    if (!style.bar.empty() && i == 0) {
      const std::vector<std::string> bars = share_lines(*shortcuts[0], audit, style, std::min<size_t>(room, 4));
      room -= bars.size();
      lines[0].insert(lines[0].end(), bars.begin(), bars.end());
    }
    if (room == 0 || shortcuts[i]->with_it.empty()) continue;
    lines[i].push_back(with_it_line(*shortcuts[i], 4));
    --room;
  }
  std::string text;
  for (const auto& own : lines) text += fmt::format("{}\n", fmt::join(own, "\n"));
  return text + fmt::format("{}\n", fmt::join(closing, "\n"));
}

}  // namespace

std::string audit_text(const FolderAudit& audit, const std::vector<std::string>& commands, const TextStyle& style) {
  const std::string rows = audit.rows.embeddings.empty() ? "images" : "rows";
  const std::string text = verdict_line(audit.result, rows) + '\n' + audited_line(audit.result, rows) + '\n';
  return text + (style.verbose ? whole_text(audit, commands, style) : short_text(audit, commands, style));
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

// The columns that were given or, where groups were found by a column, that one.
std::string group_option(const std::vector<std::string>& given, const AuditResult& result) {
  constexpr std::string_view kColumn = "column ";
  const bool found = given.empty() && result.groups.joins_rows() && result.groups.from.starts_with(kColumn);
  return option("group", found ? result.groups.from.substr(kColumn.size()) : fmt::format("{}", fmt::join(given, ",")));
}

// How pixels are read, where it was said.
std::string pixel_words(const Config& pixels) {
  std::string words;
  for (const auto& [key, value] : pixels.entries()) words += " " + shell_word(key + "=" + value.text());
  return words;
}

// What takes bias labels.
std::vector<std::string> commands_with(const AuditFolderOptions& options, const std::string& labels) {
  return {fmt::format("debias init {}{} --labels {}", shell_word(options.folder), pixel_words(options.pixels), shell_word(labels)),
          fmt::format("debias fix --embeddings Z.npy --csv {} --out fixed", shell_word(labels))};
}

}  // namespace

std::vector<std::string> commands_after(const AuditFolderOptions& options, const AuditResult& result, const std::string& bias_file,
                                        uint64_t seed) {
  if (!bias_file.empty()) return commands_with(options, bias_file);
  const std::string words = shell_word(options.folder) + pixel_words(options.pixels), labels = option("labels", options.labels),
                    group = group_option(options.group, result);
  const AuditFinding* found = assignable_shortcut(result);
  if (found == nullptr) return {"debias init " + words + labels + (labels.empty() ? "" : group)};  // init knows columns of a CSV alone
  std::string audit = "debias audit " + words + labels + group + option("mask", options.mask) + option("split", options.split) +
                      option("columns", fmt::format("{}", fmt::join(options.columns, ","))) +
                      option("seed", seed == 0 ? "" : std::to_string(seed));
  audit += option("accept", found->property.name) + " --bias-out bias.csv";
  std::vector<std::string> commands = commands_with(options, "bias.csv");
  commands.insert(commands.begin(), std::move(audit));
  return commands;
}

std::vector<std::string> commands_after(const AuditTableOptions& options, const AuditResult& result) {
  const AuditFinding* found = assignable_shortcut(result);
  if (found == nullptr || found->property.kind != PropertyKind::kColumn) return {};
  return {fmt::format("debias fix --embeddings {}{}{}{} --bias {} --out fixed", shell_word(options.embeddings), option("csv", options.csv),
                      option("key", options.key), option("label", options.label) + group_option(options.group, result),
                      shell_word(found->property.name.substr(std::string_view("column ").size())))};
}

}  // namespace debias

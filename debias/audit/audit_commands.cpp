#include "debias/audit/audit_commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "debias/report/sections/missing_parts.h"

namespace debias {
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
  const std::string csv = option("labels", options.labels) + option("group", fmt::format("{}", fmt::join(options.group, ",")));
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

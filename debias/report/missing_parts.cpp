#include "debias/report/missing_parts.h"

#include <array>
#include <string_view>

namespace debias {
namespace {

struct Source {
  std::string_view protocol, what;
  bool (*holds)(const EvaluationRecord&);
};

const Source& source_of(Part part) {
  static constexpr std::array<Source, 4> kSources = {
      {{"groups", "no groups (they need bias values)", [](const EvaluationRecord& record) { return !record.groups.empty(); }},
       {"geometry", "no similarity histograms", [](const EvaluationRecord& record) { return !record.similarity.empty(); }},
       {"tsne", "no map", [](const EvaluationRecord& record) { return !record.maps.empty(); }},
       {"knn", "no nearest neighbours", [](const EvaluationRecord& record) { return !record.neighbours.empty(); }}}};
  return kSources[static_cast<size_t>(part)];
}

}  // namespace

MissingPart missing_part(const std::vector<RunRecord>& runs, Part part) {
  const Source& source = source_of(part);
  std::string labels, commands;
  for (const auto& run : runs) {
    const EvaluationRecord* record = run.evaluation(std::string(source.protocol));
    if (record != nullptr && source.holds(*record)) continue;
    labels += (labels.empty() ? "" : ", ") + run.label;
    commands += fmt::format("{}debias eval {} {}", commands.empty() ? "" : "\n", source.protocol, shell_word(run.path));
  }
  if (labels.empty()) return {};
  return {fmt::format("{}: {}", labels, source.what), commands};
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./,:=@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace debias

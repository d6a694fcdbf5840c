#include "debias/report/missing_parts.h"

#include <array>
#include <string_view>

namespace debias {
namespace {

struct Source {
  std::string_view command, what;
  bool of_agents;  // else of encoders: the others cannot have it
  bool (*holds)(const RunRecord&);
};

// Whether the run's own data were judged by the protocol, with something in that part of the record.
template <class Contents>
bool has_part(const RunRecord& run, const char* protocol, Contents EvaluationRecord::*part) {
  const EvaluationRecord* record = run.evaluation(protocol);
  return record != nullptr && !(record->*part).empty();
}

const Source& source_of(Part part) {
  static constexpr std::array<Source, 5> kSources = {
      {{"debias eval groups", "no groups (they need bias values)", false,
        [](const RunRecord& run) { return has_part(run, "groups", &EvaluationRecord::groups); }},
       {"debias eval geometry", "no similarity histograms", false,
        [](const RunRecord& run) { return has_part(run, "geometry", &EvaluationRecord::similarity); }},
       {"debias eval tsne", "no map", false, [](const RunRecord& run) { return has_part(run, "tsne", &EvaluationRecord::maps); }},
       {"debias eval knn", "no nearest neighbours", false,
        [](const RunRecord& run) { return has_part(run, "knn", &EvaluationRecord::neighbours); }},
       {"debias rl play", "no frames of an episode", true, [](const RunRecord& run) { return run.film.has_value(); }}}};
  return kSources[static_cast<size_t>(part)];
}

}  // namespace

MissingPart missing_part(const std::vector<RunRecord>& runs, Part part) {
  const Source& source = source_of(part);
  std::string labels, commands;
  for (const auto& run : runs) {
    if (run.of_agent() != source.of_agents || source.holds(run)) continue;
    labels += (labels.empty() ? "" : ", ") + run.label;
    commands += fmt::format("{}{} {}", commands.empty() ? "" : "\n", source.command, shell_word(run.path));
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

#include "debias/report/sections/missing_parts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "debias/results/run_files.h"

namespace debias {
namespace {

struct Source {
  std::string_view command, arguments, what;  // arguments: behind the run
  bool (RunRecord::*could_have)() const;
  bool (*holds)(const RunRecord&);
};

// True if the protocol evaluated the run's own data, and that part of the record is not empty.
template <class Contents>
bool has_part(const RunRecord& run, const char* protocol, Contents EvaluationRecord::*part) {
  const EvaluationRecord* record = run.evaluation(protocol);
  return record != nullptr && !(record->*part).empty();
}

// Of the trained encoder.
bool has_tasks(const RunRecord& run) {
  return std::ranges::any_of(run.evaluations,
                             [](const EvaluationRecord& record) { return record.is_of_tasks() && !record.has_option("untrained", true); });
}

const Source& source_of(Part part) {
  static constexpr std::array<Source, 7> kSources = {
      {{"debias eval groups", "", "no groups", &RunRecord::has_bias_values,
        [](const RunRecord& run) { return has_part(run, "groups", &EvaluationRecord::groups); }},
       {"debias eval geometry", "", "no similarity histograms", &RunRecord::of_images,
        [](const RunRecord& run) { return has_part(run, "geometry", &EvaluationRecord::similarity); }},
       {"debias eval tsne", "", "no t-SNE plot", &RunRecord::of_images,
        [](const RunRecord& run) { return has_part(run, "tsne", &EvaluationRecord::maps); }},
       {"debias eval knn", "", "no nearest neighbours", &RunRecord::of_images,
        [](const RunRecord& run) { return has_part(run, "knn", &EvaluationRecord::neighbours); }},
       {"debias rl play", "", "no frames of an episode", &RunRecord::of_agent, [](const RunRecord& run) { return run.video.has_value(); }},
       {"debias eval sentences", " --root DIR", "no sentence tasks", &RunRecord::of_text, has_tasks},
       {"debias text nearest", " --text FILE --queries FILE", "no nearest sentences", &RunRecord::of_text,
        [](const RunRecord& run) { return !read_nearest_sentences(run.path).queries.empty(); }}}};
  return kSources[static_cast<size_t>(part)];
}

}  // namespace

MissingPart missing_part(const std::vector<RunRecord>& runs, Part part) {
  const Source& source = source_of(part);
  std::string labels, commands;
  for (const auto& run : runs) {
    if (!(run.*source.could_have)() || source.holds(run)) continue;
    labels += (labels.empty() ? "" : ", ") + run.label;
    commands += fmt::format("{}{} {}{}", commands.empty() ? "" : "\n", source.command, shell_word(run.path), source.arguments);
  }
  if (labels.empty()) return {};
  return {fmt::format("{}: {}", labels, source.what), commands};
}

std::string unknown_bias_words() {
  return " With a file of the bias label of each evaluated image, `debias eval groups RUN --labels FILE.csv` adds accuracy by group. "
         "If the bias is unknown, `debias audit FOLDER` looks for it, and `debias train rivals/dfa data.train.root=FOLDER` trains without "
         "its labels.";
}

std::string unknown_bias_words(const std::vector<RunRecord>& runs) {
  std::string labels;
  for (const auto& run : runs) {
    if (run.of_images() && !run.has_bias_values()) labels += (labels.empty() ? "" : ", ") + run.label;
  }
  return labels.empty() ? "" : fmt::format("{}: no bias labels, so no accuracy by group.{}", labels, unknown_bias_words());
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./,:=@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace debias

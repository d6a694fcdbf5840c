#include "debias/report/compared_runs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "debias/core/error.h"
#include "debias/report/run_column.h"
#include "debias/sweep/sweep_parts.h"
#include "debias/sweep/sweep_record.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct NamedSweep {
  std::string output;
  std::optional<SweepParts> file;  // where it was named by its file
};

// The sweep of a path, if it is one.
std::optional<NamedSweep> named_sweep(const std::string& path) {
  if (has_sweep_record(path)) return NamedSweep{path, {}};
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || !path.ends_with(".yaml")) return std::nullopt;
  std::optional<SweepParts> file = read_sweep_file(path);
  if (!file) throw usage_error("table: '{}' is a file, not a sweep; give a sweep, its output or run folders", path);
  const std::string folder = file->output;
  return NamedSweep{folder, std::move(file)};
}

std::string folder_of(const std::string& output, const RecordedRun& run) { return output + "/" + run.name(); }

bool has_begun(const std::string& folder) { return fs::exists(folder + "/config.yaml"); }

// Adds one sweep to `compared`; the runs themselves are read later.
void add_sweep(const NamedSweep& sweep, bool named, std::vector<std::string>& folders, ComparedRuns& compared) {
  const SweepRecord record = read_sweep_record(sweep.output);
  const std::string& metric = sweep.file && !sweep.file->metric.empty() ? sweep.file->metric : record.metric;
  if (named) compared.metric = compared.metric.empty() || compared.metric == metric ? metric : "";
  const size_t first = compared.rows.size();
  for (const auto& run : record.runs) {
    auto row = std::find_if(compared.rows.begin() + static_cast<std::ptrdiff_t>(first), compared.rows.end(),
                            [&](const ComparedRow& other) { return other.variant == run.point.variant && other.grid == run.point.grid; });
    if (row == compared.rows.end()) {
      compared.rows.push_back({run.point.label(), run.point.variant, run.point.grid, {}, 0});
      row = std::prev(compared.rows.end());
      row->places = places_of(sweep.file ? sweep.file->axes : record.axes, run.point.variant);
      const bool is_given = sweep.file && (sweep.file->has_expected || sweep.file->changes_base(run.point));
      if (is_given) row->expected = read_published(sweep.file->expected_of(run.point));
    }
    ++row->planned;
    const std::string folder = folder_of(sweep.output, run);
    if (!has_begun(folder)) continue;
    row->runs.push_back(folders.size());
    folders.push_back(folder);
  }
}

// Rows of the runs from `first` on, which belong to no sweep.
void add_columns(size_t first, ComparedRuns& compared) {
  const std::vector<RunRecord> plain(compared.runs.begin() + static_cast<std::ptrdiff_t>(first), compared.runs.end());
  for (const auto& column : run_columns(plain)) {
    ComparedRow row{column.label, "", {}, {}, column.runs.size()};
    for (const RunRecord* run : column.runs) row.runs.push_back(first + static_cast<size_t>(run - plain.data()));
    compared.rows.push_back(std::move(row));
  }
}

// Rows of several sweeps with equal labels get their sweep's name before them: the last parts of its path, as many as make them distinct.
void tell_sweeps_apart(const std::vector<std::string>& output_of_row, ComparedRuns& compared) {
  std::vector<std::string> labels;
  std::set<std::string> outputs;
  for (const auto& row : compared.rows) labels.push_back(row.label);
  for (size_t i = 0; i < output_of_row.size(); ++i) {
    if (std::ranges::count(labels, labels[i]) > 1) outputs.insert(output_of_row[i]);
  }
  const std::vector<std::string> paths(outputs.begin(), outputs.end()), short_names = distinct_labels(paths);
  for (size_t i = 0; i < output_of_row.size(); ++i) {
    if (std::ranges::count(labels, labels[i]) < 2) continue;
    const auto& sweep = short_names[static_cast<size_t>(std::ranges::find(paths, output_of_row[i]) - paths.begin())];
    compared.rows[i].label = labels[i].empty() ? sweep : fmt::format("{}: {}", sweep, labels[i]);
  }
}

void leave_out_unfinished(ComparedRuns& compared) {
  size_t missing = 0, all = 0;
  for (auto& row : compared.rows) {
    std::erase_if(row.runs, [&](size_t run) { return !compared.runs[run].finished(); });
    missing += row.planned - row.runs.size();
    all += row.planned;
  }
  if (missing > 0) compared.notes.push_back(fmt::format("{} of {} runs have not come to their end and are left out", missing, all));
}

}  // namespace

ComparedRuns read_compared_runs(const std::vector<std::string>& paths, const ReadingProgram& program) {
  ComparedRuns compared;
  compared.titles = program.titles;
  std::vector<std::string> folders, plain, output_of_row;
  bool first = true;
  for (const auto& path : paths) {
    if (const auto sweep = named_sweep(path)) {
      add_sweep(*sweep, first || !compared.metric.empty(), folders, compared);
      output_of_row.resize(compared.rows.size(), sweep->output);
      first = false;
    } else {
      plain.push_back(path);
    }
  }
  const size_t of_sweeps = folders.size();
  folders.insert(folders.end(), plain.begin(), plain.end());
  compared.runs = read_runs(folders, program);
  add_columns(of_sweeps, compared);
  tell_sweeps_apart(output_of_row, compared);
  leave_out_unfinished(compared);
  return compared;
}

std::vector<std::string> run_folders(const std::vector<std::string>& paths) {
  std::vector<std::string> folders;
  for (const auto& path : paths) {
    const auto sweep = named_sweep(path);
    if (!sweep) {
      folders.push_back(path);
      continue;
    }
    for (const auto& run : read_sweep_record(sweep->output).runs) {
      if (has_begun(folder_of(sweep->output, run))) folders.push_back(folder_of(sweep->output, run));
    }
  }
  return folders;
}

namespace {

constexpr size_t kShownDigits = 12;  // of a digest

}  // namespace

void require_same_texts(const std::string& verb, const std::string& task, const std::vector<TaskEvaluation>& evaluations) {
  const auto digest_of = [&task](const TaskEvaluation& one) {
    const EvaluatedTask* found = one.record->task(task);
    return found == nullptr ? std::string() : found->digest;
  };
  const TaskEvaluation* first = nullptr;
  for (const auto& one : evaluations) {
    const std::string digest = digest_of(one);
    if (digest.empty()) continue;
    if (first == nullptr) first = &one;
    const std::string known = digest_of(*first);
    if (digest == known) continue;
    throw usage_error(
        "{}: runs evaluated on different texts: those of '{}' have the digest {} in '{}' and {} in '{}'; evaluate them with one --root, or "
        "show each by itself",
        verb, task, known.substr(0, kShownDigits), first->run->path, digest.substr(0, kShownDigits), one.run->path);
  }
}

void require_same_texts(const std::string& verb, const std::vector<RunRecord>& runs) {
  std::map<std::pair<std::string, std::string>, std::vector<TaskEvaluation>> evaluated;  // by kind and task
  for (const auto& run : runs) {
    for (const auto& record : run.evaluations) {
      for (const auto& task : record.tasks) evaluated[{record.data, task.name}].push_back({&run, &record});
    }
  }
  for (const auto& [kind_and_task, evaluations] : evaluated) require_same_texts(verb, kind_and_task.second, evaluations);
}

}  // namespace debias

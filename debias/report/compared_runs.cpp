#include "debias/report/compared_runs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "debias/core/error.h"
#include "debias/report/recipe_text.h"
#include "debias/report/run_column.h"
#include "debias/sweep/sweep_record.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

// The output that a path stands for, where it is a sweep.
std::optional<std::string> output_of_sweep(const std::string& path) {
  if (has_sweep_record(path)) return path;
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored) || !path.ends_with(".yaml")) return std::nullopt;
  const Config root = read_yaml_file(path);
  const Config* output = root.find("output");
  if (!is_sweep(root) || output == nullptr || !output->is_scalar()) {
    throw usage_error("table: '{}' is a file and no sweep; give a sweep, its output or run folders", path);
  }
  return output->text();
}

std::string folder_of(const std::string& output, const RecordedRun& run) { return output + "/" + run.name(); }

bool has_begun(const std::string& folder) { return fs::exists(folder + "/config.yaml"); }

// Of one sweep, into `compared`; the runs themselves are read later.
void add_sweep(const std::string& output, bool named, std::vector<std::string>& folders, ComparedRuns& compared) {
  const SweepRecord record = read_sweep_record(output);
  if (named) compared.metric = compared.metric.empty() || compared.metric == record.metric ? record.metric : "";
  const size_t first = compared.rows.size();
  for (const auto& run : record.runs) {
    auto row = std::find_if(compared.rows.begin() + static_cast<std::ptrdiff_t>(first), compared.rows.end(),
                            [&](const ComparedRow& other) { return other.variant == run.point.variant && other.grid == run.point.grid; });
    if (row == compared.rows.end()) {
      compared.rows.push_back({run.point.label(), run.point.variant, run.point.grid, {}, 0});
      row = std::prev(compared.rows.end());
    }
    ++row->planned;
    const std::string folder = folder_of(output, run);
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

// Rows of several sweeps that are called alike get their sweep's name before them.
void tell_sweeps_apart(const std::vector<std::string>& output_of_row, ComparedRuns& compared) {
  std::vector<std::string> labels;
  for (const auto& row : compared.rows) labels.push_back(row.label);
  for (size_t i = 0; i < output_of_row.size(); ++i) {
    if (std::ranges::count(labels, labels[i]) < 2) continue;
    const std::string sweep = fs::path(output_of_row[i] + "/").parent_path().filename().string();
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

std::map<std::string, std::string> data_options(const RunRecord& run, const std::string& split) {
  std::map<std::string, std::string> options;
  const Config* data = run.config.find("data");
  const Config* section = data == nullptr ? nullptr : data->find(split);
  if (section == nullptr || !section->is_map()) return options;
  const bool files = text_at_path(*section, {"name"}) == "image_folder";  // other folders may hold other images
  for (const auto& [key, value] : flattened(*section)) {
    if (files || key != "root") options[key] = value;
  }
  return options;
}

// The first key at which two maps differ, "" where they do not.
std::string first_difference(const std::map<std::string, std::string>& a, const std::map<std::string, std::string>& b) {
  for (const auto* one : {&a, &b}) {
    const auto& other = one == &a ? b : a;
    for (const auto& [key, value] : *one) {
      const auto found = other.find(key);
      if (found == other.end() || found->second != value) return key;
    }
  }
  return "";
}

void require_alike(const RunRecord& first, const RunRecord& run, const std::string& split, const std::string& key) {
  auto a = data_options(first, split), b = data_options(run, split);
  const std::string differing = key.empty() ? first_difference(a, b) : a[key] == b[key] ? "" : key;
  if (differing.empty()) return;
  throw usage_error("table: runs of different data: data.{}.{} is {} in '{}' and {} in '{}'; make a table of each", split, differing,
                    a[differing].empty() ? "not there" : a[differing], first.path, b[differing].empty() ? "not there" : b[differing],
                    run.path);
}

void require_one_batch(const RunRecord& first, const RunRecord& run, const std::string& metric) {
  const std::string a = judged_batch(first, metric), b = judged_batch(run, metric);
  if (a == b) return;
  throw usage_error(
      "table: {} is sought in batches of different sizes: train.batch_size is {} in '{}' and {} in '{}'; make a table of each", metric,
      a.empty() ? "not there" : a, first.path, b.empty() ? "not there" : b, run.path);
}

}  // namespace

ComparedRuns read_compared_runs(const std::vector<std::string>& paths, const ReadingProgram& program) {
  ComparedRuns compared;
  compared.titles = program.titles;
  std::vector<std::string> folders, plain, output_of_row;
  bool first = true;
  for (const auto& path : paths) {
    if (const auto output = output_of_sweep(path)) {
      add_sweep(*output, first || !compared.metric.empty(), folders, compared);
      output_of_row.resize(compared.rows.size(), *output);
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
    const auto output = output_of_sweep(path);
    if (!output) {
      folders.push_back(path);
      continue;
    }
    for (const auto& run : read_sweep_record(*output).runs) {
      if (has_begun(folder_of(*output, run))) folders.push_back(folder_of(*output, run));
    }
  }
  return folders;
}

std::string judged_batch(const RunRecord& run, const std::string& metric) {
  return split_of(metric).name == "neighbour_acc" ? text_at_path(run.config, {"train", "batch_size"}) : "";
}

void require_same_data(const ComparedRuns& compared, const std::string& metric) {
  const std::string split = split_of(metric).split;
  const RunRecord* first = nullptr;
  for (const auto& row : compared.rows) {
    for (const size_t number : row.runs) {
      const RunRecord& run = compared.runs[number];
      if (first == nullptr) first = &run;
      require_alike(*first, run, "train", "name");
      if (!split.empty()) require_alike(*first, run, split, "");
      require_one_batch(*first, run, metric);
    }
  }
}

}  // namespace debias

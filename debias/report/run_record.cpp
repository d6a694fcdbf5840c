#include "debias/report/run_record.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/data/dataset_registry.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLargestConfig = int64_t{16} << 20, kLargestHistory = int64_t{1} << 30;  // bytes

Config read_config(const std::string& path, const std::string& text) {
  try {
    return parse_yaml(text, path);
  } catch (const Error& error) {
    throw data_error("reading the run's recipe: {}", error.what());
  }
}

void add_line(MetricHistory& history, const Json& line) {
  const bool step = line.contains("step");
  const double x = line.at(step ? "step" : "epoch").get<double>();
  for (const auto& [name, value] : line.get_ref<const Json::object_t&>()) {
    if (name == "epoch" || name == "step" || !(value.is_number() || value.is_null())) continue;
    if (std::find(history.names.begin(), history.names.end(), name) == history.names.end()) history.names.push_back(name);
    Curve& curve = (step ? history.by_step : history.by_epoch)[name];
    curve.x.push_back(x);
    curve.y.push_back(number_or_nan(value));
  }
}

// Reads metrics.jsonl; returns the last finished epoch.
int64_t read_history(const std::string& path, RunRecord& run) {
  if (!fs::exists(path)) {
    run.notes.push_back("there is no metrics.jsonl: no checkpoint was written yet, or the file was removed");
    return 0;
  }
  const std::string text = read_text_file(path, kLargestHistory);
  int64_t epochs = 0, number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    ++number;
    if (end == std::string::npos) {
      run.notes.push_back(fmt::format("line {} of metrics.jsonl is incomplete and left out: it is being written, or was cut", number));
      break;
    }
    const std::string where = fmt::format("{}:{}", path, number);
    const Json line =
        Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(end), nullptr,
                    /*allow_exceptions=*/false);
    if (!line.is_object()) throw data_error("reading '{}': damaged JSON; resume the run, which writes it again, or remove the line", where);
    read_fields(where, [&] {
      add_line(run.history, line);
      if (!line.contains("step")) epochs = std::max(epochs, whole_number(line.at("epoch")));
      return true;
    });
    begin = end + 1;
  }
  return epochs;
}

void note_versions(RunRecord& run, const std::string& debias_version) {
  if (run.environment.empty()) {
    run.notes.push_back("there is no environment.json: the versions that the run was made with are not known");
    return;
  }
  const std::string version = run.of_environment("debias");
  if (version == debias_version) return;
  run.notes.push_back(fmt::format("made by debias {}, read by {}: what has another form there is left out", version.empty() ? "?" : version,
                                  debias_version));
}

void note_damaged_times(RunRecord& run) {
  const int64_t lines = run.speed.damaged_lines;
  if (lines == 0) return;
  run.notes.push_back(fmt::format("{} line{} of {} {} damaged: the training time is without {}", lines, lines == 1 ? "" : "s",
                                  kEpochTimesFile, lines == 1 ? "is" : "are", lines == 1 ? "it" : "them"));
}

void note_evaluations(RunRecord& run) {
  for (const auto& record : run.evaluations) {
    if (record.epoch < 0 || record.epoch == run.epochs_done || record.has_option("untrained", true)) continue;
    run.notes.push_back(fmt::format("{} evaluated epoch {}, training has reached epoch {}", fs::path(record.path).filename().string(),
                                    record.epoch, run.epochs_done));
  }
}

// Older versions took bias label c to go with class c in any data set, which is so in those that are numbered so.
void leave_out_invented_alignment(RunRecord& run) {
  for (auto& record : run.evaluations) {
    if (record.aligned || record.is_of_groups()) continue;
    const size_t removed = std::erase_if(record.metrics, [&](const auto& metric) {
      const SplitName name = split_of(metric.first);
      if (name.name != "aligned_acc" && name.name != "conflicting_acc") return false;
      const auto section = record.evaluated.find(name.split);
      const std::string data = section == record.evaluated.end() || !section->is_object() ? "" : value_or(*section, "name", std::string());
      return !data.empty() && !data_set_is(data, &DatasetEntry::numbers_biases_as_classes);
    });
    if (removed == 0) continue;
    run.notes.push_back(
        fmt::format("{} does not say which bias labels belong to which classes: its aligned and conflicting accuracy are "
                    "left out; debias eval {} writes them again",
                    fs::path(record.path).filename().string(), record.protocol));
  }
}

// It only illustrates: what is wrong with it keeps no number from being shown.
void read_video_of(const std::string& path, RunRecord& run) {
  try {
    run.video = read_video(path);
  } catch (const Error& error) {
    run.notes.push_back(fmt::format("the video is left out: {}", error.what()));
  }
}

void read_names(const std::string& path, RunRecord& run) {
  if (!fs::exists(path)) return;
  const Json json = read_json_object(path, kLargestConfig);
  read_fields(path, [&] {
    run.classes = value_or(json, "classes", std::vector<std::string>());
    run.biases = value_or(json, "biases", std::vector<std::string>());
    return true;
  });
}

// "b", or "a/b".
std::string last_parts(const std::string& path, size_t count) {
  std::vector<std::string> parts;
  for (const auto& part : fs::path(real_path(path))) parts.push_back(part.string());
  std::string out;
  for (size_t i = parts.size() - std::min(count, parts.size()); i < parts.size(); ++i) out += (out.empty() ? "" : "/") + parts[i];
  return out;
}

}  // namespace

double MetricHistory::last_of_epochs(const std::string& metric) const {
  const auto found = by_epoch.find(metric);
  return found == by_epoch.end() || found->second.y.empty() ? std::numeric_limits<double>::quiet_NaN() : found->second.y.back();
}

std::string RunRecord::shown_split(const std::string& split) const {
  const bool by_folds = is_fixed() && recipe.data_of("valid").name.empty() && recipe.data_of("test").name.empty();
  return by_folds && split == "valid" ? "folds" : split;
}

bool RunRecord::of_text() const {
  const DatasetEntry* entry = find_dataset(recipe.data_of("train").name);
  return entry != nullptr && entry->samples == SampleKind::kSentences;
}

bool RunRecord::has_bias_values() const {
  if (!biases.empty() || evaluation("groups") != nullptr) return true;
  const DataFacts& test = recipe.data_of("test");
  if (!test.correlation.empty()) return true;
  const DatasetEntry* entry = find_dataset(test.name);
  if (entry == nullptr || !entry->numbers_biases_as_classes) return false;
  return std::ranges::find(entry->options, "correlation", &OptionSpec::name) ==
         entry->options.end();  // else it has none without the option
}

std::string RunRecord::of_environment(const char* key) const {
  const auto found = environment.find(key);
  if (found == environment.end() || found->is_null()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const EvaluationRecord* RunRecord::evaluation(const std::string& protocol, const std::string& data) const {
  const auto found = std::find_if(evaluations.begin(), evaluations.end(),
                                  [&](const auto& record) { return record.protocol == protocol && record.data == data; });
  return found == evaluations.end() ? nullptr : &*found;
}

RunRecord read_run(const std::string& path, const ReadingProgram& program) {
  const std::string config_path = path + "/config.yaml";
  if (!fs::exists(path))
    throw data_error("opening '{}': no such run folder{}; give one that debias train has written", path, start_of(path));
  if (fs::is_regular_file(path)) {
    const ForeignFile foreign = foreign_file(InputFile(path));
    if (!foreign.what.empty())
      throw data_error("opening '{}': it is {}, and a run folder is needed; {}", path, foreign.what, foreign.advice);
  }
  if (!fs::exists(config_path))
    throw data_error("opening '{}': not a run folder (no config.yaml); give one that debias train has written", path);
  RunRecord run;
  run.path = path;
  run.titles = program.titles;
  run.config_text = read_text_file(config_path, kLargestConfig);
  run.config = read_config(config_path, run.config_text);
  if (!run.config.is_map()) throw data_error("reading '{}': expected a recipe, found something else", config_path);
  run.recipe = read_recipe_facts(run.config);
  if (fs::exists(path + "/environment.json")) run.environment = read_json_object(path + "/environment.json", kLargestConfig);
  note_versions(run, program.version);
  run.data_sets = read_data_sets(path);
  read_names(path + "/classes.json", run);
  run.speed = read_training_speed(path);
  note_damaged_times(run);
  run.epochs_done = read_history(path + "/metrics.jsonl", run);
  run.evaluations = read_evaluations(path + "/evaluation");
  run.similarities = read_similarity_history(path + "/evaluation");
  read_video_of(path, run);
  leave_out_invented_alignment(run);
  note_evaluations(run);
  run.label = last_parts(path, 1);
  return run;
}

std::vector<RunRecord> read_runs(const std::vector<std::string>& paths, const ReadingProgram& program) {
  std::set<std::string> seen;
  std::vector<RunRecord> runs;
  for (const auto& path : paths) {
    runs.push_back(read_run(path, program));
    if (!seen.insert(real_path(path)).second) throw usage_error("report: run '{}' is given twice; give it once", path);
  }
  const std::vector<std::string> labels = short_labels(distinct_labels(paths));
  for (size_t i = 0; i < runs.size(); ++i) runs[i].label = labels[i];
  return runs;
}

std::vector<std::string> short_labels(const std::vector<std::string>& labels) {
  const auto where_distinct = [](const std::vector<std::string>& from, auto&& shortened) {
    std::vector<std::string> to;
    for (const std::string& label : from) to.push_back(shortened(label));
    return std::set<std::string>(to.begin(), to.end()).size() == from.size() ? to : from;
  };
  // "ce/seed-1" and "end/seed-1" differ in what is in front.
  std::vector<std::string> found = labels;
  const auto seed_of = [](const std::string& label) {
    const size_t at = label.rfind("/seed-");
    return at == std::string::npos || at == 0 ? "" : label.substr(at);
  };
  const std::string seed = labels.empty() ? "" : seed_of(labels.front());
  if (!seed.empty() && std::ranges::all_of(labels, [&](const std::string& label) { return seed_of(label) == seed; }))
    found = where_distinct(found, [&](const std::string& label) { return label.substr(0, label.size() - seed.size()); });
  // "data.train.correlation=0.99", as folders of a sweep are named.
  return where_distinct(found, [](const std::string& label) {
    std::string text;
    for (size_t begin = 0; begin <= label.size();) {
      const size_t end = std::min(label.find('/', begin), label.size());
      const std::string part = label.substr(begin, end - begin);
      const size_t dot = part.rfind('.', part.find('='));
      text += (begin == 0 ? "" : "/") + (part.find('=') == std::string::npos || dot == std::string::npos ? part : part.substr(dot + 1));
      begin = end + 1;
    }
    return text;
  });
}

std::vector<std::string> distinct_labels(const std::vector<std::string>& paths) {
  constexpr size_t kMostParts = 64;
  std::vector<std::string> names(paths.size());
  for (size_t count = 1; count <= kMostParts; ++count) {
    for (size_t i = 0; i < paths.size(); ++i) names[i] = last_parts(paths[i], count);
    if (std::set<std::string>(names.begin(), names.end()).size() == names.size()) break;
  }
  return names;
}

std::vector<SimilarityEpoch> read_similarity_history(const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string prefix = "epoch-";
  std::vector<SimilarityEpoch> history;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string(), path = entry.path().string() + "/geometry.json";
    int64_t epoch = 0;
    if (!name.starts_with(prefix) || !parse_integer(name.substr(prefix.size()), &epoch) || !fs::exists(path)) continue;
    history.push_back({epoch, read_evaluation(path).similarity});
  }
  std::ranges::sort(history, {}, &SimilarityEpoch::epoch);
  return history;
}

double cosine_quantile(const SimilarityHistogram& histogram, double share) {
  const auto bins = static_cast<double>(histogram.histogram.size());
  const double wanted = share * static_cast<double>(histogram.pairs);
  double below = 0;
  for (size_t i = 0; i < histogram.histogram.size() && histogram.pairs > 0; ++i) {
    const auto here = static_cast<double>(histogram.histogram[i]);
    if (here > 0 && below + here >= wanted) return -1 + 2 / bins * (static_cast<double>(i) + std::max(0.0, wanted - below) / here);
    below += here;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace debias

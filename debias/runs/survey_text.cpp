#include "debias/runs/survey_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "debias/core/printable.h"
#include "debias/core/registry.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/group_counts.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;
using Size = std::pair<int, int>;  // height, width

constexpr size_t kShownFiles = 10, kShownClasses = 30, kShownBiases = 12;

struct Sizes {
  Size smallest, median, largest;  // by area
};

Sizes sizes_of(const FolderSurvey& survey) {
  std::map<Size, int64_t> images = survey.train_check.sizes;
  if (survey.evaluated_check) {
    for (const auto& [size, count] : survey.evaluated_check->sizes) images[size] += count;
  }
  std::vector<Size> ordered;
  for (const auto& [size, count] : images) ordered.insert(ordered.end(), static_cast<size_t>(count), size);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Size& a, const Size& b) { return int64_t{a.first} * a.second < int64_t{b.first} * b.second; });
  return {ordered.front(), ordered[ordered.size() / 2], ordered.back()};
}

std::string pixels(const Size& size) { return fmt::format("{} x {}", size.second, size.first); }

std::string evaluated_name(const FolderSurvey& survey) { return survey.evaluated.find("split")->text(); }

// Bias labels that images have: integers need not begin at 0, nor follow each other.
std::vector<size_t> biases_in_table(const DataCheck& check) {
  std::vector<size_t> found;
  for (size_t bias = 0; bias < check.bias_names.size(); ++bias) {
    if (std::ranges::any_of(check.bias_table, [&](const auto& row) { return row[bias] > 0; })) found.push_back(bias);
  }
  return found;
}

std::string more_biases(const std::vector<size_t>& biases) {
  return biases.size() > kShownBiases ? fmt::format("  and {} bias labels more (--json lists all)\n", biases.size() - kShownBiases) : "";
}

// Counts by class, and by bias label where there is one.
std::string table_text(const DataCheck& check) {
  std::string text;
  size_t width = 5;
  for (const auto& name : check.class_names) width = std::max(width, name.size());
  const std::vector<size_t> every = biases_in_table(check),
                            biases(every.begin(), every.begin() + std::ptrdiff_t(std::min(every.size(), kShownBiases)));
  std::vector<std::string> head;
  for (const size_t bias : biases) head.push_back(check.bias_names[bias]);
  const auto line = [&](const std::string& first, const std::vector<std::string>& cells) {
    text += fmt::format("  {:<{}}", without_control_characters(first), width);
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t column = i < biases.size() ? std::max<size_t>(head[i].size(), 6) : 6;
      text += fmt::format("  {:>{}}", without_control_characters(cells[i]), column);
    }
    text += '\n';
  };
  std::vector<std::string> titles = head;
  titles.push_back("all");
  line("class", titles);
  for (size_t label = 0; label < std::min(kShownClasses, check.class_names.size()); ++label) {
    std::vector<std::string> cells;
    if (!check.bias_table.empty()) {
      for (const size_t bias : biases) cells.push_back(fmt::format("{}", check.bias_table[label][bias]));
    }
    cells.push_back(fmt::format("{}", check.per_class[label]));
    line(check.class_names[label], cells);
  }
  if (check.class_names.size() > kShownClasses) text += fmt::format("  and {} classes more\n", check.class_names.size() - kShownClasses);
  return text + more_biases(every);
}

std::string files_text(const std::string& what, const std::vector<BadFile>& files) {
  std::string text;
  for (size_t i = 0; i < std::min(kShownFiles, files.size()); ++i) {
    text += fmt::format("{}: {}: {}\n", what, without_control_characters(files[i].path), without_control_characters(files[i].reason));
  }
  if (files.size() > kShownFiles) text += fmt::format("{}: and {} more (--json lists all)\n", what, files.size() - kShownFiles);
  return text;
}

std::vector<BadFile> damaged(const FolderSurvey& survey) {
  std::vector<BadFile> files = survey.train_check.bad_files;
  if (survey.evaluated_check) files.insert(files.end(), survey.evaluated_check->bad_files.begin(), survey.evaluated_check->bad_files.end());
  return files;
}

Json split_json(const DataCheck& check) {
  Json json = {{"images", check.count}, {"per_class", check.per_class}};
  if (!check.bias_names.empty()) json["bias_table"] = check.bias_table;
  return json;
}

Json size_json(const Size& size) { return {size.first, size.second}; }

// "columns of photos.csv: path, label are read; colour is not"
std::string columns_text(const ColumnUse& columns) {
  if (columns.file.empty()) return "";
  const auto list = [](const std::vector<std::string>& titles) {
    return fmt::format("{} {}", fmt::join(titles, ", "), titles.size() == 1 ? "is" : "are");
  };
  const std::string rest = columns.ignored.empty() ? "" : fmt::format("; {} not", list(columns.ignored));
  return without_control_characters(fmt::format("columns of {}: {} read{}", columns.file, list(columns.read), rest)) + "\n";
}

// Over the images whose label and bias label are known.
std::string aligned_text(const DataCheck& train) {
  int64_t known = 0;
  for (const auto& row : train.bias_table) known = std::accumulate(row.begin(), row.end(), known);
  const int64_t aligned = known - GroupCounts(train.bias_table).conflicting();
  const std::string which = known == train.count ? "training images" : "training images with a label and a bias label";
  std::string text = fmt::format("{} of {} {} ({:.1f} %) have the most frequent bias label of their class\n", aligned, known, which,
                                 known == 0 ? 0.0 : 100 * static_cast<double>(aligned) / static_cast<double>(known));
  if (known < train.count) {
    text += fmt::format("note: {} of {} training images have no label or no bias label: losses that need them leave these images out\n",
                        train.count - known, train.count);
  }
  return text;
}

}  // namespace

std::string survey_text(const FolderSurvey& survey, const std::string& folder) {
  const DataCheck& train = survey.train_check;
  const Sizes sizes = sizes_of(survey);
  std::string text = fmt::format("{}: {} training images, ", folder, train.count - survey.held_out);
  text += survey.evaluated_check ? fmt::format("{} in {} for evaluation\n", survey.evaluated_check->count, evaluated_name(survey))
                                 : fmt::format("{} more held out for evaluation\n", survey.held_out);
  text += fmt::format("sizes: {} to {} pixels, median {}\n", pixels(sizes.smallest), pixels(sizes.largest), pixels(sizes.median));
  text += columns_text(train.columns);
  if (train.class_names.empty()) text += "no class folders and no labels\n";
  if (!train.class_names.empty())
    text += (train.bias_names.empty() ? "classes:\n" : "classes and bias labels, training:\n") + table_text(train);
  if (survey.evaluated_check && !train.class_names.empty()) text += evaluated_name(survey) + ":\n" + table_text(*survey.evaluated_check);
  if (survey.has_biases()) text += aligned_text(train);
  text += files_text("damaged", damaged(survey)) + files_text("ignored", survey.layout.not_read);
  for (const std::string& remark : survey.remarks) text += "note: " + without_control_characters(remark) + "\n";
  return text;
}

Json columns_json(const ColumnUse& columns) {
  return {{"read", columns.read}, {"ignored", columns.ignored}, {"likely_bias", columns.likely_bias}};
}

Json survey_json(const FolderSurvey& survey) {
  const DataCheck& train = survey.train_check;
  const Sizes sizes = sizes_of(survey);
  Json json = {
      {"images", train.count + (survey.evaluated_check ? survey.evaluated_check->count : 0)},
      {"classes", train.class_names},
      {"biases", train.bias_names},
      {"columns", columns_json(train.columns)},
      {"splits", {{"train", split_json(train)}}},
      {"hold_out", survey.hold_out},
      {"bias_table", train.bias_table},
      {"sizes", {{"smallest", size_json(sizes.smallest)}, {"median", size_json(sizes.median)}, {"largest", size_json(sizes.largest)}}},
      {"bad_files", Json::array()},
      {"notes", survey.remarks}};
  if (survey.evaluated_check) json["splits"][evaluated_name(survey)] = split_json(*survey.evaluated_check);
  for (const auto& files : {damaged(survey), survey.layout.not_read}) {
    for (const BadFile& file : files) json["bad_files"].push_back({{"path", file.path}, {"reason", file.reason}});
  }
  return json;
}

std::string goal_text(InitGoal goal, bool asked, const std::string& doubt) {
  const std::string why = asked                     ? "as asked"
                          : !doubt.empty()          ? doubt + "; --goal bias uses them all the same"
                          : goal == InitGoal::kBias ? "labels and bias labels are known"
                                                    : "no labels and bias labels are known together";
  return goal == InitGoal::kBias ? "bias, an encoder that does not use the known bias (" + why + ")"
                                 : "sampling, an encoder without labels, its negatives corrected (" + why + ")";
}

namespace {

std::vector<std::string> shown(std::vector<std::string> names) {
  for (auto& name : names) name = without_control_characters(name);
  return names;
}

}  // namespace

nlohmann::ordered_json to_json(const DataCheck& check) {
  nlohmann::ordered_json json;
  json["name"] = check.name;
  json["split"] = check.split;
  json["count"] = check.count;
  json["shape"] = {check.height, check.width, check.channels};
  json["classes"] = check.class_names;
  json["per_class"] = check.per_class;
  json["mean"] = check.mean;
  json["std"] = check.std;
  if (!check.bias_names.empty()) json["bias_table"] = check.bias_table;
  json["bad_files"] = nlohmann::ordered_json::array();
  for (const BadFile& bad : check.bad_files) json["bad_files"].push_back({{"path", bad.path}, {"reason", bad.reason}});
  if (!check.columns.file.empty()) json["columns"] = columns_json(check.columns);
  json["notes"] = check.remarks;
  return json;
}

std::string check_text(const DataCheck& check) {
  std::string text;
  const std::string size = check.height > 0 ? fmt::format("{}x{}x{}", check.height, check.width, check.channels) : "several sizes";
  text += fmt::format("{}, split {}: {} images of {}\n", check.name, check.split, check.count, size);
  text += fmt::format("mean {:.4f}  std {:.4f}  (values in [0, 1], per channel)\n", fmt::join(check.mean, " "), fmt::join(check.std, " "));
  const std::vector<std::string> classes = shown(check.class_names);
  for (size_t i = 0; i < classes.size(); ++i) text += fmt::format("  {:<16} {:>8}\n", classes[i], check.per_class[i]);
  if (!check.bias_names.empty()) {
    const std::vector<size_t> every = biases_in_table(check);
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(every.size(), kShownBiases); ++i) names.push_back(check.bias_names[every[i]]);
    text += fmt::format("label x bias ({})\n", fmt::join(shown(names), " "));
    for (size_t label = 0; label < check.bias_table.size(); ++label) {
      std::vector<int64_t> counts;
      for (size_t i = 0; i < names.size(); ++i) counts.push_back(check.bias_table[label][every[i]]);
      text += fmt::format("  {:<16} {:>6}\n", classes[label], fmt::join(counts, " "));
    }
    text += more_biases(every);
  }
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(kShown, check.bad_files.size()); ++i) {
    const BadFile& bad = check.bad_files[i];
    text += fmt::format("bad: {}: {}\n", without_control_characters(bad.path), without_control_characters(bad.reason));
  }
  if (check.bad_files.size() > kShown) text += fmt::format("bad: and {} more (--json lists all)\n", check.bad_files.size() - kShown);
  for (const std::string& remark : check.remarks) text += fmt::format("note: {}\n", without_control_characters(remark));
  return text;
}

DataCheck unreadable_check(const ChosenData& data, const FileError& error) {
  DataCheck check;
  check.name = data.entry->name;
  const Config* split = data.section.find("split");
  check.split = split != nullptr && split->is_scalar() ? split->text() : "train";
  check.bad_files = {{error.path(), error.reason()}};
  return check;
}

nlohmann::ordered_json listed_datasets() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& entry : dataset_registry()) {
    nlohmann::ordered_json options = nlohmann::ordered_json::array();
    for (const auto& spec : entry.options) options.push_back(option_json(spec));
    list.push_back({{"name", entry.name}, {"aliases", entry.aliases}, {"summary", entry.summary}, {"options", options}});
  }
  return list;
}

}  // namespace debias

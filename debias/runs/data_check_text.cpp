#include "debias/runs/data_check_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "debias/core/printable.h"
#include "debias/core/registry.h"
#include "debias/data/dataset_registry.h"
#include "debias/runs/survey_text.h"

namespace debias {
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
    text += fmt::format("label x bias ({})\n", fmt::join(shown(check.bias_names), " "));
    for (size_t i = 0; i < check.bias_table.size(); ++i) {
      text += fmt::format("  {:<16} {:>6}\n", classes[i], fmt::join(check.bias_table[i], " "));
    }
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

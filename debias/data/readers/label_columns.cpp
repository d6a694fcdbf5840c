#include "debias/data/readers/label_columns.h"

namespace debias {

LabelColumns LabelColumns::from_config(const Config& value, const std::string& what) {
  if (value.is_null()) return {};
  if (value.is_scalar()) return LabelColumns{.file = read_value<std::string>(value, what)};
  if (!value.is_map()) options_detail::refuse(value, what, "a file or a map {file: FILE.csv, path: ..., label: ..., bias: ...}");
  Config section = value;
  if (const Config* name = value.find("name"); name != nullptr && value.find("file") == nullptr) {  // labels=FILE.csv labels.group=patient
    section.set("file", Config(*name));
    section.erase("name");
  }
  if (const Config* group = value.find("group"); group != nullptr && group->is_sequence()) {
    std::string titles;
    for (const Config& title : group->items()) titles += (titles.empty() ? "" : ",") + read_value<std::string>(title, what + ": group");
    section.set("group", Config::string(titles));
  }
  LabelColumns columns = options_from<LabelColumns>(section, what);
  if (columns.file.empty()) throw usage_error("{}{}: no file is given; write file: FILE.csv", value.prefix(), what);
  return columns;
}

Config LabelColumns::config() const {
  Config map = config_of(*this);
  const Config usual = config_of(LabelColumns());
  for (const std::string& name : option_names<LabelColumns>()) {
    if (name != "file" && *map.find(name) == *usual.find(name)) map.erase(name);
  }
  return map.entries().size() == 1 ? Config::string(file) : map;
}

}  // namespace debias

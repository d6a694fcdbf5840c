#include "debias/data/readers/label_columns.h"

namespace debias {

const OptionTable<LabelColumns>& LabelColumns::table() {
  static const auto table = OptionTable<LabelColumns>()
                                .add("file", &LabelColumns::file_, "CSV with one row an image")
                                .add("path", &LabelColumns::path_, "column of paths")
                                .add("label", &LabelColumns::label_, "column of labels; none: the folders' names")
                                .add("bias", &LabelColumns::bias_, "column of bias labels; none: no bias");
  return table;
}

LabelColumns LabelColumns::from_config(const Config& value, const std::string& what) {
  if (value.is_null()) return {};
  if (value.is_scalar()) return LabelColumns().file(options_detail::Field<std::string>::parse(value, Range::any(), what));
  if (!value.is_map()) options_detail::refuse(value, what, "a file or a map {file: FILE.csv, path: ..., label: ..., bias: ...}");
  LabelColumns columns = table().read(value, what);
  if (columns.file().empty()) throw usage_error("{}{}: no file is given; write file: FILE.csv", value.prefix(), what);
  return columns;
}

Config LabelColumns::config() const {
  Config map = table().write(*this);
  const Config usual = table().write(LabelColumns());
  for (const std::string& name : table().names()) {
    if (name != "file" && *map.find(name) == *usual.find(name)) map.erase(name);
  }
  return map.entries().size() == 1 ? Config::string(file()) : map;
}

}  // namespace debias

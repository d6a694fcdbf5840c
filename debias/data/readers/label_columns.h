// Which CSV gives labels and biases, and which of its columns: the option `labels` of image_folder.
//
//   labels: FILE.csv                                     columns path, label and bias
//   labels: {file: FILE.csv, path: image, label: species, bias: background}
//
// A column that is named must be there. If label, bias or group is not named, it is read if the file has a column of that name, and
// `none` is not read. Rows with the same value of `group` belong together, of several columns ([patient, burst] or patient,burst) with the
// same value of each.
#pragma once

#include <optional>
#include <string>

#include "debias/core/options.h"

namespace debias {

struct LabelColumns {
  std::string file = "";
  std::string path = "path";
  std::optional<std::string> label = "";  // empty: not named
  std::optional<std::string> bias = "";
  std::optional<std::string> group = "";
  void describe(OptionVisitor& o) {
    o("file", file, "CSV with one row an image");
    o("path", path, "column of paths");
    o("label", label, "column of labels; none: the folders' names");
    o("bias", bias, "column of bias labels; none: no bias");
    o("group", group, "column of what belongs together, such as a patient; several: all equal; none: every image alone");
  }

  // `what` begins messages. config() is the file alone where no column is named.
  static LabelColumns from_config(const Config& value, const std::string& what);
  Config config() const;
};

namespace options_detail {

template <>
struct Field<LabelColumns> {
  static std::string type() { return "text or map"; }
  static LabelColumns parse(const Config& value, const Range&, const std::string& what) { return LabelColumns::from_config(value, what); }
  static Config emit(const LabelColumns& columns) { return columns.config(); }
};

}  // namespace options_detail

}  // namespace debias

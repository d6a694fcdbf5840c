// CSV files of labels and biases by image path (csv_table.h).
//
// The first line is a header. Other columns than the four are kept as text, so that a reader can report them. Blanks around labels, biases
// and the names of columns do not count. Which fields are unknown, says table_column.h. A column is one of two things:
//   integers   every known field is an integer from 0 to 2^31 - 1, as it is printed or with zeros after the point. The value is the number
//              itself; since its classes are then 0 to the largest, a number above 1,000,000 is rejected. So is a column of -1 and 1 alone,
//              which rather means no and yes.
//   names      no field reads as a number (7, 1.5, 1e3, inf, 0x10), such as "7up"; or all are integers, and one is not as it is printed
//              (007; +7 is 7). The value is the rank of the name in byte-wise order.
// Anything between is rejected by line and value: what is rarer in the column, numbers or names, is taken for the mistake.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/data/dataset.h"
#include "debias/data/readers/row_names.h"

namespace debias {

// Which CSV gives labels and biases, and which of its columns: the option `labels` of image_folder.
//
//   labels: FILE.csv                                     columns path, label and bias
//   labels: {file: FILE.csv, path: image, label: species, bias: background}
//
// A column that is named must be there. If label, bias or group is not named, it is read if the file has a column of that name, and
// `none` is not read. Rows with the same value of `group` belong together, of several columns ([patient, burst] or patient,burst) with the
// same value of each.
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

enum class ColumnKind { kAbsent, kIntegers, kNames };

struct LabelColumn {
  ColumnKind kind = ColumnKind::kAbsent;
  std::string title;               // of the column in the file
  std::vector<std::string> names;  // by value; "0", "1", ... up to the largest for integers
  std::vector<std::string> notes;  // one line each: what was read otherwise than it is written
};

struct LabelRow {
  std::string path;  // normalised: no "./", "//" or "x/../"
  int64_t label = kUnknown;
  int64_t bias = kUnknown;
  int64_t group = kUnknown;
  int64_t line = 0;        // in the file, from 1
  std::string split = {};  // of the column `split`; empty without it
};

// A column that is not read.
struct OtherColumn {
  std::string title;
  std::vector<std::string> values;  // by row, without blanks around them; empty where unknown
};

struct LabelFile {
  std::vector<LabelRow> rows;  // in the order of the file
  std::string path_title;      // of the column of paths
  LabelColumn label, bias;
  LabelColumn group;                // its values are names, of any kind of column; the title of several is "patient,burst"
  std::vector<OtherColumn> others;  // in the order of the file; those without a title are left out
  std::vector<std::string> notes;   // of the file: what was left out, and which column has the paths
  bool looks_for_bias = true;       // false: the options say that the file holds none (bias: none)

  std::vector<RowName> names() const;  // of the rows
};

// FileError "PATH: line N: ..." for a malformed file, a column that is missing (with the nearest of its columns), neither labels nor
// biases, a path given twice with other values or empty, and fields that are rejected above. Where there is no column `path`, the column
// that names the images is taken (naming_column, row_names.h).
LabelFile read_label_file(const LabelColumns& columns, const std::vector<std::string>& images = {});

// Whether the column of paths is one of the file's by its title.
bool has_path_column(const LabelColumns& columns);

}  // namespace debias

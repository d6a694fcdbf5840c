// The rows of a feature table: the values of a CSV for each sample.
//
// Columns, by the header: `path` (or `filenames`, or `id`) names the sample and may be absent; `label` is its class; `split` is train,
// valid or test, and without that column all rows are in train. Every other column describes the sample: categorical, or numeric if
// the caller requests it. Blanks around fields are ignored. Which fields are unknown, and which columns hold integers, says table_column.h; a
// remark counts the words that are read as unknown. Every row needs a label. The files of `debias embed`, F.csv and F.names.csv, are read
// with classes in the order of their numbers.
//
// Categorical values are numbered in byte-wise order of their names, integers in numeric order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/options.h"
#include "debias/data/sample_table.h"

namespace debias {

enum class TableSplit { kTrain, kValid, kTest };
template <>
struct EnumNames<TableSplit> {
  static constexpr std::array<std::pair<std::string_view, TableSplit>, 3> values = {
      {{"train", TableSplit::kTrain}, {"valid", TableSplit::kValid}, {"test", TableSplit::kTest}}};
};

struct TableColumn {
  std::string name;
  bool numeric = false;
  std::vector<std::string> names;  // categorical: names of its values
  std::vector<int64_t> values;     // categorical, [n]: index into `names`, or kUnknown
  std::vector<double> numbers;     // numeric, [n]: NaN for unknown
};

class TableRowOptions {
 public:
  DEBIAS_OPTION(TableRowOptions, std::string, label, "")                               // empty: the column `label`
  DEBIAS_OPTION(TableRowOptions, std::optional<std::vector<std::string>>, biases, {})  // nullopt: the column `bias`, if there is one
  DEBIAS_OPTION(TableRowOptions, std::vector<std::string>, numeric, {})
};

struct TableRows {
  std::string path;                // of the CSV
  std::string name_column;         // `path`, `filenames` or `id`; empty without one
  std::vector<std::string> names;  // [n] or empty
  std::vector<std::string> classes;
  std::vector<int64_t> labels;       // [n], index into `classes`
  std::vector<TableSplit> splits;    // [n]
  bool has_splits = false;           // from a column; without it all are train
  std::vector<TableColumn> columns;  // all except name, label and split
  std::vector<size_t> biases;        // indices into `columns`, in the requested order
  std::vector<int64_t> lines;        // [n], line numbers in the file, from 1
  std::vector<std::string> remarks;  // one line each: words that count as unknown

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// FileErrors name lines: a malformed CSV (csv_table.h), no rows, rows without a label, an empty or repeated name, an unknown split,
// a numeric field that is not a finite number, a bias column of -1 and 1 alone (-1 would be unknown). Usage errors name columns: a
// requested column that is absent, with the nearest, a repeated column, and a numeric column that is no bias column.
TableRows read_table_rows(const std::string& path, const TableRowOptions& options = {});

// Rows order[0], order[1], ... Values of columns keep their numbers.
TableRows selected_rows(const TableRows& rows, const std::vector<int64_t>& order);

// The name column of a CSV, as in read_table_rows, and its column `split`, with any other columns ignored; nullopt without names.
struct NameColumn {
  std::string column;
  std::vector<std::string> names;
  std::vector<TableSplit> splits;  // empty without that column, or if it has other values
};
std::optional<NameColumn> read_name_column(const std::string& path);

// The column `split` of a CSV, with any other columns ignored; nullopt without it. FileError for an unknown split.
std::optional<std::vector<TableSplit>> read_split_column(const std::string& path);

}  // namespace debias

// The rows of a feature table: a CSV's values of each sample.
//
// Columns, by the header: `path` (or `filenames`, or `id`) names the sample and may be absent; `label` is its class; `split` is train,
// valid or test, and without that column all rows are of train. Every other column describes the sample: categorical, or numeric if
// the caller requests it. Blanks around fields are ignored. An empty field is unknown, and so are nan, NA and their like
// (is_missing_word) except as a label, which a remark counts. The files of `debias embed`, F.csv and F.names.csv, are read with classes in the order of their
// numbers.
//
// Categorical values are numbered in byte-wise order of their names. If all are integers, they are in numeric order, and -1 is unknown.
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
  std::vector<std::string> names;  // categorical: of its values
  std::vector<int64_t> values;     // categorical, [n]: a place in `names`, or kUnknown
  std::vector<double> numbers;     // numeric, [n]: NaN where unknown
};

class TableRowOptions {
 public:
  DEBIAS_OPTION(TableRowOptions, std::string, label, "")                               // empty: the column `label`
  DEBIAS_OPTION(TableRowOptions, std::optional<std::vector<std::string>>, biases, {})  // nullopt: the column `bias`, where there is one
  DEBIAS_OPTION(TableRowOptions, std::vector<std::string>, numeric, {})
};

struct TableRows {
  std::string path;                // of the CSV
  std::string name_column;         // `path`, `filenames` or `id`; empty without one
  std::vector<std::string> names;  // [n] or empty
  std::vector<std::string> classes;
  std::vector<int64_t> labels;       // [n], a place in `classes`
  std::vector<TableSplit> splits;    // [n]
  bool has_splits = false;           // of a column; without one all are train
  std::vector<TableColumn> columns;  // all that are neither name, label nor split
  std::vector<size_t> biases;        // places in `columns`, in the requested order
  std::vector<int64_t> lines;        // [n], in the file, from 1
  std::vector<std::string> remarks;  // a line each: words that were read as unknown

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// FileErrors name lines: a malformed CSV (csv_file.h), no rows, rows without a label, a name that is empty or given twice, an unknown
// split, a numeric field that is not a finite number, a bias column of -1 and 1 alone (-1 would be unknown). Usage errors name columns: one that
// is requested and absent, with the nearest; one that is requested twice or given twice.
TableRows read_table_rows(const std::string& path, const TableRowOptions& options = {});

// Rows order[0], order[1], ... Values of columns keep their numbers.
TableRows selected_rows(const TableRows& rows, const std::vector<int64_t>& order);

// The column of names of a CSV, as read_table_rows has it, and its column `split`, whatever its other columns are; nullopt where it has no
// names.
struct NameColumn {
  std::string column;
  std::vector<std::string> names;
  std::vector<TableSplit> splits;  // empty without that column, or where it has other names
};
std::optional<NameColumn> read_name_column(const std::string& path);

}  // namespace debias

// The rows of a feature table: the values of a CSV for each sample.
//
// Columns, by the header: `path` (or `filenames`, or `id`) names the sample and may be absent; where the names of the vectors are known and
// no such column has names of their kind, it is the column that holds them (naming_column, row_names.h). `label` is its class; `split` is
// train, valid or test, and without that column all rows are in train. Every other column with a title describes the sample: categorical, or
// numeric if the caller requests it. Which fields are unknown, and what the others are, says table_column.h. Every row needs a label. The
// files of `debias embed`, F.csv and F.names.csv, are read with classes in the order of their numbers.
//
// Categorical values are numbered in byte-wise order of their names, integers in numeric order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/sample_table.h"

namespace debias {

enum class TableSplit { kTrain, kValid, kTest };
constexpr auto enum_words(TableSplit) { return named("train", "valid", "test"); }

struct TableColumn {
  std::string name;
  bool numeric = false;
  std::vector<std::string> names;  // categorical: names of its values
  std::vector<int64_t> values;     // categorical, [n]: index into `names`, or kUnknown
  std::vector<double> numbers;     // numeric, [n]: NaN for unknown
};

struct TableRowOptions {
  std::string label = "";                               // empty: the column `label`
  std::optional<std::vector<std::string>> biases = {};  // nullopt: the column `bias`, if there is one
  std::vector<std::string> numeric = {};
  std::optional<std::vector<std::string>> groups = {};  // nullopt: the column `group`, if there is one and it is no bias column
};

struct TableRows {
  std::string path;                // of the CSV
  std::string name_column;         // its title; "" may be one
  std::vector<std::string> names;  // [n] or empty
  std::vector<int64_t> repeated;   // rows that repeat an earlier one
  bool names_samples = false;      // the names are those that the caller knows, or of their kind
  std::vector<std::string> classes;
  std::vector<int64_t> labels;       // [n], index into `classes`
  std::vector<TableSplit> splits;    // [n]
  bool has_splits = false;           // from a column; without it all are train
  std::vector<TableColumn> columns;  // all except name, label and split
  std::vector<size_t> biases;        // indices into `columns`, in the requested order
  std::vector<size_t> groups;        // the columns whose values name what belongs together, likewise
  std::vector<int64_t> lines;        // [n], line numbers in the file, from 1
  std::vector<std::string> remarks;  // one line each: what is left out, or read otherwise than it is written

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
};

// FileErrors name lines: a malformed CSV (csv_table.h), no rows, rows without a label, an empty or repeated name, an unknown split,
// a numeric field that is not a finite number, a bias column of -1 and 1 alone (-1 would be unknown). Usage errors name columns: a
// requested column that is absent, with the nearest, a repeated column, a group column that is the label or a bias column as well, and a
// numeric column that is no bias column.
// `known`: the names of the vectors; null without any.
struct NameColumn;
TableRows read_table_rows(const std::string& path, const TableRowOptions& options = {}, const NameColumn* known = nullptr);

// The value of a row as text; empty if unknown.
std::string value_text(const TableColumn& column, size_t row);

// A column that seems to name what rows are of, such as patients, though nothing says so.
struct LikelyGroup {
  std::string column;
  std::string text;  // "column 'patient' has 118 values in 600 rows, each in one class"
};
// By the values of `rows` (names_groups), or by the title where values repeat (is_group_title).
std::vector<LikelyGroup> likely_groups(const TableRows& table, const std::vector<int64_t>& rows);

// Rows order[0], order[1], ... Values of columns keep their numbers.
TableRows selected_rows(const TableRows& rows, const std::vector<int64_t>& order);

// The name column of a CSV, as in read_table_rows, and its columns of splits and classes, with any others ignored; nullopt without names.
struct NameColumn {
  std::string column;
  std::vector<std::string> names;
  std::vector<TableSplit> splits;   // empty without that column, or if it has other values
  std::vector<std::string> labels;  // classes, by name if there are names; empty without such a column, and where one is unknown
};
std::optional<NameColumn> read_name_column(const std::string& path);

// The column `split` of a CSV, with any other columns ignored; nullopt without it. FileError for an unknown split.
std::optional<std::vector<TableSplit>> read_split_column(const std::string& path);

}  // namespace debias

#include "debias/data/readers/label_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "debias/core/nearest_name.h"
#include "debias/data/readers/column_values.h"
#include "debias/data/readers/csv_file.h"

namespace debias {
namespace {

constexpr int64_t kLabels = int64_t{1} << 31;
constexpr int64_t kLargestLabel = 1'000'000;  // of integers, whose names are 0 to the largest
constexpr const char* kRule = "a column holds integers or names, an empty field is unknown";

bool reads_as_number(std::string_view text) {
  const std::string field(text);
  char* end = nullptr;
  std::strtod(field.c_str(), &end);
  return !field.empty() && end == field.c_str() + field.size();
}

class Header {
 public:
  Header(const std::string& path, const CsvRecord& record) : path_(path), line_(record.line) {
    for (const std::string& field : record.fields) titles_.emplace_back(without_blanks(field));
  }

  size_t required(const std::string& title) const {
    const auto found = find(title);
    if (!found) refuse_line(path_, line_, fmt::format("no column '{}'{}", title, suggestion(title, titles_)));
    return *found;
  }

  // Index of the column of paths, which need not be named.
  size_t path(const LabelColumns& columns) const {
    const auto found = find(columns.path());
    if (found || columns.path() != LabelColumns().path()) return required(columns.path());
    refuse_line(path_, line_,
                fmt::format("no column '{}' among {}; name the columns, such as labels: {{file: {}, path: {}{}}} in a recipe, or "
                            "labels.path={} after a command",
                            columns.path(), fmt::join(titles_, ", "), path_, titles_[0], titles_.size() > 1 ? ", label: " + titles_[1] : "",
                            titles_[0]));
  }

  // Index of a column that an option names, or that is read if it exists.
  std::optional<size_t> wanted(const std::optional<std::string>& title, const char* usual) const {
    if (!title) return std::nullopt;
    return title->empty() ? find(usual) : required(*title);
  }

  [[noreturn]] void refuse_without_values() const {
    refuse_line(
        path_, line_,
        fmt::format("neither a column label nor a column bias among {}; name them: labels: {{file: ..., label: ..., bias: ...}}, or "
                    "labels.bias=COLUMN on the command line of init and eval",
                    fmt::join(titles_, ", ")));
  }

  const std::string& title(size_t position) const { return titles_[position]; }
  size_t columns() const { return titles_.size(); }

 private:
  std::optional<size_t> find(const std::string& title) const {
    const auto found = std::find(titles_.begin(), titles_.end(), title);
    if (found == titles_.end()) return std::nullopt;
    if (std::count(found, titles_.end(), title) > 1) refuse_line(path_, line_, fmt::format("column '{}' is given twice", title));
    return found - titles_.begin();
  }

  const std::string& path_;
  int64_t line_;
  std::vector<std::string> titles_;
};

void require_label(const ColumnFields& column, size_t row) {
  const std::string_view field = column.values[row];
  int64_t value = 0;
  if (!parse_integer(field, &value) || value < kUnknown || value >= kLabels) {
    refuse_line(column.path, column.lines[row],
                fmt::format("column {}: '{}' is not an integer from -1 to {}; {}", column.title, field, kLabels - 1, kRule));
  }
  if (value <= kLargestLabel) return;
  refuse_line(
      column.path, column.lines[row],
      fmt::format("column {}: {} is above the largest number, {}; number from 0, or write names", column.title, field, kLargestLabel));
}

// Rejects integers among names: one of the two is a slip.
ColumnKind kind_of(const ColumnFields& column) {
  if (field_kind(column) == FieldKind::kPaddedNames) return ColumnKind::kNames;
  std::optional<size_t> number, name;  // the first of each
  int64_t numbers = 0, names = 0;
  for (size_t i = 0; i < column.values.size(); ++i) {
    if (column.values[i].empty()) continue;
    const bool is_number = reads_as_number(column.values[i]);
    std::optional<size_t>& first = is_number ? number : name;
    if (!first) first = i;
    ++(is_number ? numbers : names);
  }
  if (!number) return ColumnKind::kNames;
  if (!name) return ColumnKind::kIntegers;
  const bool integers = numbers >= names;
  const size_t stray = integers ? *name : *number;
  refuse_line(
      column.path, column.lines[stray],
      fmt::format("column {}: '{}' is mixed with {}; {}", column.title, column.values[stray], integers ? "integers" : "names", kRule));
}

// The numbers themselves.
std::vector<int64_t> numbers(const ColumnFields& fields, LabelColumn& column) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < fields.values.size(); ++i) {
    int64_t value = kUnknown;
    if (!fields.values[i].empty()) {
      require_label(fields, i);
      parse_integer(fields.values[i], &value);
    }
    values.push_back(value);
    while (std::ssize(column.names) <= value) column.names.push_back(std::to_string(column.names.size()));
  }
  return values;
}

ColumnFields fields_at(const std::string& path, const std::vector<CsvRecord>& records, const std::string& title, size_t position) {
  ColumnFields fields{path, title, {}, {}};
  for (const CsvRecord& record : records) {
    fields.values.push_back(without_blanks(record.fields[position]));
    fields.lines.push_back(record.line);
  }
  return fields;
}

// Empty where the file has no such column, else one a record.
std::vector<int64_t> read_column(const std::string& path, const std::vector<CsvRecord>& records, const Header& header,
                                 std::optional<size_t> position, LabelColumn& column) {
  if (!position) return {};
  column.title = header.title(*position);
  ColumnFields fields = fields_at(path, records, column.title, *position);
  column.missing_words = clear_missing_words(fields);
  refuse_signs(fields);
  column.kind = kind_of(fields);
  if (column.kind == ColumnKind::kIntegers) return numbers(fields, column);
  CategoricalValues values = categorical_values(fields);
  column.names = std::move(values.names);
  return std::move(values.values);
}

std::vector<OtherColumn> other_columns(const std::vector<CsvRecord>& records, const Header& header, const std::set<size_t>& taken) {
  std::vector<OtherColumn> others;
  for (size_t position = 0; position < header.columns(); ++position) {
    if (taken.contains(position)) continue;
    OtherColumn& column = others.emplace_back(OtherColumn{header.title(position), {}});
    for (const CsvRecord& record : records) {
      const std::string_view value = without_blanks(record.fields[position]);
      column.values.emplace_back(is_missing_word(value) ? std::string_view() : value);
    }
  }
  return others;
}

std::string normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().generic_string(); }

void require_paths(const std::string& path, const std::vector<LabelRow>& rows) {
  std::map<std::string_view, int64_t> first;
  for (const LabelRow& row : rows) {
    if (row.path.empty()) refuse_line(path, row.line, "no path is given");
    const auto [found, is_new] = first.emplace(row.path, row.line);
    if (!is_new) refuse_line(path, row.line, fmt::format("{} is given twice, first in line {}", row.path, found->second));
  }
}

}  // namespace

LabelFile read_label_file(const LabelColumns& columns) {
  const std::string& path = columns.file();
  std::vector<CsvRecord> records = read_csv(path);
  const Header header(path, records.front());
  records.erase(records.begin());
  const size_t path_column = header.path(columns);
  const auto label_column = header.wanted(columns.label(), "label");
  const auto bias_column = header.wanted(columns.bias(), "bias");
  if (!label_column && !bias_column) header.refuse_without_values();
  LabelFile file;
  file.path_title = header.title(path_column);
  std::set<size_t> taken = {path_column};
  for (const auto& column : {label_column, bias_column}) {
    if (column) taken.insert(*column);
  }
  file.looks_for_bias = columns.bias().has_value();
  file.others = other_columns(records, header, taken);
  const std::vector<int64_t> labels = read_column(path, records, header, label_column, file.label);
  const std::vector<int64_t> biases = read_column(path, records, header, bias_column, file.bias);
  for (size_t i = 0; i < records.size(); ++i) {
    file.rows.push_back({normal(records[i].fields[path_column]), labels.empty() ? kUnknown : labels[i],
                         biases.empty() ? kUnknown : biases[i], records[i].line});
  }
  require_paths(path, file.rows);
  return file;
}

}  // namespace debias

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
#include "debias/data/readers/csv_file.h"

namespace debias {
namespace {

constexpr int64_t kLabels = int64_t{1} << 31;
constexpr int64_t kLargestLabel = 1'000'000;  // of integers, whose names are 0 to the largest
constexpr const char* kRule = "a column holds integers or names, an empty field is unknown";

std::string trimmed(const std::string& field) {
  const size_t first = field.find_first_not_of(" \t");
  return first == std::string::npos ? "" : field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

bool reads_as_number(const std::string& field) {
  char* end = nullptr;
  std::strtod(field.c_str(), &end);
  return !field.empty() && end == field.c_str() + field.size();
}

class Header {
 public:
  Header(const std::string& path, const CsvRecord& record) : path_(path), line_(record.line) {
    for (const std::string& field : record.fields) titles_.push_back(trimmed(field));
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

struct Field {
  std::string text;
  int64_t line = 0;
};

void require_label(const std::string& path, const std::string& title, const Field& field) {
  int64_t value = 0;
  if (!parse_integer(field.text, &value) || value < kUnknown || value >= kLabels) {
    refuse_line(path, field.line,
                fmt::format("column {}: '{}' is not an integer from -1 to {}; {}", title, field.text, kLabels - 1, kRule));
  }
  if (value <= kLargestLabel) return;
  refuse_line(
      path, field.line,
      fmt::format("column {}: {} is above the largest number, {}; number from 0, or write names", title, field.text, kLargestLabel));
}

ColumnKind kind_of(const std::string& path, const std::string& title, const std::vector<Field>& fields) {
  const Field *number = nullptr, *name = nullptr;
  int64_t numbers = 0, names = 0;
  for (const Field& field : fields) {
    if (field.text.empty()) continue;
    const bool is_number = reads_as_number(field.text);
    const Field*& first = is_number ? number : name;
    if (first == nullptr) first = &field;
    ++(is_number ? numbers : names);
  }
  if (number == nullptr) return ColumnKind::kNames;
  if (name == nullptr) return ColumnKind::kIntegers;
  const bool integers = numbers >= names;
  const Field& stray = integers ? *name : *number;
  refuse_line(path, stray.line,
              fmt::format("column {}: '{}' is mixed with {}; {}", title, stray.text, integers ? "integers" : "names", kRule));
}

std::vector<int64_t> ranks(const std::vector<Field>& fields, LabelColumn& column) {
  std::map<std::string, int64_t> rank;
  for (const Field& field : fields) {
    if (!field.text.empty()) rank.emplace(field.text, 0);
  }
  for (auto& [name, value] : rank) {
    value = std::ssize(column.names);
    column.names.push_back(name);
  }
  std::vector<int64_t> values;
  for (const Field& field : fields) values.push_back(field.text.empty() ? kUnknown : rank.at(field.text));
  return values;
}

// Tables of attributes write -1 for no and 1 for yes: every no would be unknown.
void refuse_signs(const std::string& path, const std::vector<Field>& fields, const std::vector<int64_t>& values, const std::string& title) {
  std::set<int64_t> written;
  int64_t line = 0;  // of the first -1
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].text.empty()) continue;
    written.insert(values[i]);
    if (values[i] == kUnknown && line == 0) line = fields[i].line;
  }
  if (written != std::set<int64_t>{kUnknown, 1}) return;
  refuse_line(
      path, line,
      fmt::format("column {} holds only -1 and 1, and -1 is unknown; write 0 and 1, or names, and leave empty what is unknown", title));
}

std::vector<int64_t> numbers(const std::string& path, const std::vector<Field>& fields, LabelColumn& column) {
  std::vector<int64_t> values;
  for (const Field& field : fields) {
    int64_t value = kUnknown;
    if (!field.text.empty()) require_label(path, column.title, field);
    if (!field.text.empty()) parse_integer(field.text, &value);
    values.push_back(value);
    while (std::ssize(column.names) <= value) column.names.push_back(std::to_string(column.names.size()));
  }
  refuse_signs(path, fields, values, column.title);
  return values;
}

// Empty where the file has no such column, else one a record.
std::vector<int64_t> read_column(const std::string& path, const std::vector<CsvRecord>& records, const Header& header,
                                 std::optional<size_t> position, LabelColumn& column) {
  if (!position) return {};
  column.title = header.title(*position);
  std::vector<Field> fields;
  for (const CsvRecord& record : records) fields.push_back({trimmed(record.fields[*position]), record.line});
  column.kind = kind_of(path, column.title, fields);
  return column.kind == ColumnKind::kNames ? ranks(fields, column) : numbers(path, fields, column);
}

std::vector<OtherColumn> other_columns(const std::vector<CsvRecord>& records, const Header& header, const std::set<size_t>& taken) {
  std::vector<OtherColumn> others;
  for (size_t position = 0; position < header.columns(); ++position) {
    if (taken.contains(position)) continue;
    OtherColumn& column = others.emplace_back(OtherColumn{header.title(position), {}});
    for (const CsvRecord& record : records) column.values.push_back(trimmed(record.fields[position]));
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

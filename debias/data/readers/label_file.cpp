#include "debias/data/readers/label_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "debias/core/nearest_name.h"
#include "debias/core/normal_form.h"
#include "debias/data/readers/csv_table.h"

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

namespace {

constexpr int64_t kLabels = int64_t{1} << 31;
constexpr int64_t kLargestLabel = 1'000'000;  // of integers, whose names are 0 to the largest
constexpr const char* kRule = "a column holds integers or names, an empty field is unknown";

bool reads_as_number(const std::string& field) {
  char* end = nullptr;
  std::strtod(field.c_str(), &end);
  return !field.empty() && end == field.c_str() + field.size();
}

// The column that an option names.
size_t required(const CsvTable& table, const std::string& title) {
  if (const auto found = table.find(title)) return *found;
  refuse_line(table.path(), table.header_line(), fmt::format("no column '{}'{}", title, suggestion(title, table.titles())));
}

[[noreturn]] void refuse_without_paths(const CsvTable& table, const LabelColumns& columns) {
  const auto& titles = table.titles();
  const std::string first = titles.empty() ? "COLUMN" : titles[0];
  refuse_line(
      table.path(), table.header_line(),
      fmt::format("no column '{}' among {}; name the columns, such as labels: {{file: {}, path: {}{}}} in a recipe, or "
                  "labels.path={} after a command",
                  columns.path, fmt::join(titles, ", "), table.path(), first, titles.size() > 1 ? ", label: " + titles[1] : "", first));
}

// The column of paths, which need not be named.
size_t path_column(const CsvTable& table, const LabelColumns& columns, const std::vector<size_t>& taken,
                   const std::vector<std::string>& images, std::vector<std::string>& notes) {
  if (columns.path != LabelColumns().path || table.find(columns.path)) return required(table, columns.path);
  const auto found = images.empty() ? std::nullopt : naming_column(table, SampleNames(images), taken);
  if (!found) refuse_without_paths(table, columns);
  notes.push_back(table.titles()[*found].empty() ? "the column without a title names the images"
                                                 : fmt::format("column '{}' names the images", table.titles()[*found]));
  return *found;
}

// A column that an option names, or that is read if it exists.
std::optional<size_t> wanted(const CsvTable& table, const std::optional<std::string>& title, const char* usual) {
  if (!title) return std::nullopt;
  return title->empty() ? table.find(usual) : required(table, *title);
}

[[noreturn]] void refuse_without_values(const CsvTable& table) {
  refuse_line(table.path(), table.header_line(),
              fmt::format("neither a column label nor a column bias among {}; name them: labels: {{file: ..., label: ..., bias: ...}}, or "
                          "labels.bias=COLUMN on the command line of init and eval",
                          fmt::join(table.titles(), ", ")));
}

void require_label(const ColumnFields& column, size_t row) {
  const std::string& field = column.values[row];
  const int64_t value = integer_of(field).value_or(kLabels);
  if (value < kUnknown || value >= kLabels) {
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
  if (value_kind(column) == ValueKind::kPaddedIntegers) return ColumnKind::kNames;
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
      value = *integer_of(fields.values[i]);
    }
    values.push_back(value);
    while (std::ssize(column.names) <= value) column.names.push_back(std::to_string(column.names.size()));
  }
  return values;
}

// Empty where the file has no such column, else one a row.
std::vector<int64_t> read_column(const CsvTable& table, std::optional<size_t> position, const char* what, LabelColumn& column) {
  if (!position) return {};
  ColumnFields fields = table.fields(*position);
  column.title = fields.title;
  clear_missing_words(fields);
  CategoricalValues values = categorical_values(fields);
  column.kind = kind_of(fields);
  column.notes = std::move(fields.notes);
  if (std::string note = note_on_codes(column.title, values, what); !note.empty()) column.notes.push_back(std::move(note));
  if (column.kind == ColumnKind::kIntegers) return numbers(fields, column);
  column.names = std::move(values.names);
  return std::move(values.values);
}

// The columns that an option names, by one title or several between commas.
std::vector<size_t> group_columns(const CsvTable& table, const std::optional<std::string>& titles) {
  if (!titles || titles->empty() || table.find(*titles)) {
    const auto found = wanted(table, titles, "group");
    return found ? std::vector<size_t>{*found} : std::vector<size_t>{};
  }
  std::vector<size_t> columns;
  for (size_t begin = 0; begin <= titles->size();) {
    const size_t end = std::min(titles->find(',', begin), titles->size());
    columns.push_back(required(table, plain_text(titles->substr(begin, end - begin))));
    begin = end + 1;
  }
  return columns;
}

// One a row; a row with an unknown value in one of the columns has no group.
std::vector<int64_t> read_groups(const CsvTable& table, const std::vector<size_t>& positions, LabelColumn& column) {
  if (positions.empty()) return {};
  column.kind = ColumnKind::kNames;
  std::vector<std::optional<std::string>> names(table.rows().size(), "");
  for (const size_t position : positions) {
    ColumnFields fields = table.fields(position);
    column.title += (column.title.empty() ? "" : ",") + fields.title;
    clear_missing_words(fields);
    const CategoricalValues values = categorical_values(fields, SignsAlone::kName);
    column.notes.insert(column.notes.end(), fields.notes.begin(), fields.notes.end());
    if (std::string note = note_on_codes(fields.title, values, "group"); !note.empty()) column.notes.push_back(std::move(note));
    for (size_t row = 0; row < names.size(); ++row) {
      if (values.values[row] == kUnknown) names[row].reset();
      if (names[row]) *names[row] += (position == positions.front() ? "" : ",") + values.names[static_cast<size_t>(values.values[row])];
    }
  }
  std::map<std::string, int64_t> number;
  std::vector<int64_t> groups;
  for (const auto& name : names) {
    if (name && number.try_emplace(*name, std::ssize(number)).second) column.names.push_back(*name);
    groups.push_back(name ? number.at(*name) : kUnknown);
  }
  return groups;
}

std::vector<OtherColumn> other_columns(const CsvTable& table, const std::vector<size_t>& taken) {
  std::vector<OtherColumn> others;
  for (size_t position = 0; position < table.titles().size(); ++position) {
    if (std::ranges::find(taken, position) != taken.end() || table.titles()[position].empty()) continue;
    ColumnFields fields = table.fields(position);
    clear_missing_words(fields);
    others.push_back({fields.title, std::move(fields.values)});
  }
  return others;
}

}  // namespace

std::vector<RowName> LabelFile::names() const {
  std::vector<RowName> names;
  names.reserve(rows.size());
  for (const LabelRow& row : rows) names.push_back({row.path, row.line, row.split});
  return names;
}

bool has_path_column(const LabelColumns& columns) {
  return columns.path != LabelColumns().path || CsvTable(columns.file).find(columns.path);
}

LabelFile read_label_file(const LabelColumns& columns, const std::vector<std::string>& images) {
  const CsvTable table(columns.file);
  LabelFile file;
  file.notes = table.notes();
  const auto label_column = wanted(table, columns.label, "label");
  const auto bias_column = wanted(table, columns.bias, "bias");
  std::vector<size_t> taken;
  for (const auto& column : {label_column, bias_column}) {
    if (column) taken.push_back(*column);
  }
  const std::vector<size_t> groups_of = group_columns(table, columns.group);
  taken.insert(taken.end(), groups_of.begin(), groups_of.end());
  const size_t paths = path_column(table, columns, taken, images, file.notes);
  if (taken.empty()) refuse_without_values(table);
  taken.push_back(paths);
  file.path_title = table.titles()[paths];
  file.looks_for_bias = columns.bias.has_value();
  file.others = other_columns(table, taken);
  const std::vector<int64_t> labels = read_column(table, label_column, "class", file.label);
  const std::vector<int64_t> biases = read_column(table, bias_column, "bias label", file.bias);
  const std::vector<int64_t> groups = read_groups(table, groups_of, file.group);
  const std::vector<std::string> splits = split_fields(table);
  std::vector<std::string> names;
  for (const CsvRecord& row : table.rows()) names.push_back(normal_path(row.fields[paths]));
  const std::vector<int64_t> repeated = repeated_rows(table, "path", names, splits);
  if (!repeated.empty()) file.notes.push_back(note_on_repeated(table, repeated));
  const std::set<int64_t> left_out(repeated.begin(), repeated.end());
  for (size_t i = 0; i < names.size(); ++i) {
    if (left_out.contains(static_cast<int64_t>(i))) continue;
    const CsvRecord& row = table.rows()[i];
    file.rows.push_back({std::move(names[i]), labels.empty() ? kUnknown : labels[i], biases.empty() ? kUnknown : biases[i],
                         groups.empty() ? kUnknown : groups[i], row.line, splits.empty() ? "" : splits[i]});
  }
  for (OtherColumn& column : file.others) {
    for (auto row = repeated.rbegin(); row != repeated.rend(); ++row) column.values.erase(column.values.begin() + *row);
  }
  return file;
}

}  // namespace debias

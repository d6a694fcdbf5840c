#include "debias/features/table_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/normal_form.h"
#include "debias/core/options.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/row_names.h"
#include "debias/data/row_groups.h"

namespace debias {
namespace {

constexpr size_t kShownLines = 5;
constexpr const char *kSplitColumn = "split", *kBiasColumn = "bias", *kGroupColumn = "group";
constexpr std::array<const char*, 3> kNameColumns = {"path", "filenames", "id"};
const std::vector<std::string> kEmbedHeader = {"filenames", "labels"};
const std::vector<std::string> kEmbedNamesHeader = {"filenames", "labels", "class", "bias", "bias_name"};

size_t required(const CsvTable& table, const std::string& title, const char* option) {
  if (const auto found = table.find(title)) return *found;
  throw usage_error("{}: no column '{}' for {}{}", table.path(), title, option, suggestion(title, table.titles()));
}

// embed guards text that a spreadsheet would run with a ' (embedding_file.h).
std::string unguarded(std::string_view name) {
  const bool guarded = name.size() > 1 && name[0] == '\'' && std::string_view("=+-@\t\r").find(name[1]) != std::string_view::npos;
  return std::string(guarded ? name.substr(1) : name);
}

std::vector<std::string> sample_names(const CsvTable& table, size_t column) {
  std::vector<std::string> names;
  for (const std::string& field : table.column(column)) names.push_back(normal_path(unguarded(without_blanks(field))));
  return names;
}

// The kind of names that a column of this title has.
std::string kind_of_names(const std::string& title) { return title == "filenames" ? "path" : title; }

std::optional<size_t> name_position(const CsvTable& table) {
  for (const char* title : kNameColumns) {
    if (const auto found = table.find(title)) return found;
  }
  return std::nullopt;
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// ": '-1' is read as unknown", where fields that are not empty give no label.
std::string unknown_spellings(const ColumnFields& column, const std::vector<int64_t>& labels) {
  std::vector<std::string> spellings;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string spelling = fmt::format("'{}'", column.values[i]);
    const bool is_new = labels[i] == kUnknown && !column.values[i].empty() && !has(spellings, spelling);
    if (is_new) spellings.push_back(spelling);
  }
  if (spellings.empty()) return "";
  return fmt::format(": {} {} read as unknown", fmt::join(spellings, ", "), spellings.size() == 1 ? "is" : "are");
}

void refuse_unlabelled(const ColumnFields& column, const std::vector<int64_t>& labels) {
  std::vector<int64_t> lines;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kUnknown) lines.push_back(column.lines[i]);
  }
  if (lines.empty()) return;
  const size_t shown = std::min(lines.size(), kShownLines);
  const std::vector<int64_t> first(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(shown));
  refuse_line(column.path, first.front(),
              fmt::format("{} of {} rows have no label in column '{}' (lines {}{}){}; fill it, or remove the rows and their vectors",
                          lines.size(), labels.size(), column.title, fmt::join(first, ", "), shown < lines.size() ? ", ..." : "",
                          unknown_spellings(column, labels)));
}

// `column`: the fields as they are written.
void set_labels(const ColumnFields& column, CategoricalValues values, TableRows& rows) {
  refuse_unlabelled(column, values.values);
  rows.classes = std::move(values.names);
  rows.labels = std::move(values.values);
}

void add_notes(std::vector<std::string> notes, TableRows& rows) { std::ranges::move(notes, std::back_inserter(rows.remarks)); }

// Decimals and codes of an unknown value matter where a column makes groups.
void note_on_groups(ColumnFields& column, const CategoricalValues& values, const char* what) {
  note_decimals(column, values);
  if (std::string note = note_on_codes(column.title, values, what); !note.empty()) column.notes.push_back(std::move(note));
}

CategoricalValues label_values(ColumnFields column, TableRows& rows) {
  const std::vector<std::string> before = column.notes;
  clear_missing_words(column);
  column.notes = before;  // a label that is unknown is refused
  CategoricalValues values = categorical_values(column);
  note_on_groups(column, values, "class");
  add_notes(std::move(column.notes), rows);
  return values;
}

bool names_splits_alone(const ColumnFields& column) {
  const auto& known = EnumNames<TableSplit>::values;
  return std::ranges::all_of(column.values, [&](std::string_view value) {
    return std::ranges::find(known, value, [](const auto& entry) { return entry.first; }) != known.end();
  });
}

std::vector<TableSplit> splits_of(const ColumnFields& column) {
  std::vector<TableSplit> splits;
  for (size_t i = 0; i < column.values.size(); ++i) {
    const auto* entry = std::find_if(EnumNames<TableSplit>::values.begin(), EnumNames<TableSplit>::values.end(),
                                     [&](const auto& candidate) { return candidate.first == column.values[i]; });
    if (entry == EnumNames<TableSplit>::values.end()) {
      refuse_line(column.path, column.lines[i],
                  fmt::format("unknown split '{}'{}", column.values[i], suggestion(column.values[i], option_type<TableSplit>().choices)));
    }
    splits.push_back(entry->second);
  }
  return splits;
}

TableColumn described(ColumnFields column, bool numeric, bool is_bias, TableRows& rows) {
  clear_missing_words(column);
  TableColumn found{column.title, numeric, {}, {}, {}};
  if (numeric) {
    found.numbers = numeric_values(column);
  } else {
    CategoricalValues values = categorical_values(column, is_bias ? SignsAlone::kReject : SignsAlone::kName);
    if (is_bias) note_on_groups(column, values, "bias label");
    found.names = std::move(values.names);
    found.values = std::move(values.values);
  }
  add_notes(std::move(column.notes), rows);
  return found;
}

void require_known_numeric(const CsvTable& table, const TableRowOptions& options) {
  for (const std::string& title : options.numeric) required(table, title, "--numeric");
}

void choose_biases(const CsvTable& table, const TableRowOptions& options, size_t label, TableRows& rows) {
  const std::vector<std::string> usual = table.find(kBiasColumn) ? std::vector<std::string>{kBiasColumn} : std::vector<std::string>{};
  std::vector<std::string> taken;
  for (const std::string& title : options.biases.value_or(usual)) {
    const size_t position = required(table, title, "--bias");
    if (position == label) throw usage_error("{}: column '{}' is the label and cannot be the bias as well", rows.path, title);
    if (has(taken, title)) throw usage_error("{}: --bias names column '{}' twice", rows.path, title);
    taken.push_back(title);
    const auto found =
        std::find_if(rows.columns.begin(), rows.columns.end(), [&](const TableColumn& column) { return column.name == title; });
    if (found == rows.columns.end()) throw usage_error("{}: column '{}' has a role of its own and cannot be the bias", rows.path, title);
    rows.biases.push_back(static_cast<size_t>(found - rows.columns.begin()));
  }
}

void choose_groups(const CsvTable& table, const TableRowOptions& options, size_t label, TableRows& rows) {
  const auto place_of = [&](const std::string& title) {
    return static_cast<size_t>(std::ranges::find(rows.columns, title, &TableColumn::name) - rows.columns.begin());
  };
  const auto is_bias = [&](size_t place) { return std::ranges::find(rows.biases, place) != rows.biases.end(); };
  if (!options.groups) {
    const size_t usual = place_of(kGroupColumn);
    if (usual < rows.columns.size() && !rows.columns[usual].numeric && !is_bias(usual)) rows.groups.push_back(usual);
    return;
  }
  for (const std::string& title : *options.groups) {
    const size_t position = required(table, title, "--group");
    const size_t place = place_of(title);
    if (position == label || place == rows.columns.size()) {
      throw usage_error("{}: column '{}' has a role of its own and cannot be the group; name the column that says what belongs together",
                        rows.path, title);
    }
    if (is_bias(place)) throw usage_error("{}: column '{}' is the bias and cannot be the group as well", rows.path, title);
    if (std::ranges::find(rows.groups, place) != rows.groups.end()) {
      throw usage_error("{}: --group names column '{}' twice", rows.path, title);
    }
    rows.groups.push_back(place);
  }
}

// Other columns are not used, whatever their kind.
void require_numeric_biases(const TableRowOptions& options, const TableRows& rows) {
  std::vector<std::string> biases;
  for (const size_t place : rows.biases) biases.push_back(rows.columns[place].name);
  for (const std::string& title : options.numeric) {
    if (has(biases, title)) continue;
    throw usage_error("{}: --numeric {}: it is not a bias column, and only those are used; add it to --bias, or leave it out{}", rows.path,
                      title, biases.empty() ? "" : suggestion(title, biases));
  }
}

bool has_embedded_names(const CsvTable& table) {
  std::vector<std::string> titles = table.titles();
  if (titles.size() == kEmbedNamesHeader.size() + 1 && titles.back() == kGroupColumn) titles.pop_back();
  return titles == kEmbedNamesHeader;
}

void read_embedded(const CsvTable& table, TableRows& rows) {
  const bool named = has_embedded_names(table);
  const ColumnFields numbers = table.fields(1);
  set_labels(numbers, named ? numbered_values(numbers, table.fields(2)) : label_values(numbers, rows), rows);
  if (!named) return;
  CategoricalValues biases = numbered_values(table.fields(3), table.fields(4));
  if (!biases.names.empty()) {
    rows.columns.push_back({"bias", false, std::move(biases.names), std::move(biases.values), {}});
    rows.biases.push_back(0);
  }
  if (table.titles().size() == kEmbedNamesHeader.size()) return;
  rows.groups.push_back(rows.columns.size());
  rows.columns.push_back(described(table.fields(kEmbedNamesHeader.size()), /*numeric=*/false, /*is_bias=*/false, rows));
}

bool asks_for_columns(const TableRowOptions& options) {
  return !options.label.empty() || options.biases.has_value() || !options.numeric.empty() || options.groups.has_value();
}

void read_described(const CsvTable& table, const TableRowOptions& options, std::optional<size_t> names, TableRows& rows) {
  const std::string label_title = options.label.empty() ? "label" : options.label;
  const size_t label = required(table, label_title, "--label");
  require_known_numeric(table, options);
  if (has(options.numeric, label_title)) throw usage_error("{}: column '{}' is the label, which is not numeric", rows.path, label_title);
  const ColumnFields labels = table.fields(label);
  set_labels(labels, label_values(labels, rows), rows);
  const bool has_split = label_title != kSplitColumn && table.find(kSplitColumn);
  if (has_split) {
    rows.splits = splits_of(table.fields(required(table, kSplitColumn, "split")));
    rows.has_splits = true;
  }
  for (size_t i = 0; i < table.titles().size(); ++i) {
    const std::string& title = table.titles()[i];
    if (i == label || i == names || title.empty() || (has_split && title == kSplitColumn)) continue;
    table.find(title);  // rejects one that is given twice
    const bool is_bias = options.biases ? has(*options.biases, title) : title == kBiasColumn;
    rows.columns.push_back(described(table.fields(i), has(options.numeric, title), is_bias, rows));
  }
  choose_biases(table, options, label, rows);
  choose_groups(table, options, label, rows);
  for (const size_t place : rows.groups) {
    const TableColumn& column = rows.columns[place];
    std::string note = note_on_codes(column.name, {ValueKind::kNames, column.names, column.values}, "group");
    if (!note.empty()) rows.remarks.push_back(std::move(note));
  }
  require_numeric_biases(options, rows);
}

// Of labels, bias labels and splits.
std::vector<size_t> taken_columns(const CsvTable& table, const TableRowOptions& options) {
  std::vector<std::string> titles = options.biases.value_or(std::vector<std::string>{kBiasColumn});
  titles.insert(titles.end(), {options.label.empty() ? "label" : options.label, kSplitColumn});
  std::vector<size_t> places;
  for (const std::string& title : titles) {
    if (const auto found = table.find(title)) places.push_back(*found);
  }
  return places;
}

template <class T>
std::vector<T> taken(const std::vector<T>& values, const std::vector<int64_t>& order) {
  if (values.empty()) return {};
  std::vector<T> result;
  result.reserve(order.size());
  for (const int64_t i : order) result.push_back(values[static_cast<size_t>(i)]);
  return result;
}

}  // namespace

TableRows read_table_rows(const std::string& path, const TableRowOptions& options, const NameColumn* known) {
  const CsvTable table(path);
  if (table.rows().empty()) throw FileError(path, "it has a header and no rows");
  TableRows rows;
  rows.path = path;
  rows.remarks = table.notes();
  rows.splits.assign(table.rows().size(), TableSplit::kTrain);
  for (const CsvRecord& record : table.rows()) rows.lines.push_back(record.line);
  std::optional<size_t> names = name_position(table);
  rows.names_samples = names && known != nullptr && kind_of_names(table.titles()[*names]) == kind_of_names(known->column);
  if (known != nullptr && !rows.names_samples) {
    if (const auto found = naming_column(table, SampleNames(known->names), taken_columns(table, options))) {
      names = found;
      rows.names_samples = true;
      rows.remarks.push_back(table.titles()[*found].empty() ? "the column without a title names the vectors"
                                                            : fmt::format("column '{}' names the vectors", table.titles()[*found]));
    }
  }
  if (names) {
    rows.name_column = table.titles()[*names];
    rows.names = sample_names(table, *names);
    rows.repeated = repeated_rows(table, rows.name_column, rows.names);
  }
  const bool embedded = table.titles() == kEmbedHeader || has_embedded_names(table);
  if (embedded && !asks_for_columns(options)) {
    read_embedded(table, rows);
  } else {
    read_described(table, options, names, rows);
  }
  return rows;
}

std::string value_text(const TableColumn& column, size_t row) {
  if (column.numeric) return std::isnan(column.numbers[row]) ? "" : fmt::format("{}", column.numbers[row]);
  return column.values[row] == kUnknown ? "" : column.names[static_cast<size_t>(column.values[row])];
}

std::vector<LikelyGroup> likely_groups(const TableRows& table, const std::vector<int64_t>& rows) {
  constexpr size_t kLeastValues = 8;
  std::vector<LikelyGroup> likely;
  std::vector<int32_t> labels;
  for (const int64_t i : rows) labels.push_back(static_cast<int32_t>(table.labels[static_cast<size_t>(i)]));
  for (size_t place = 0; place < table.columns.size(); ++place) {
    if (std::ranges::find(table.biases, place) != table.biases.end()) continue;
    const TableColumn& column = table.columns[place];
    std::vector<std::string> values;
    std::map<std::string, std::set<int32_t>> classes;
    size_t known = 0;
    for (const int64_t i : rows) {
      values.push_back(value_text(column, static_cast<size_t>(i)));
      if (values.back().empty()) continue;
      classes[values.back()].insert(labels[values.size() - 1]);
      ++known;
    }
    const bool repeats = classes.size() >= std::max(kLeastValues, 2 * table.classes.size()) && known >= classes.size() + classes.size() / 4;
    const auto pure = std::ranges::count_if(classes, [](const auto& entry) { return entry.second.size() == 1; });
    std::string text = fmt::format("column '{}' has {} values in {} rows", column.name, classes.size(), rows.size());
    if (names_groups(values, labels, static_cast<int32_t>(table.classes.size()))) {
      text += pure == std::ssize(classes) ? ", each in one class" : fmt::format(", {} of them each in one class", pure);
    } else if (!repeats || !is_group_title(column.name)) {
      continue;
    }
    likely.push_back({column.name, std::move(text)});
  }
  return likely;
}

TableRows selected_rows(const TableRows& rows, const std::vector<int64_t>& order) {
  TableRows selected = rows;
  selected.names = taken(rows.names, order);
  selected.labels = taken(rows.labels, order);
  selected.splits = taken(rows.splits, order);
  selected.lines = taken(rows.lines, order);
  for (TableColumn& column : selected.columns) {
    column.values = taken(column.values, order);
    column.numbers = taken(column.numbers, order);
  }
  return selected;
}

std::optional<NameColumn> read_name_column(const std::string& path) {
  const CsvTable table(path);
  const auto position = name_position(table);
  if (!position) return std::nullopt;
  NameColumn found{table.titles()[*position], sample_names(table, *position), {}, {}};
  if (const std::vector<int64_t> repeated = repeated_rows(table, found.column, found.names); !repeated.empty()) {
    const size_t first = static_cast<size_t>(repeated.front());
    refuse_line(path, table.rows()[first].line, fmt::format("'{}' is given twice", found.names[first]));
  }
  if (const auto split = table.find(kSplitColumn); split && names_splits_alone(table.fields(*split))) {
    found.splits = splits_of(table.fields(*split));
  }
  for (const char* title : {"class", "label", "labels"}) {
    const auto labels = table.find(title);
    if (!labels || !found.labels.empty()) continue;
    ColumnFields fields = table.fields(*labels);
    clear_missing_words(fields);
    const CategoricalValues values = categorical_values(fields, SignsAlone::kName);
    if (std::ranges::find(values.values, kUnknown) != values.values.end()) continue;
    for (const int64_t value : values.values) found.labels.push_back(values.names[static_cast<size_t>(value)]);
  }
  return found;
}

std::optional<std::vector<TableSplit>> read_split_column(const std::string& path) {
  const CsvTable table(path);
  const auto split = table.find(kSplitColumn);
  if (!split) return std::nullopt;
  return splits_of(table.fields(*split));
}

}  // namespace debias

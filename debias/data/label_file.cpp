#include "debias/data/label_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "debias/core/config.h"
#include "debias/data/file_bytes.h"
#include "debias/data/file_error.h"

namespace debias {
namespace {

constexpr int64_t kLargestLabel = 1'000'000;

struct Record {
  std::vector<std::string> fields;
  int64_t line = 0;
};

[[noreturn]] void fail(const std::string& path, int64_t line, const std::string& reason) {
  throw FileError(path, fmt::format("line {}: {}", line, reason));
}

std::vector<Record> parse_csv(std::string_view text, const std::string& path) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<Record> records;
  int64_t line = 1;
  size_t i = 0;
  while (i < text.size()) {
    Record record;
    record.line = line;
    for (bool ended = false; !ended;) {
      std::string field;
      if (i < text.size() && text[i] == '"') {
        for (++i;; ++i) {
          if (i >= text.size()) fail(path, record.line, "a quoted field does not end");
          if (text[i] == '\n') ++line;
          if (text[i] != '"') {
            field += text[i];
          } else if (i + 1 < text.size() && text[i + 1] == '"') {
            field += text[i++];
          } else {
            break;
          }
        }
        ++i;
      } else {
        while (i < text.size() && text[i] != ',' && text[i] != '\n') field += text[i++];
        if (!field.empty() && field.back() == '\r') field.pop_back();
      }
      if (i < text.size() && text[i] == '\r') ++i;  // after a quoted field
      ended = i >= text.size() || text[i] == '\n';
      if (!ended && text[i] != ',') fail(path, record.line, "text follows a quoted field");
      ++i;
      record.fields.push_back(std::move(field));
    }
    ++line;
    if (record.fields.size() > 1 || !record.fields[0].empty()) records.push_back(std::move(record));
  }
  return records;
}

struct Column {
  std::vector<int64_t> values;  // one a record
  std::vector<std::string> names;
};

bool is_label(const std::string& field, int64_t* value) { return parse_integer(field, value) && *value >= -1; }

Column read_column(const std::vector<Record>& records, size_t position, const std::string& path) {
  std::set<std::string> distinct;
  bool integers = true;
  int64_t largest = kUnknown;
  for (const Record& record : records) {
    const std::string& field = record.fields[position];
    if (field.empty()) continue;
    distinct.insert(field);
    int64_t value = kUnknown;
    if (!is_label(field, &value)) integers = false;
    if (value > kLargestLabel) fail(path, record.line, fmt::format("{} is above the largest label or bias, {}", value, kLargestLabel));
    largest = std::max(largest, value);
  }
  Column column;
  if (integers) {
    for (int64_t i = 0; i <= largest; ++i) column.names.push_back(std::to_string(i));
  } else {
    column.names.assign(distinct.begin(), distinct.end());
  }
  for (const Record& record : records) {
    const std::string& field = record.fields[position];
    int64_t value = kUnknown;
    if (!field.empty() && integers) is_label(field, &value);
    if (!field.empty() && !integers) value = std::distance(distinct.begin(), distinct.find(field));
    column.values.push_back(value);
  }
  return column;
}

}  // namespace

LabelFile read_label_file(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file_bytes(path);
  std::vector<Record> records = parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  if (records.empty()) throw FileError(path, "is empty; expected a header path,label,bias");
  const Record header = records.front();
  records.erase(records.begin());
  const auto position = [&](const char* name) {
    return static_cast<size_t>(std::find(header.fields.begin(), header.fields.end(), name) - header.fields.begin());
  };
  const size_t columns = header.fields.size();
  const size_t path_column = position("path");
  const size_t label_column = position("label");
  const size_t bias_column = position("bias");
  const size_t known = (label_column < columns ? 1u : 0u) + (bias_column < columns ? 1u : 0u);
  if (path_column == columns || known == 0 || columns != known + 1) {
    fail(path, header.line,
         fmt::format("expected the header path,label,bias (one of the last two may be missing), found {}", fmt::join(header.fields, ",")));
  }
  for (const Record& record : records) {
    if (record.fields.size() != columns) fail(path, record.line, fmt::format("{} fields, expected {}", record.fields.size(), columns));
  }
  LabelFile file;
  file.has_label = label_column < columns;
  file.has_bias = bias_column < columns;
  Column labels;
  Column biases;
  if (file.has_label) labels = read_column(records, label_column, path);
  if (file.has_bias) biases = read_column(records, bias_column, path);
  for (size_t i = 0; i < records.size(); ++i) {
    const LabelRow row{file.has_label ? labels.values[i] : kUnknown, file.has_bias ? biases.values[i] : kUnknown, records[i].line};
    const std::string& image = records[i].fields[path_column];
    if (!file.rows.emplace(image, row).second) fail(path, row.line, fmt::format("{} is given twice", image));
  }
  file.label_names = std::move(labels.names);
  file.bias_names = std::move(biases.names);
  return file;
}

}  // namespace debias

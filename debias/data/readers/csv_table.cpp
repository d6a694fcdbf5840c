#include "debias/data/readers/csv_table.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "debias/core/file_bytes.h"
#include "debias/core/file_error.h"
#include "debias/core/utf8.h"

namespace debias {
namespace {

void require_utf8(std::string_view text, const std::string& path) {
  const size_t length = utf8_length(text);
  if (length == text.size()) return;
  refuse_line(path, 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), '\n'),
              "text that is not UTF-8; save the file as UTF-8");
}

void require_commas(const CsvRecord& header, const std::string& path) {
  if (header.fields.size() > 1) return;
  for (const auto& [separator, name] : {std::pair{';', "semicolons"}, {'\t', "tabs"}}) {
    if (header.fields[0].find(separator) == std::string::npos) continue;
    refuse_line(path, header.line, fmt::format("{} separate the fields; save the file with commas", name));
  }
}

// Old programs for the Mac end lines so; all of the file would be its header.
void require_line_feeds(std::string_view text, const std::string& path) {
  const size_t first = text.find('\r');
  if (first == std::string_view::npos || first + 1 == text.size() || text.find('\n') != std::string_view::npos) return;
  throw FileError(path, "its lines end with CR alone; save the file with the line ends LF or CRLF");
}

std::vector<CsvRecord> parse_csv(std::string_view text, const std::string& path) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<CsvRecord> records;
  int64_t line = 1;
  size_t i = 0;
  while (i < text.size()) {
    CsvRecord record;
    record.line = line;
    for (bool ended = false; !ended;) {
      std::string field;
      if (i < text.size() && text[i] == '"') {
        for (++i;; ++i) {
          if (i >= text.size()) refuse_line(path, record.line, "a quoted field does not end");
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
      if (!ended && text[i] != ',') refuse_line(path, record.line, "text follows a quoted field");
      ++i;
      record.fields.push_back(std::move(field));
    }
    ++line;
    if (record.fields.size() > 1 || !record.fields[0].empty()) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

std::vector<CsvRecord> read_csv(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file_bytes(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require_utf8(text, path);
  require_line_feeds(text, path);
  std::vector<CsvRecord> records = parse_csv(text, path);
  if (records.empty()) throw FileError(path, "is empty");
  require_commas(records.front(), path);
  const size_t columns = records.front().fields.size();
  for (const CsvRecord& record : records) {
    if (record.fields.size() != columns)
      refuse_line(path, record.line, fmt::format("{} fields, expected {}", record.fields.size(), columns));
  }
  return records;
}

CsvTable::CsvTable(const std::string& path) : path_(path), rows_(read_csv(path)) {
  for (const std::string& field : rows_.front().fields) titles_.emplace_back(without_blanks(field));
  header_line_ = rows_.front().line;
  rows_.erase(rows_.begin());
}

std::optional<size_t> CsvTable::find(const std::string& title) const {
  const auto found = std::find(titles_.begin(), titles_.end(), title);
  if (found == titles_.end()) return std::nullopt;
  if (std::count(found, titles_.end(), title) > 1) refuse_line(path_, header_line_, fmt::format("column '{}' is given twice", title));
  return static_cast<size_t>(found - titles_.begin());
}

ColumnFields CsvTable::fields(size_t column) const {
  ColumnFields fields{path_, titles_[column], {}, {}};
  fields.values.reserve(rows_.size());
  fields.lines.reserve(rows_.size());
  for (const CsvRecord& row : rows_) {
    fields.values.emplace_back(without_blanks(row.fields[column]));
    fields.lines.push_back(row.line);
  }
  return fields;
}

void refuse_line(const std::string& path, int64_t line, const std::string& reason) {
  throw FileError(path, fmt::format("line {}: {}", line, reason));
}

}  // namespace debias

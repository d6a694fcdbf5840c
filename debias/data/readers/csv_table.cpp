#include "debias/data/readers/csv_table.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "debias/core/config.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/normal_form.h"
#include "debias/core/printable.h"
#include "debias/core/stand_in.h"

namespace debias {
namespace {

// Little-endian or big-endian, by its mark or by the zeros of its first characters; 0 for other text.
int utf16_order(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes.starts_with("\xff\xfe") || (bytes[0] != 0 && bytes[1] == 0)) return 1;
  if (bytes.starts_with("\xfe\xff") || (bytes[0] == 0 && bytes[1] != 0)) return 2;
  return 0;
}

std::string from_utf16(std::string_view bytes, bool little_endian, const std::string& path) {
  const auto unit = [&](size_t i) {
    const auto a = static_cast<unsigned char>(bytes[i]), b = static_cast<unsigned char>(bytes[i + 1]);
    return static_cast<uint32_t>(little_endian ? a | b << 8 : a << 8 | b);
  };
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    if (i + 1 == bytes.size()) throw FileError(path, "ends within a character of UTF-16; save the file as UTF-8");
    uint32_t code = unit(i);
    if (code >= 0xd800 && code < 0xe000) {
      const uint32_t second = code < 0xdc00 && i + 3 < bytes.size() ? unit(i + 2) : 0;
      if (second < 0xdc00 || second >= 0xe000) throw FileError(path, "has half a character of UTF-16; save the file as UTF-8");
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      i += 2;
    }
    append_utf8(code, text);
  }
  return text;
}

std::string decoded(std::string_view bytes, const std::string& path) {
  refuse_stand_in(path, bytes.substr(0, 256), "a CSV");
  const int order = utf16_order(bytes);
  std::string text = order == 0 ? std::string(bytes) : from_utf16(bytes, order == 1, path);
  const size_t length = utf8_length(text);
  if (length < text.size()) {
    refuse_line(path, 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), '\n'),
                "text that is not UTF-8; save the file as UTF-8");
  }
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

// Old programs for the Mac end lines so; all of the file would be its header.
void require_line_feeds(std::string_view text, const std::string& path) {
  const size_t first = text.find('\r');
  if (first == std::string_view::npos || first + 1 == text.size() || text.find('\n') != std::string_view::npos) return;
  throw FileError(path, "its lines end with CR alone; save the file with the line ends LF or CRLF");
}

// What the first record has most of outside of quotes; commas of equally many.
char separator_of(std::string_view text) {
  constexpr std::array<char, 4> kSeparators = {',', ';', '\t', '|'};
  std::array<int64_t, kSeparators.size()> counts{};
  bool quoted = false, begun = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (c == '\n' && !quoted && begun) break;
    begun = begun || (c != '\n' && c != '\r');
    for (size_t i = 0; i < counts.size() && !quoted; ++i) counts[i] += c == kSeparators[i] ? 1 : 0;
  }
  return kSeparators[static_cast<size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin())];
}

std::vector<CsvRecord> parse_csv(std::string_view text, char separator, int64_t line, const std::string& path) {
  std::vector<CsvRecord> records;
  size_t i = 0;
  while (i < text.size()) {
    CsvRecord record;
    record.line = line;
    bool is_empty = true;  // without a field, were it an empty one in quotes
    for (bool ended = false; !ended;) {
      std::string field;
      if (i < text.size() && text[i] == '"') {
        is_empty = false;
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
        while (i < text.size() && text[i] != separator && text[i] != '\n') field += text[i++];
        if (!field.empty() && field.back() == '\r') field.pop_back();
      }
      if (i < text.size() && text[i] == '\r') ++i;  // after a quoted field
      ended = i >= text.size() || text[i] == '\n';
      if (!ended && text[i] != separator) refuse_line(path, record.line, "text follows a quoted field");
      ++i;
      record.fields.push_back(std::move(field));
    }
    ++line;
    if (!is_empty || record.fields.size() > 1 || !record.fields[0].empty()) records.push_back(std::move(record));
  }
  return records;
}

bool is_blank_field(const std::string& field) { return without_blanks(field).empty(); }

struct CsvText {
  char separator = ',';
  std::vector<CsvRecord> records;
};

CsvText read_text(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file_bytes(path);
  const std::string text = decoded({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  require_line_feeds(text, path);
  std::string_view rest = text;
  CsvText csv;
  const bool says_separator = rest.starts_with("sep=") && rest.size() > 5 && (rest[5] == '\n' || rest[5] == '\r');
  csv.separator = says_separator ? rest[4] : separator_of(rest);
  if (says_separator) rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  csv.records = parse_csv(rest, csv.separator, says_separator ? 2 : 1, path);
  if (csv.records.empty()) throw FileError(path, "is empty");
  const size_t columns = csv.records.front().fields.size();
  for (CsvRecord& record : csv.records) {
    auto& fields = record.fields;
    while (fields.size() > columns && is_blank_field(fields.back())) fields.pop_back();
    if (fields.size() != columns)
      refuse_line(path, record.line,
                  fmt::format("{} fields, expected {}{}", fields.size(), columns,
                              csv.records.front().fields.front().starts_with('#')
                                  ? "; its first line begins with # and gives no titles: leave comments out"
                                  : ""));
  }
  return csv;
}

// Integers, or without a title 0, 1, ... or 1, 2, ...
bool is_index(const std::string& title, const std::vector<std::string>& values) {
  constexpr std::string_view kUnnamed = "Unnamed: ";
  int64_t first = 0, value = 0;
  if (values.empty() || !parse_integer(values[0], &first)) return false;
  if (title.starts_with(kUnnamed) && parse_integer(title.substr(kUnnamed.size()), &value)) {
    return std::ranges::all_of(values, [&](const std::string& field) { return parse_integer(field, &value); });
  }
  if (!title.empty() || first < 0 || first > 1) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!parse_integer(values[i], &value) || value != first + static_cast<int64_t>(i)) return false;
  }
  return true;
}

std::string counted_rows(int64_t rows) { return rows == 1 ? "1 row" : fmt::format("{} rows", rows); }

// Takes the rows without values out.
std::string without_empty_rows(std::vector<CsvRecord>& rows) {
  const auto is_empty = [](const CsvRecord& row) { return std::ranges::all_of(row.fields, is_blank_field); };
  const auto first = std::ranges::find_if(rows, is_empty);
  if (first == rows.end()) return "";
  const int64_t line = first->line, count = static_cast<int64_t>(std::erase_if(rows, is_empty));
  return fmt::format("{} without values {} left out, the first in line {}", counted_rows(count), count == 1 ? "is" : "are", line);
}

// A number with a decimal comma, such as spreadsheets write where semicolons separate the fields.
bool has_decimal_comma(std::string_view field) {
  const size_t comma = field.find(',');
  int64_t value = 0;
  return comma != std::string_view::npos && comma > 0 && comma + 1 < field.size() && parse_integer(field.substr(0, comma), &value) &&
         field.find_first_not_of("0123456789", comma + 1) == std::string_view::npos;
}

void read_decimal_commas(ColumnFields& fields) {
  int64_t commas = 0, value = 0;
  std::string first;
  for (const std::string& field : fields.values) {
    if (field.empty() || is_missing_value(field) || parse_integer(field, &value)) continue;
    if (!has_decimal_comma(field)) return;
    if (commas++ == 0) first = field;
  }
  if (commas == 0) return;
  for (std::string& field : fields.values) std::ranges::replace(field, ',', '.');
  fields.notes.push_back(fmt::format("column '{}': {} such as '{}' {} read with a decimal point", fields.title,
                                     commas == 1 ? "1 field" : fmt::format("{} fields", commas), first, commas == 1 ? "is" : "are"));
}

}  // namespace

CsvTable::CsvTable(const std::string& path) : path_(path) {
  CsvText csv = read_text(path);
  separator_ = csv.separator;
  header_line_ = csv.records.front().line;
  std::vector<std::string> titles;
  for (const std::string& field : csv.records.front().fields) titles.push_back(plain_text(field));
  rows_.assign(std::move_iterator(csv.records.begin() + 1), std::move_iterator(csv.records.end()));
  if (separator_ != ',')
    notes_.push_back(fmt::format("{} separate the fields", separator_ == ';'    ? std::string("semicolons")
                                                           : separator_ == '\t' ? std::string("tabs")
                                                           : separator_ == '|'  ? std::string("bars")
                                                                                : fmt::format("characters '{}'", separator_)));
  std::string empty_rows = titles.size() > 1 ? without_empty_rows(rows_) : "";
  if (!empty_rows.empty()) notes_.push_back(std::move(empty_rows));
  int64_t empty = 0;
  std::vector<size_t> kept;
  for (size_t c = 0; c < titles.size(); ++c) {
    const auto blank = [&](const CsvRecord& row) { return is_blank_field(row.fields[c]); };
    if (titles[c].empty() && !rows_.empty() && std::ranges::all_of(rows_, blank)) {
      ++empty;
      continue;
    }
    std::vector<std::string> values;
    const bool may_be_index = titles[c].empty() || titles[c].starts_with("Unnamed: ");
    for (const CsvRecord& row : rows_) {
      if (may_be_index) values.emplace_back(without_blanks(row.fields[c]));
    }
    if (may_be_index && is_index(titles[c], values)) {
      notes_.push_back(titles[c].empty() ? fmt::format("column {}, without a title, numbers the rows and is left out", c + 1)
                                         : fmt::format("column '{}' numbers the rows and is left out", titles[c]));
      continue;
    }
    kept.push_back(c);
  }
  if (empty > 0) {
    notes_.push_back(fmt::format("{} without a title and values {} left out", empty == 1 ? "1 column" : fmt::format("{} columns", empty),
                                 empty == 1 ? "is" : "are"));
  }
  for (const size_t c : kept) titles_.push_back(std::move(titles[c]));
  if (kept.size() == titles.size()) return;
  for (CsvRecord& row : rows_) {
    for (size_t c = 0; c < kept.size(); ++c) {
      if (kept[c] != c) row.fields[c] = std::move(row.fields[kept[c]]);
    }
    row.fields.resize(kept.size());
  }
}

std::optional<size_t> CsvTable::find(const std::string& title) const {
  const auto found = std::find(titles_.begin(), titles_.end(), title);
  if (found == titles_.end()) return std::nullopt;
  if (std::count(found, titles_.end(), title) > 1) refuse_line(path_, header_line_, fmt::format("column '{}' is given twice", title));
  return static_cast<size_t>(found - titles_.begin());
}

std::vector<std::string> CsvTable::column(size_t column) const {
  std::vector<std::string> values;
  values.reserve(rows_.size());
  for (const CsvRecord& row : rows_) values.push_back(row.fields[column]);
  return values;
}

ColumnFields CsvTable::fields(size_t column) const {
  ColumnFields fields{path_, titles_[column], this->column(column), {}, {}};
  fields.lines.reserve(rows_.size());
  for (const CsvRecord& row : rows_) fields.lines.push_back(row.line);
  clear_spellings(fields);
  if (separator_ != ',') read_decimal_commas(fields);
  return fields;
}

std::vector<CsvRecord> read_csv(const std::string& path) { return read_text(path).records; }

void refuse_line(const std::string& path, int64_t line, const std::string& reason) {
  throw FileError(path, fmt::format("line {}: {}", line, reason));
}

}  // namespace debias

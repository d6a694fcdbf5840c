#include "debias/data/readers/pair_marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/data/readers/csv_file.h"

namespace debias {
namespace {

std::optional<size_t> column_named(const CsvRecord& header, std::string_view name) {
  const auto found = std::ranges::find(header.fields, name);
  return found == header.fields.end() ? std::nullopt : std::optional(static_cast<size_t>(found - header.fields.begin()));
}

size_t needed_column(const std::string& path, const CsvRecord& header, const std::string& name) {
  if (const auto column = column_named(header, name)) return *column;
  throw FileError(path, fmt::format("no column '{}'; pairs are named by the columns a and b, as debias pairs writes them", name));
}

PairAnswer answer_of(const std::string& path, const CsvRecord& record, const std::string& field) {
  if (field.empty()) return PairAnswer::kSkip;
  std::vector<std::string> known;
  for (const auto& [name, answer] : EnumNames<PairAnswer>::values) {
    if (field == name) return answer;
    known.emplace_back(name);
  }
  refuse_line(path, record.line, fmt::format("answer '{}' must be same, different or skip{}", field, suggestion(field, known)));
}

}  // namespace

std::vector<MarkedPair> read_pair_marks(const std::string& path) {
  const std::vector<CsvRecord> records = read_csv(path);
  const CsvRecord& header = records.front();
  const size_t a = needed_column(path, header, "a"), b = needed_column(path, header, "b");
  const auto answer = column_named(header, "answer"), kind = column_named(header, "kind");
  if (records.size() == 1) throw FileError(path, "has no pairs below its header");
  std::vector<MarkedPair> pairs;
  for (size_t i = 1; i < records.size(); ++i) {
    const CsvRecord& record = records[i];
    MarkedPair pair{record.fields[a], record.fields[b], std::nullopt, kind ? record.fields[*kind] : "", record.line};
    if (pair.a.empty() || pair.b.empty()) refuse_line(path, record.line, "a pair needs two names; one is empty");
    if (pair.a == pair.b) refuse_line(path, record.line, fmt::format("'{}' is paired with itself", pair.a));
    if (answer) pair.answer = answer_of(path, record, record.fields[*answer]);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace debias

#include "debias/data/readers/pair_marks.h"

#include <fmt/format.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/data/readers/csv_table.h"

namespace debias {
namespace {

size_t needed_column(const CsvTable& table, const std::string& name) {
  if (const auto column = table.find(name)) return *column;
  throw FileError(table.path(), fmt::format("no column '{}'; pairs are named by the columns a and b, as debias pairs writes them", name));
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
  const CsvTable table(path);
  const size_t a = needed_column(table, "a"), b = needed_column(table, "b");
  const auto answer = table.find("answer"), kind = table.find("kind");
  if (table.rows().empty()) throw FileError(path, "has no pairs below its header");
  std::vector<MarkedPair> pairs;
  for (const CsvRecord& row : table.rows()) {
    MarkedPair pair{row.fields[a], row.fields[b], std::nullopt, kind ? row.fields[*kind] : "", row.line};
    if (pair.a.empty() || pair.b.empty()) refuse_line(path, row.line, "a pair needs two names; one is empty");
    if (pair.a == pair.b) refuse_line(path, row.line, fmt::format("'{}' is paired with itself", pair.a));
    if (answer) pair.answer = answer_of(path, row, row.fields[*answer]);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace debias

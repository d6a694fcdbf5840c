#include "debias/audit/file_columns.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "debias/audit/categories.h"
#include "debias/audit/column_values.h"
#include "debias/audit/common_words.h"
#include "debias/audit/name_columns.h"
#include "debias/core/config.h"

namespace debias {
namespace {

constexpr size_t kMostColumns = 200;

// Names in the order of their first rows; orders of parts at last.
std::vector<const FileTrace*> common_traces(std::span<const FileFacts> audited) {
  struct Found {
    const FileTrace* first;
    int64_t rows = 0;
    size_t last_row = 0;
  };
  std::unordered_map<std::string_view, Found> found;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < audited.size(); ++i) {
    for (const FileTrace& trace : audited[i].traces) {
      const auto [own, is_new] = found.try_emplace(trace.name, Found{&trace, 0, 0});
      if (is_new) names.push_back(trace.name);
      if (own->second.rows > 0 && own->second.last_row == i) continue;  // several of a file
      ++own->second.rows;
      own->second.last_row = i;
    }
  }
  std::vector<const FileTrace*> traces;
  for (const std::string_view name : names) {
    if (found.at(name).rows >= kLeastRows) traces.push_back(found.at(name).first);
  }
  std::ranges::stable_partition(traces, [](const FileTrace* trace) { return trace->kind != TraceKind::kOrder; });
  if (traces.size() > kMostColumns) traces.resize(kMostColumns);
  return traces;
}

std::vector<FileColumn> trace_columns(std::span<const FileFacts> files, size_t audited) {
  std::vector<FileColumn> columns;
  std::unordered_map<std::string_view, size_t> number;
  for (const FileTrace* trace : common_traces(files.first(audited))) {
    number.emplace(trace->name, columns.size());
    const FileColumnKind kind = trace->kind == TraceKind::kSize ? FileColumnKind::kSize : FileColumnKind::kValue;
    columns.push_back({trace->name, kind, std::vector<std::string>(files.size())});
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (const FileTrace& trace : files[i].traces) {
      const auto own = number.find(trace.name);
      if (own == number.end()) continue;
      std::string& value = columns[own->second].values[i];
      if (value.empty()) value = trace.value;  // the first of a file
    }
  }
  return columns;
}

// Categories in the order of their first rows, so that equal divisions are equal.
std::vector<int32_t> division(const CategoryFeatures& features) {
  std::map<int32_t, int32_t> number;
  std::vector<int32_t> values;
  for (const int32_t value : features.values) values.push_back(number.emplace(value, static_cast<int32_t>(number.size())).first->second);
  return values;
}

bool is_constant(const std::vector<int32_t>& division) {
  return std::ranges::all_of(division, [](int32_t value) { return value == 0; });
}

}  // namespace

CategoryFeatures file_column_categories(const std::vector<std::string>& values) {
  CategoryFeatures features = column_categories(values);
  double number = 0;
  const bool has_texts =
      std::ranges::any_of(values, [&](const std::string& value) { return !value.empty() && !parse_number(value, &number); });
  if (!has_texts) return features;
  std::unordered_map<std::string_view, int64_t> rows;
  for (const std::string& value : values) ++rows[value];
  int64_t known = 0, rare = 0;
  for (const std::string& value : values) {
    if (value.empty()) continue;
    ++known;
    rare += rows.at(value) < kLeastRows ? 1 : 0;
  }
  return 2 * rare > known ? text_categories(common_words(values)) : features;
}

std::vector<FileColumn> file_columns(std::span<const FileFacts> files, std::span<const int32_t> labels) {
  std::vector<FileColumn> columns = trace_columns(files, labels.size());
  FileColumn extension{"file extension", FileColumnKind::kValue, {}};
  std::vector<std::string> names;
  for (const FileFacts& file : files) {
    names.push_back(file.name);
    extension.values.push_back(std::filesystem::path(file.name).extension().string());
  }
  columns.push_back(std::move(extension));
  for (FileColumn& column : name_columns(names, labels)) columns.push_back(std::move(column));

  std::set<std::vector<int32_t>> seen;
  for (size_t f = 0; f < kFileFacts; ++f) {
    std::vector<std::string> texts;
    for (const FileFacts& file : files.first(labels.size())) texts.push_back(file.facts[f]);
    seen.insert(division(text_categories(texts)));
  }
  std::vector<FileColumn> kept;
  for (FileColumn& column : columns) {
    const std::vector<std::string> audited(column.values.begin(), column.values.begin() + std::ssize(labels));
    auto own = division(file_column_categories(audited));
    if (!is_constant(own) && seen.insert(std::move(own)).second) kept.push_back(std::move(column));
  }
  return kept;
}

}  // namespace debias

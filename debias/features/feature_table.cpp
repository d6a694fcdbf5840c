#include "debias/features/feature_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/file_error.h"
#include "debias/core/real_path.h"
#include "debias/data/readers/row_names.h"
#include "debias/features/csv_beside.h"

namespace debias {
namespace {

constexpr size_t kShownNames = 5;

void require_same_number(const FeatureVectors& vectors, const std::string& csv, int64_t rows) {
  if (vectors.rows() == rows) return;
  throw data_error("{}: {} rows for {} vectors in {}; give one row for each vector, in the same order", csv, rows, vectors.rows(),
                   vectors.path());
}

std::string kind_of(const std::string& name_column) { return name_column == "filenames" ? "path" : name_column; }

[[noreturn]] void refuse_missing(const std::vector<int64_t>& missing, const NameColumn& names, const TableRows& rows) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(missing.size(), kShownNames); ++i) {
    shown.push_back(fmt::format("'{}' (vector {})", names.names[static_cast<size_t>(missing[i])], missing[i]));
  }
  throw data_error("{}: column '{}' lacks {} of {} names of the vectors: {}{}; its first is '{}': write the same names", rows.path,
                   rows.name_column, missing.size(), names.names.size(), fmt::join(shown, ", "),
                   shown.size() < missing.size() ? ", ..." : "", rows.names.front());
}

// For each name its place in `rows`.
std::vector<int64_t> places_of(const NameColumn& names, const TableRows& rows) {
  const SampleNames samples(rows.names);
  std::vector<int64_t> order, missing;
  for (int64_t i = 0; i < std::ssize(names.names); ++i) {
    const auto found = samples.find(names.names[static_cast<size_t>(i)]);
    if (!found) missing.push_back(i);
    order.push_back(found.value_or(0));
  }
  if (!missing.empty()) refuse_missing(missing, names, rows);
  return order;
}

// In the order of the vectors.
TableRows joined(TableRows rows, const FeatureVectors& vectors, std::vector<std::string>& remarks) {
  const std::string beside = csv_beside(vectors.path());
  const bool same = !beside.empty() && real_path(beside) == real_path(rows.path);
  const auto names = beside.empty() || same || rows.names.empty() ? std::nullopt : read_name_column(beside);
  if (!names || kind_of(names->column) != kind_of(rows.name_column)) {
    require_same_number(vectors, rows.path, rows.size());
    return rows;
  }
  require_same_number(vectors, beside, std::ssize(names->names));
  const std::vector<int64_t> order = places_of(*names, rows);
  remarks.push_back(fmt::format("{} vectors joined to {} rows of {} by the names in {}", vectors.rows(), rows.size(), rows.path, beside));
  TableRows selected = selected_rows(rows, order);
  if (!rows.has_splits && !names->splits.empty()) {
    selected.splits = names->splits;
    selected.has_splits = true;
    remarks.push_back(fmt::format("{} has no column split; splits are those of {}", rows.path, beside));
  }
  return selected;
}

// embed writes names and biases into a file of their own, whose rows are those of its plain CSV.
TableRows read_rows(const FeatureTableFiles& files, const TableRowOptions& options) {
  const std::string beside = csv_beside(files.vectors());
  if (files.csv().empty() && beside.empty()) {
    throw usage_error("{}: there is no CSV beside it; give one with --csv (columns path, label, bias, split)", files.vectors());
  }
  TableRows rows = read_table_rows(files.csv().empty() ? beside : files.csv(), options);
  const bool plain = rows.name_column == "filenames" && rows.columns.empty() && beside.ends_with(kNamesEnding);
  return plain ? read_table_rows(beside, options) : rows;
}

}  // namespace

std::vector<int64_t> FeatureTable::of_split(TableSplit split) const {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (rows.splits[static_cast<size_t>(i)] == split) places.push_back(i);
  }
  return places;
}

FeatureTable open_feature_table(const FeatureTableFiles& files, const TableRowOptions& options) {
  FeatureVectors vectors = FeatureVectors::open(files.vectors(), files.key());
  std::vector<std::string> remarks;
  TableRows rows = joined(read_rows(files, options), vectors, remarks);
  remarks.insert(remarks.end(), rows.remarks.begin(), rows.remarks.end());
  require_usable(vectors);
  return {std::move(vectors), std::move(rows), std::move(remarks)};
}

}  // namespace debias

#include "debias/features/feature_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/core/sha256.h"
#include "debias/data/parallel_blocks.h"
#include "debias/data/readers/row_names.h"
#include "debias/features/common_offset.h"

namespace debias {

std::string csv_beside(const std::string& vectors) {
  const std::string stem = std::filesystem::path(vectors).replace_extension().string();
  for (const char* ending : {kNamesEnding, ".csv"}) {
    if (std::filesystem::is_regular_file(stem + ending)) return stem + ending;
  }
  return "";
}

namespace {

constexpr size_t kShownNames = 5;

void require_same_number(const FeatureVectors& vectors, const std::string& csv, int64_t rows) {
  if (vectors.rows() == rows) return;
  throw data_error("{}: {} rows for {} vectors in {}; give one row for each vector, in the same order", csv, rows, vectors.rows(),
                   vectors.path());
}

[[noreturn]] void refuse_missing(const std::vector<int64_t>& missing, const NameColumn& names, const TableRows& rows) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(missing.size(), kShownNames); ++i) {
    shown.push_back(fmt::format("'{}' (vector {})", names.names[static_cast<size_t>(missing[i])], missing[i]));
  }
  throw data_error("{}: column '{}' lacks {} of {} names of the vectors: {}{}; its first is '{}': write the same names", rows.path,
                   rows.name_column, missing.size(), names.names.size(), fmt::join(shown, ", "),
                   shown.size() < missing.size() ? ", ..." : "", rows.names.front());
}

// For each name of a vector its row.
std::vector<int64_t> places_of(const NameColumn& names, const TableRows& rows, std::vector<std::string>& remarks) {
  const SampleNames samples(names.names);
  std::vector<RowName> named;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < rows.size(); ++i) {
    if (std::ranges::binary_search(rows.repeated, i)) continue;
    named.push_back({rows.names[static_cast<size_t>(i)], rows.lines[static_cast<size_t>(i)], ""});
    places.push_back(i);
  }
  JoinedRows joined = join_rows(rows.path, named, samples, [&](const RowName& row) { return samples.find(row.name); });
  std::vector<int64_t> missing;
  for (int64_t i = 0; i < samples.size(); ++i) {
    int64_t& row = joined.of_sample[static_cast<size_t>(i)];
    if (row == kUnknown) {
      missing.push_back(i);
    } else {
      row = places[static_cast<size_t>(row)];
    }
  }
  if (!missing.empty()) refuse_missing(missing, names, rows);
  std::ranges::move(joined.notes, std::back_inserter(remarks));
  return joined.of_sample;
}

// Classes of two files that have the same names, where no option says which of them are meant.
void require_same_labels(const TableRows& rows, const NameColumn& names, const std::string& beside, const TableRowOptions& options) {
  if (!options.label.empty() || names.labels.empty()) return;
  const std::set<std::string> known(names.labels.begin(), names.labels.end());
  if (!std::ranges::all_of(rows.classes, [&](const std::string& name) { return known.contains(name); })) return;
  int64_t different = 0;
  size_t first = 0;
  const auto own = [&](size_t i) { return rows.classes[static_cast<size_t>(rows.labels[i])]; };
  for (size_t i = 0; i < names.labels.size(); ++i) {
    if (own(i) != names.labels[i] && different++ == 0) first = i;
  }
  if (different == 0) return;
  throw data_error(
      "{}: {} of {} labels are not those of {}, the first of '{}': '{}' and '{}'; correct one, or choose the column with --label",
      rows.path, different, rows.size(), beside, names.names[first], own(first), names.labels[first]);
}

TableRows in_order(TableRows rows, const FeatureVectors& vectors, bool is_given, std::vector<std::string>& remarks) {
  require_same_number(vectors, rows.path, rows.size());
  if (!rows.repeated.empty()) {
    const auto row = static_cast<size_t>(rows.repeated.front());
    const auto first = static_cast<size_t>(std::ranges::find(rows.names, rows.names[row]) - rows.names.begin());
    throw FileError(rows.path,
                    fmt::format("line {}: '{}' is given twice, first in line {}", rows.lines[row], rows.names[row], rows.lines[first]));
  }
  if (is_given)
    remarks.push_back(fmt::format("{} rows of {} are taken in the order of the vectors, which have no such names", rows.size(), rows.path));
  return rows;
}

// In the order of the vectors.
TableRows joined(TableRows rows, const FeatureVectors& vectors, const std::string& beside, const std::optional<NameColumn>& names,
                 const TableRowOptions& options, bool is_given, std::vector<std::string>& remarks) {
  if (!names || !rows.names_samples) return in_order(std::move(rows), vectors, is_given, remarks);
  require_same_number(vectors, beside, std::ssize(names->names));
  const std::vector<int64_t> order = places_of(*names, rows, remarks);
  remarks.push_back(fmt::format("{} vectors joined to {} rows of {} by the names in {}", vectors.rows(), rows.size(), rows.path, beside));
  if (!rows.repeated.empty()) {
    const bool one = rows.repeated.size() == 1;
    remarks.push_back(
        fmt::format("{} left out, {} in line {}",
                    one ? "1 row repeats an earlier one and is" : fmt::format("{} rows repeat earlier ones and are", rows.repeated.size()),
                    one ? "it is" : "the first", rows.lines[static_cast<size_t>(rows.repeated.front())]));
  }
  TableRows selected = selected_rows(rows, order);
  require_same_labels(selected, *names, beside, options);
  if (!rows.has_splits && !names->splits.empty()) {
    selected.splits = names->splits;
    selected.has_splits = true;
    remarks.push_back(fmt::format("{} has no column split; splits are those of {}", rows.path, beside));
  }
  return selected;
}

void note_repeated_vectors(const FeatureVectors& vectors, const TableRows& rows, std::vector<std::string>& remarks) {
  const RepeatedVectors found = repeated_vectors(vectors);
  const auto name = [&](int64_t row) {
    return rows.names.empty() ? fmt::format("row {}", row) : fmt::format("row {} ('{}')", row, rows.names[static_cast<size_t>(row)]);
  };
  if (!found.zeros.empty()) {
    remarks.push_back(
        fmt::format("{} of {} vectors are of zeros, the first in {}: they say nothing about their samples; embed these again, or "
                    "remove the rows",
                    found.zeros.size(), vectors.rows(), name(found.zeros.front())));
  }
  if (found.of_earlier.empty()) return;
  const auto& [row, earlier] = found.of_earlier.front();
  const auto labels = std::ranges::count_if(found.of_earlier, [&](const auto& pair) {
    return rows.labels[static_cast<size_t>(pair.first)] != rows.labels[static_cast<size_t>(pair.second)];
  });
  remarks.push_back(
      fmt::format("{} of {} vectors repeat an earlier one exactly, the first in {} that of {}{}: debias pairs lists copies; remove them, "
                  "or keep them in "
                  "one split",
                  found.of_earlier.size(), vectors.rows(), name(row), name(earlier),
                  labels == 0 ? "" : fmt::format("; {} of them with another label", labels)));
}

// embed writes names and biases into a file of their own, whose rows are those of its plain CSV.
TableRows read_rows(const FeatureTableFiles& files, const TableRowOptions& options, const std::string& beside, const NameColumn* names) {
  if (files.csv.empty() && beside.empty()) {
    throw usage_error("{}: there is no CSV beside it; give one with --csv (columns path, label, bias, split)", files.vectors);
  }
  TableRows rows = read_table_rows(files.csv.empty() ? beside : files.csv, options, names);
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
  FeatureVectors vectors = FeatureVectors::open(files.vectors, files.key);
  const std::string beside = csv_beside(vectors.path());
  const bool is_given = !files.csv.empty() && (beside.empty() || real_path(beside) != real_path(files.csv));
  const auto names = is_given && !beside.empty() ? read_name_column(beside) : std::nullopt;
  TableRows rows = read_rows(files, options, beside, names ? &*names : nullptr);
  std::vector<std::string> remarks;
  const bool is_beside = rows.path == beside;
  rows = joined(std::move(rows), vectors, beside, is_beside ? std::nullopt : names, options, is_given && !is_beside, remarks);
  remarks.insert(remarks.end(), rows.remarks.begin(), rows.remarks.end());
  require_usable(vectors);
  note_repeated_vectors(vectors, rows, remarks);
  if (const CommonOffset offset = common_offset(vectors); offset.is_large()) {
    remarks.push_back(fmt::format(
        "the vectors lie {:.2g} from 0 and {:.2g} from their mean: in float32, cosines between them keep few digits, and nearest "
        "neighbours are wrong; subtract the mean of the training rows from all vectors, in float64, and write them again",
        offset.norm, offset.spread));
  }
  return {std::move(vectors), std::move(rows), std::move(remarks)};
}

namespace {

constexpr int64_t kHashedBlock = int64_t{8} << 20;  // bytes

std::string file_blocks_digest(const std::string& path) {
  const InputFile file(path);
  const auto size = static_cast<int64_t>(file.size());
  std::vector<std::string> blocks(static_cast<size_t>((size + kHashedBlock - 1) / kHashedBlock));
  const auto hash = [&](int64_t first, int64_t last) {
    std::vector<char> bytes(static_cast<size_t>(last - first));
    file.read(static_cast<uint64_t>(first), bytes.data(), bytes.size());
    Sha256 digest;
    digest.update(bytes.data(), bytes.size());
    blocks[static_cast<size_t>(first / kHashedBlock)] = digest.hex();
  };
  for_each_block(size, kHashedBlock, hash, [](int64_t) {});
  Sha256 all;
  for (const std::string& block : blocks) all.update(block.data(), block.size());
  return all.hex();
}

std::string text_of(const TableColumn& column, size_t row) {
  if (column.numeric) return fmt::format("{}", column.numbers[row]);
  const int64_t value = column.values[row];
  return value == kUnknown ? "" : column.names[static_cast<size_t>(value)];
}

std::string rows_digest(const TableRows& rows) {
  Sha256 digest;
  const auto add = [&digest](const std::string& text) { digest.update(text.c_str(), text.size() + 1); };
  for (const size_t place : rows.biases) add(rows.columns[place].name);
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    add(rows.names.empty() ? "" : rows.names[i]);
    add(rows.classes[static_cast<size_t>(rows.labels[i])]);
    add(std::string(enum_name(rows.splits[i])));
    for (const size_t place : rows.biases) add(text_of(rows.columns[place], i));
  }
  return digest.hex();
}

}  // namespace

TableDigest table_digest(const FeatureTable& table) { return {file_blocks_digest(table.vectors.path()), rows_digest(table.rows)}; }

namespace {

// "p7", or "p7,burst 2" of several columns; empty where one is unknown.
std::string group_name(const TableRows& rows, size_t row) {
  std::string name;
  for (const size_t place : rows.groups) {
    const std::string value = value_text(rows.columns[place], row);
    if (value.empty()) return "";
    if (place != rows.groups.front()) name += ',';
    name += value;
  }
  return name;
}

std::string groups_from(const TableRows& rows) {
  std::string titles;
  for (const size_t place : rows.groups) titles += (titles.empty() ? "column " : ",") + rows.columns[place].name;
  return titles;
}

class TableDataset : public Dataset {
 public:
  TableDataset(const TableRows& rows, const JointBias* bias, std::vector<int64_t> places, const std::string& split)
      : places_(std::move(places)) {
    info_.name = "features";
    info_.split = split;
    info_.class_names = rows.classes;
    if (bias != nullptr) info_.bias_names = bias->names;
    if (!rows.groups.empty()) info_.groups_from = groups_from(rows);
    std::map<std::string, int64_t> numbers;
    for (const int64_t place : places_) {
      const auto i = static_cast<size_t>(place);
      labels_.push_back(rows.labels[i]);
      biases_.push_back(bias == nullptr ? kUnknown : bias->values[i]);
      groups_.push_back(kUnknown);
      if (const std::string group = rows.groups.empty() ? "" : group_name(rows, i); !group.empty()) {
        const auto [number, is_new] = numbers.try_emplace(group, std::ssize(numbers));
        if (is_new) info_.group_names.push_back(group);
        groups_.back() = number->second;
      }
      names_.push_back(rows.names.empty() ? fmt::format("row {}", place) : rows.names[i]);
    }
  }

  const DatasetInfo& info() const override { return info_; }
  std::string what() const override { return "rows"; }
  int64_t size() const override { return std::ssize(places_); }
  Sample get(int64_t index) const override { throw data_error("{}: a feature table has no images", source(index)); }
  int64_t id(int64_t index) const override { return at(places_, index); }
  int64_t label(int64_t index) const override { return at(labels_, index); }
  int64_t bias(int64_t index) const override { return at(biases_, index); }
  int64_t group(int64_t index) const override { return at(groups_, index); }
  std::string source(int64_t index) const override {
    require_index(*this, index);
    return names_[static_cast<size_t>(index)];
  }

 private:
  int64_t at(const std::vector<int64_t>& values, int64_t index) const {
    require_index(*this, index);
    return values[static_cast<size_t>(index)];
  }

  DatasetInfo info_;
  std::vector<int64_t> places_, labels_, biases_, groups_;
  std::vector<std::string> names_;
};

}  // namespace

std::shared_ptr<const Dataset> table_dataset(const TableRows& rows, const JointBias* bias, std::vector<int64_t> places,
                                             const std::string& split) {
  return std::make_shared<TableDataset>(rows, bias, std::move(places), split);
}

}  // namespace debias

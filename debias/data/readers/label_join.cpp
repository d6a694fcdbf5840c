#include "debias/data/readers/label_join.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <unordered_map>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/readers/likely_bias.h"
#include "debias/data/shown_names.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

std::string folder_text(const fs::path& folder) {
  std::string text = folder.lexically_normal().generic_string();
  if (!text.ends_with('/')) text += '/';
  return text;
}

// Interpretations of a path of the CSV, as paths below the root.
class Meanings {
 public:
  explicit Meanings(const LabelPlaces& places) : places_(places) {
    const fs::path csv_folder = fs::absolute(places.csv).parent_path();
    roots_ = {folder_text(fs::absolute(places.root)), folder_text(real_path(places.root))};
    csv_folders_ = {folder_text(csv_folder), folder_text(real_path(csv_folder.string()))};
  }

  std::vector<std::string> of(const std::string& path) const {
    std::vector<std::string> below_root;
    for (const std::string& name : spellings(path)) {
      const bool absolute = name.front() == '/';
      if (!absolute) below_root.insert(below_root.end(), {name, places_.prefix + name});
      for (size_t i = 0; i < roots_.size(); ++i) {
        const std::string whole = absolute ? name : fs::path(csv_folders_[i] + name).lexically_normal().generic_string();
        if (whole.starts_with(roots_[i])) below_root.push_back(whole.substr(roots_[i].size()));
      }
    }
    return below_root;
  }

  bool has_file(const std::string& path) const {
    std::error_code failure;
    const fs::path root = places_.root;  // an absolute path on the right of / replaces the left side
    for (const std::string& name : spellings(path)) {
      for (const fs::path& candidate : {root / name, root / places_.prefix / name, fs::path(csv_folders_[0]) / name}) {
        if (fs::is_regular_file(candidate, failure)) return true;
      }
    }
    return false;
  }

  // Names that the CSV could have for an image of the folder.
  std::vector<std::string> names_of(const std::string& image) const {
    std::vector<std::string> names = {in_utf8(image)};
    if (!places_.prefix.empty()) names.push_back(in_utf8(image.substr(places_.prefix.size())));
    const std::string whole = roots_[0] + image;
    const std::string from_csv = fs::path(whole).lexically_relative(csv_folders_[0]).generic_string();
    if (std::find(names.begin(), names.end(), from_csv) == names.end()) names.push_back(from_csv);
    names.push_back(whole);
    return names;
  }

 private:
  // As it is written, and with the bytes that are not UTF-8.
  static std::vector<std::string> spellings(const std::string& path) {
    std::vector<std::string> names = {path, name_of_utf8(path)};
    if (names[1] == path) names.pop_back();
    return names;
  }

  const LabelPlaces& places_;
  std::vector<std::string> roots_, csv_folders_;  // as given, and without links
};

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

[[noreturn]] void refuse_missing_row(const LabelPlaces& places, const Meanings& meanings, const LabelFile& labels, const std::string& image,
                                     int64_t missing) {
  std::string has = "it has no row at all";
  if (!labels.rows.empty()) {
    auto row = std::find_if(labels.rows.begin(), labels.rows.end(),
                            [&](const LabelRow& candidate) { return file_name(candidate.path) == file_name(image); });
    if (row == labels.rows.end()) row = labels.rows.begin();
    has = fmt::format("its line {} has '{}'", row->line, row->path);
  }
  throw FileError(places.csv, fmt::format("has no row for the image {} ({} in all): looked for '{}'; {}", image,
                                          missing == 1 ? "1 image" : fmt::format("{} images", missing),
                                          fmt::join(meanings.names_of(image), "', '"), has));
}

MatchedRows matched_rows(const LabelPlaces& places, const Meanings& meanings, const LabelFile& labels,
                         const std::vector<std::string>& images) {
  std::unordered_map<std::string_view, size_t> place_of;
  for (size_t i = 0; i < images.size(); ++i) place_of.emplace(images[i], i);
  MatchedRows matched{std::vector<const LabelRow*>(images.size(), nullptr), {}};
  for (const LabelRow& row : labels.rows) {
    auto found = place_of.end();
    for (const std::string& meaning : meanings.of(row.path)) {
      if (found == place_of.end()) found = place_of.find(meaning);
    }
    if (found == place_of.end()) {
      matched.strays.push_back(&row);
      continue;
    }
    const LabelRow*& own = matched.of_image[found->second];
    if (own != nullptr) {
      throw FileError(places.csv, fmt::format("line {}: {} is the same image as {} of line {}", row.line, row.path, own->path, own->line));
    }
    own = &row;
  }
  return matched;
}

// For each file its row.
std::vector<const LabelRow*> match_rows(const LabelPlaces& places, const LabelFile& labels, const std::vector<ImageFile>& files) {
  const Meanings meanings(places);
  std::vector<std::string> images;
  for (const ImageFile& file : files) images.push_back(file.path);
  auto [row_of, strays] = matched_rows(places, meanings, labels, images);
  const auto missing = std::find(row_of.begin(), row_of.end(), nullptr);
  if (missing != row_of.end()) {
    refuse_missing_row(places, meanings, labels, files[static_cast<size_t>(missing - row_of.begin())].path,
                       std::count(missing, row_of.end(), nullptr));
  }
  const std::set<std::string> beside(places.beside.begin(), places.beside.end());
  for (const LabelRow* row : strays) {
    for (const std::string& meaning : meanings.of(row->path)) {
      if (beside.count(meaning) == 0) continue;
      throw FileError(places.csv,
                      fmt::format("line {}: the image {} is outside the class folders and is not read; move it into one of them", row->line,
                                  row->path));
    }
    if (!meanings.has_file(row->path))
      throw FileError(places.csv, fmt::format("line {}: no image {} in {}", row->line, row->path, places.root));
  }
  return row_of;
}

// The column's values of these images, and their names.
struct Values {
  std::vector<int64_t> numbers;
  std::vector<std::string> names;
};

Values values_of(const LabelColumn& column, const std::vector<const LabelRow*>& rows, int64_t LabelRow::*field) {
  std::vector<int64_t> number_of(column.names.size(), kUnknown);
  for (const LabelRow* row : rows) {
    if (row->*field != kUnknown) number_of[static_cast<size_t>(row->*field)] = 0;
  }
  if (column.kind == ColumnKind::kIntegers) {  // keep their numbers
    while (!number_of.empty() && number_of.back() == kUnknown) number_of.pop_back();
    std::fill(number_of.begin(), number_of.end(), 0);
  }
  Values values;
  for (size_t i = 0; i < number_of.size(); ++i) {
    if (number_of[i] == kUnknown) continue;
    number_of[i] = std::ssize(values.names);
    values.names.push_back(column.names[i]);
  }
  for (const LabelRow* row : rows) {
    values.numbers.push_back(row->*field == kUnknown ? kUnknown : number_of[static_cast<size_t>(row->*field)]);
  }
  return values;
}

// Where integers were counted from 1, there is a class 0 without images.
std::string unused_numbers(const LabelColumn& column, const std::vector<int64_t>& numbers) {
  if (column.kind != ColumnKind::kIntegers) return "";
  int64_t least = std::ssize(column.names);
  for (const int64_t number : numbers) least = number == kUnknown ? least : std::min(least, number);
  if (least == 0 || least == std::ssize(column.names)) return "";
  return fmt::format("; the numbers begin at {}: no image is of {} 0{}", least, column.title,
                     least > 1 ? fmt::format(" to {}", least - 1) : "");
}

std::string remark(const std::string& csv, const LabelColumn& column, const Values& values) {
  const std::vector<std::string>& names = values.names;
  std::string found = "nothing";
  if (!names.empty()) found = fmt::format("integers, 0 to {}", names.back());
  if (!names.empty() && column.kind == ColumnKind::kNames) {
    found = fmt::format("{} name{} ({})", names.size(), names.size() == 1 ? "" : "s", shown_names(names, 5));
  }
  const auto unknown = std::count(values.numbers.begin(), values.numbers.end(), kUnknown);
  if (unknown > 0) found += fmt::format(", {} unknown", unknown);
  return without_control_characters(
      fmt::format("{}: column {} is read as {}{}", csv, column.title, found, unused_numbers(column, values.numbers)));
}

// What a column was read as, and which words were read as unknown.
void report_values(const std::string& csv, const LabelColumn& column, const Values& values, DatasetInfo& info) {
  info.remarks.push_back(remark(csv, column, values));
  if (column.missing_words.empty()) return;
  info.columns.remarks.push_back(without_control_characters(fmt::format("{}: {}", csv, column.missing_words)));
  info.remarks.push_back(info.columns.remarks.back());
}

// Reports the use of every column, for programs and, if some were not read, as remarks.
void report_columns(const LabelPlaces& places, const LabelFile& labels, const std::vector<const LabelRow*>& rows,
                    const std::vector<ImageFile>& files, DatasetInfo& info) {
  ColumnUse& use = info.columns;
  use.file = places.csv;
  use.read = {labels.path_title};
  use.has_labels = labels.label.kind != ColumnKind::kAbsent;
  for (const LabelColumn* column : {&labels.label, &labels.bias}) {
    if (column->kind != ColumnKind::kAbsent) use.read.push_back(column->title);
  }
  if (labels.others.empty()) return;
  std::vector<int64_t> classes;
  for (const ImageFile& file : files) classes.push_back(file.label);
  for (const OtherColumn& column : labels.others) {
    use.ignored.push_back(column.title);
    if (labels.bias.kind != ColumnKind::kAbsent || !labels.looks_for_bias) continue;
    std::vector<std::string> values;
    for (const LabelRow* row : rows) values.push_back(column.values[static_cast<size_t>(row - labels.rows.data())]);
    if (may_be_bias(values, classes)) use.likely_bias.push_back(column.title);
  }
  info.remarks.push_back(without_control_characters(fmt::format("{}: column{} {} not read", places.csv, use.ignored.size() == 1 ? "" : "s",
                                                                shown_names(use.ignored, 5) + (use.ignored.size() == 1 ? " is" : " are"))));
  const bool unlabelled = info.class_names.empty();
  for (const std::string& title : use.likely_bias) {
    info.remarks.push_back(without_control_characters(
        fmt::format("{0}: column {1} has few values, like a {2}, and is not used; to use it, write labels: {{file: {0}, {3}: {1}}}",
                    places.csv, title, unlabelled ? "class or bias label" : "bias label", unlabelled ? "label" : "bias")));
  }
}

}  // namespace

MatchedRows rows_of_images(const LabelPlaces& places, const LabelFile& labels, const std::vector<std::string>& images) {
  return matched_rows(places, Meanings(places), labels, images);
}

std::vector<const LabelRow*> rows_without_file(const LabelPlaces& places, const std::vector<const LabelRow*>& rows) {
  const Meanings meanings(places);
  std::vector<const LabelRow*> found;
  std::ranges::copy_if(rows, std::back_inserter(found), [&](const LabelRow* row) { return !meanings.has_file(row->path); });
  return found;
}

void join_labels(const LabelPlaces& places, const LabelFile& labels, std::vector<ImageFile>& files, DatasetInfo& info) {
  const std::vector<const LabelRow*> rows = match_rows(places, labels, files);
  if (labels.label.kind != ColumnKind::kAbsent) {
    Values values = values_of(labels.label, rows, &LabelRow::label);
    for (size_t i = 0; i < files.size(); ++i) files[i].label = values.numbers[i];
    report_values(places.csv, labels.label, values, info);
    info.class_names = std::move(values.names);
  }
  if (labels.bias.kind != ColumnKind::kAbsent) {
    Values values = values_of(labels.bias, rows, &LabelRow::bias);
    for (size_t i = 0; i < files.size(); ++i) files[i].bias = values.numbers[i];
    report_values(places.csv, labels.bias, values, info);
    info.bias_names = std::move(values.names);
  }
  report_columns(places, labels, rows, files, info);
}

}  // namespace debias

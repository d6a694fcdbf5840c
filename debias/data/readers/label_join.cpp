#include "debias/data/readers/label_join.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>

#include "debias/core/file_error.h"
#include "debias/core/real_path.h"
#include "debias/data/readers/csv_table.h"
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
        const std::string whole = absolute ? name : normal_path(csv_folders_[i] + name);
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

MatchedRows matched_rows(const LabelPlaces& places, const Meanings& meanings, const std::vector<RowName>& rows,
                         const std::vector<std::string>& images) {
  const SampleNames samples(images);
  MatchedRows matched{std::vector<int64_t>(images.size(), kUnknown), {}};
  for (int64_t r = 0; r < std::ssize(rows); ++r) {
    const RowName& row = rows[static_cast<size_t>(r)];
    std::optional<int64_t> image;
    for (const std::string& meaning : meanings.of(row.name)) {
      if (!image) image = samples.find(meaning);
    }
    if (!image) {
      matched.strays.push_back(r);
      continue;
    }
    int64_t& own = matched.of_image[static_cast<size_t>(*image)];
    if (own != kUnknown) {
      const RowName& first = rows[static_cast<size_t>(own)];
      refuse_line(places.csv, row.line, fmt::format("{} is the same image as {} of line {}", row.name, first.name, first.line));
    }
    own = r;
  }
  return matched;
}

// For each file its row.
std::vector<int64_t> match_rows(const LabelPlaces& places, const LabelFile& labels, const std::vector<ImageFile>& files) {
  const Meanings meanings(places);
  std::vector<std::string> images;
  for (const ImageFile& file : files) images.push_back(file.path);
  const std::vector<RowName> names = labels.names();
  auto [row_of, strays] = matched_rows(places, meanings, names, images);
  const auto missing = std::find(row_of.begin(), row_of.end(), kUnknown);
  if (missing != row_of.end()) {
    refuse_missing_row(places, meanings, labels, files[static_cast<size_t>(missing - row_of.begin())].path,
                       std::count(missing, row_of.end(), kUnknown));
  }
  const std::set<std::string> beside(places.beside.begin(), places.beside.end());
  for (const int64_t stray : strays) {
    const RowName& row = names[static_cast<size_t>(stray)];
    for (const std::string& meaning : meanings.of(row.name)) {
      if (beside.count(meaning) == 0) continue;
      refuse_line(places.csv, row.line,
                  fmt::format("the image {} is outside the class folders and is not read; move it into one of them", row.name));
    }
    if (!meanings.has_file(row.name)) refuse_line(places.csv, row.line, fmt::format("no image {} in {}", row.name, places.root));
  }
  return row_of;
}

// The column's values of these images, and their names.
struct Values {
  std::vector<int64_t> numbers;
  std::vector<std::string> names;
};

Values values_of(const LabelFile& labels, const LabelColumn& column, const std::vector<int64_t>& rows, int64_t LabelRow::*field) {
  std::vector<int64_t> number_of(column.names.size(), kUnknown), own;
  for (const int64_t row : rows) {
    own.push_back(labels.rows[static_cast<size_t>(row)].*field);
    if (own.back() != kUnknown) number_of[static_cast<size_t>(own.back())] = 0;
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
  for (const int64_t value : own) values.numbers.push_back(value == kUnknown ? kUnknown : number_of[static_cast<size_t>(value)]);
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
void report_columns(const LabelPlaces& places, const LabelFile& labels, const std::vector<int64_t>& rows,
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
    for (const int64_t row : rows) values.push_back(column.values[static_cast<size_t>(row)]);
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

MatchedRows rows_of_images(const LabelPlaces& places, const std::vector<RowName>& rows, const std::vector<std::string>& images) {
  return matched_rows(places, Meanings(places), rows, images);
}

std::vector<int64_t> rows_without_file(const LabelPlaces& places, const std::vector<RowName>& rows, const std::vector<int64_t>& strays) {
  const Meanings meanings(places);
  std::vector<int64_t> found;
  std::ranges::copy_if(strays, std::back_inserter(found),
                       [&](int64_t row) { return !meanings.has_file(rows[static_cast<size_t>(row)].name); });
  return found;
}

void join_labels(const LabelPlaces& places, const LabelFile& labels, std::vector<ImageFile>& files, DatasetInfo& info) {
  const std::vector<int64_t> rows = match_rows(places, labels, files);
  const auto lay = [&](const LabelColumn& column, int64_t LabelRow::*of_row, int64_t ImageFile::*of_file, std::vector<std::string>& names) {
    if (column.kind == ColumnKind::kAbsent) return;
    Values values = values_of(labels, column, rows, of_row);
    for (size_t i = 0; i < files.size(); ++i) files[i].*of_file = values.numbers[i];
    report_values(places.csv, column, values, info);
    names = std::move(values.names);
  };
  lay(labels.label, &LabelRow::label, &ImageFile::label, info.class_names);
  lay(labels.bias, &LabelRow::bias, &ImageFile::bias, info.bias_names);
  report_columns(places, labels, rows, files, info);
}

}  // namespace debias

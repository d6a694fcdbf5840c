#include "debias/data/readers/label_join.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "debias/core/error.h"
#include "debias/core/normal_form.h"
#include "debias/core/paths.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/image_listing.h"
#include "debias/data/readers/likely_bias.h"
#include "debias/data/row_groups.h"
#include "debias/data/shown_names.h"
#include "debias/data/split_names.h"
#include "debias/image/image_decode.h"

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

  // Below the root, by the root, the CSV's folder and the top.
  std::vector<std::string> of(const std::string& path) const {
    std::vector<std::string> below_root;
    for (const std::string& name : spellings(path)) {
      const bool absolute = name.starts_with('/');
      if (!absolute) below_root.push_back(name);
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

void add_note(const std::string& csv, const std::string& note, DatasetInfo& info) {
  info.columns.remarks.push_back(without_control_characters(fmt::format("{}: {}", csv, note)));
  info.remarks.push_back(info.columns.remarks.back());
}

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

// Splits beside the one of `places`, with their slashes, and their images.
struct OtherSplits {
  std::vector<std::string> prefixes, images;
};

OtherSplits other_splits(const LabelPlaces& places) {
  OtherSplits others;
  std::error_code failure;
  if (places.prefix.empty() || !fs::is_directory(places.root, failure)) return others;
  for (const std::string& folder : list_folders(places.root)) {
    if (folder + "/" == places.prefix || !names_a_split(folder)) continue;
    others.prefixes.push_back(folder + "/");
    for (const std::string& image : list_images((fs::path(places.root) / folder).string(), places.root))
      others.images.push_back(folder + "/" + image);
  }
  return others;
}

// "train" is a word of "labels_train.csv".
bool csv_names_split(const LabelPlaces& places) {
  const std::string stem = in_lower_case(fs::path(places.csv).stem().string()), split = in_lower_case(places.prefix);
  std::string word;
  for (const char c : stem + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (word + "/" == split) {
      return true;
    } else {
      word.clear();
    }
  }
  return false;
}

MatchedRows matched_rows(const LabelPlaces& places, const Meanings& meanings, const std::vector<RowName>& rows,
                         const std::vector<std::string>& images) {
  const OtherSplits others = other_splits(places);
  std::vector<std::string> all = images;
  all.insert(all.end(), others.images.begin(), others.images.end());
  const SampleNames samples(std::move(all));
  std::vector<std::string> prefixes = others.prefixes;
  prefixes.insert(prefixes.begin(), places.prefix);
  const bool own_split = csv_names_split(places);
  const std::set<std::string> beside(places.beside.begin(), places.beside.end());

  const auto in_splits = [&](const RowName& row) -> std::optional<int64_t> {
    std::vector<int64_t> found;
    for (const std::string& prefix : prefixes) {
      const auto place = places.prefix.empty() ? std::nullopt : samples.find(prefix + row.name);
      if (!place) continue;
      if (in_lower_case(row.split) + "/" == in_lower_case(prefix)) return place;
      found.push_back(*place);
      if (own_split && prefix == places.prefix) break;
    }
    if (found.size() > 1) refuse_two(places.csv, row, samples.name(found[0]), samples.name(found[1]));
    return found.empty() ? std::nullopt : std::optional(found[0]);
  };
  const auto exact = [&](const RowName& row) -> std::optional<int64_t> {
    const std::vector<std::string> below_root = meanings.of(row.name);
    for (const std::string& meaning : below_root) {
      if (const auto found = samples.find(meaning)) return found;
    }
    if (const auto found = in_splits(row)) return found;
    const auto is_beside = [&](const std::string& meaning) { return beside.contains(meaning) || beside.contains(places.prefix + meaning); };
    if (std::ranges::any_of(below_root, is_beside) || meanings.has_file(row.name)) return kUnknown;
    return std::nullopt;
  };
  JoinedRows joined = join_rows(places.csv, rows, samples, exact);
  joined.of_sample.resize(images.size());
  return {std::move(joined.of_sample), std::move(joined.strays), std::move(joined.notes)};
}

// Why it cannot be read; empty where it can.
std::string fault_of(const LabelPlaces& places, const ImageFile& file) {
  try {
    read_image((fs::path(places.root) / file.path).string());
    return "";
  } catch (const FileError& error) {
    return error.reason();
  }
}

// Whoever wrote the CSV may not have been able to read them either.
void leave_out_unreadable(const LabelPlaces& places, const Meanings& meanings, const LabelFile& labels, std::vector<ImageFile>& files,
                          std::vector<int64_t>& rows, DatasetInfo& info) {
  const auto missing = std::ranges::count(rows, kUnknown);
  if (missing == 0) return;
  std::string first;
  std::vector<ImageFile> kept;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string fault = rows[i] == kUnknown ? fault_of(places, files[i]) : "";
    const bool is_last_hope = missing == std::ssize(rows);
    if (rows[i] == kUnknown && (fault.empty() || is_last_hope)) refuse_missing_row(places, meanings, labels, files[i].path, missing);
    if (rows[i] != kUnknown) kept.push_back(files[i]);
    if (first.empty() && !fault.empty()) first = fmt::format("{}: {}", files[i].path, fault);
  }
  files = std::move(kept);
  std::erase(rows, kUnknown);
  add_note(places.csv,
           fmt::format("{} no row and cannot be read: left out (first: {}); repair {}",
                       missing == 1 ? "1 image has" : fmt::format("{} images have", missing), first, missing == 1 ? "it" : "them"),
           info);
}

// For each file its row.
std::vector<int64_t> match_rows(const LabelPlaces& places, const LabelFile& labels, std::vector<ImageFile>& files, DatasetInfo& info) {
  const Meanings meanings(places);
  std::vector<std::string> images;
  for (const ImageFile& file : files) images.push_back(file.path);
  const std::vector<RowName> names = labels.names();
  const MatchedRows matched = matched_rows(places, meanings, names, images);
  std::vector<int64_t> rows = matched.of_image;
  leave_out_unreadable(places, meanings, labels, files, rows, info);
  const std::set<std::string> beside(places.beside.begin(), places.beside.end());
  for (const int64_t stray : matched.strays) {
    const RowName& row = names[static_cast<size_t>(stray)];
    for (const std::string& meaning : meanings.of(row.name)) {
      if (!beside.contains(meaning) && !beside.contains(places.prefix + meaning)) continue;
      refuse_line(places.csv, row.line,
                  fmt::format("the image {} is outside the class folders and is not read; move it into one of them", row.name));
    }
    if (!meanings.has_file(row.name)) refuse_line(places.csv, row.line, fmt::format("no image {} in {}", row.name, places.root));
  }
  for (const std::vector<std::string>* notes : {&labels.notes, &matched.notes}) {
    for (const std::string& note : *notes) add_note(places.csv, note, info);
  }
  return rows;
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

// What a column was read as, and what was read otherwise than it is written.
void report_values(const std::string& csv, const LabelColumn& column, const Values& values, DatasetInfo& info) {
  info.remarks.push_back(remark(csv, column, values));
  for (const std::string& note : column.notes) add_note(csv, note, info);
}

// Whether the values name what the images are of, such as patients, though no option says so.
bool may_be_group(const LabelFile& labels, const std::string& title, const std::vector<std::string>& values,
                  const std::vector<int64_t>& classes, size_t count) {
  if (labels.group.kind != ColumnKind::kAbsent || count < 2) return false;
  std::vector<std::string> known;
  std::vector<int32_t> of_known;
  for (size_t i = 0; i < values.size(); ++i) {
    if (classes[i] == kUnknown) continue;
    known.push_back(values[i]);
    of_known.push_back(static_cast<int32_t>(classes[i]));
  }
  if (known.empty() || names_groups(known, of_known, static_cast<int32_t>(count))) return !known.empty();
  std::erase(known, "");
  const size_t distinct = std::set<std::string>(known.begin(), known.end()).size();
  return is_group_title(title) && distinct >= std::max<size_t>(8, 2 * count) && known.size() >= distinct + distinct / 4;
}

std::string note_on_group(const std::string& csv, const std::string& title, const std::vector<std::string>& values) {
  std::set<std::string> distinct(values.begin(), values.end());
  distinct.erase("");
  return without_control_characters(
      fmt::format("{0}: column {1} has {2} values that repeat, as names of patients or bursts do; to keep their images together, add "
                  "--group {1}, or write labels: {{file: {0}, group: {1}}} in a recipe",
                  csv, title, distinct.size()));
}

// Reports the use of every column, for programs and, if some were not read, as remarks.
void report_columns(const LabelPlaces& places, const LabelFile& labels, const std::vector<int64_t>& rows,
                    const std::vector<ImageFile>& files, DatasetInfo& info) {
  ColumnUse& use = info.columns;
  use.file = places.csv;
  use.read = {labels.path_title};
  use.has_labels = labels.label.kind != ColumnKind::kAbsent;
  for (const LabelColumn* column : {&labels.label, &labels.bias, &labels.group}) {
    if (column->kind != ColumnKind::kAbsent) use.read.push_back(column->title);
  }
  if (labels.others.empty()) return;
  std::vector<int64_t> classes;
  for (const ImageFile& file : files) classes.push_back(file.label);
  for (const OtherColumn& column : labels.others) {
    use.ignored.push_back(column.title);
    std::vector<std::string> values;
    for (const int64_t row : rows) values.push_back(column.values[static_cast<size_t>(row)]);
    if (may_be_group(labels, column.title, values, classes, info.class_names.size())) {
      use.remarks.push_back(note_on_group(places.csv, column.title, values));
      info.remarks.push_back(use.remarks.back());
      continue;
    }
    if (labels.bias.kind != ColumnKind::kAbsent || !labels.looks_for_bias) continue;
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

// What the folders of the images say of their labels: for each folder the class of its images, if the labels say the same of most.
std::map<std::string, std::string> classes_of_folders(const std::vector<std::string>& folders, const std::vector<std::string>& labels) {
  constexpr double kShare = 0.9;
  std::map<std::string, std::map<std::string, int64_t>> counts;
  std::set<std::string> names;
  for (size_t i = 0; i < folders.size(); ++i) {
    if (!labels[i].empty()) ++counts[folders[i]][without_case(labels[i])];
    names.insert(without_case(folders[i]));
  }
  std::map<std::string, std::string> found;
  std::set<std::string> named, majorities;
  for (const auto& [folder, own] : counts) {
    int64_t known = 0;
    auto most = own.begin();
    for (auto label = own.begin(); label != own.end(); ++label) {
      known += label->second;
      if (label->second > most->second) most = label;
      if (names.contains(label->first)) named.insert(label->first);
    }
    const bool is_most = static_cast<double>(most->second) >= kShare * static_cast<double>(known);
    if (is_most && majorities.insert(most->first).second) found[folder] = most->first;
  }
  if (named.size() > 1 || (named.size() == 1 && names.size() == 1)) {  // the labels are names of folders
    for (const auto& entry : counts) found[entry.first] = without_case(entry.first);
    return found;
  }
  return majorities.size() == counts.size() && found.size() == counts.size() && counts.size() > 1 ? found
                                                                                                  : std::map<std::string, std::string>();
}

}  // namespace

std::string note_on_folders(const std::string& title, const std::vector<std::string>& folders, const std::vector<std::string>& labels,
                            const std::vector<std::string>& images) {
  const std::map<std::string, std::string> classes = classes_of_folders(folders, labels);
  int64_t known = 0, others = 0;
  size_t first = 0;
  for (size_t i = 0; i < folders.size(); ++i) {
    const auto own = classes.find(folders[i]);
    if (labels[i].empty() || own == classes.end()) continue;
    ++known;
    if (without_case(labels[i]) != own->second && others++ == 0) first = i;
  }
  if (others == 0) return "";
  return without_control_characters(
      fmt::format("column {}: {} of {} label{} {} the class folder of the image, such as '{}' for {}; labels count, not folders: correct "
                  "those that are "
                  "wrong, or leave the column out",
                  title, others, known, known == 1 ? "" : "s", others == 1 ? "contradicts" : "contradict", labels[first], images[first]));
}

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
  const std::vector<int64_t> rows = match_rows(places, labels, files, info);
  std::vector<std::string> folders;  // by which the files have classes so far
  for (const ImageFile& file : files) {
    if (file.label != kUnknown) folders.push_back(info.class_names[static_cast<size_t>(file.label)]);
  }
  const auto lay = [&](const LabelColumn& column, int64_t LabelRow::*of_row, int64_t ImageFile::*of_file, std::vector<std::string>& names) {
    if (column.kind == ColumnKind::kAbsent) return;
    Values values = values_of(labels, column, rows, of_row);
    for (size_t i = 0; i < files.size(); ++i) files[i].*of_file = values.numbers[i];
    report_values(places.csv, column, values, info);
    names = std::move(values.names);
  };
  lay(labels.label, &LabelRow::label, &ImageFile::label, info.class_names);
  if (labels.label.kind != ColumnKind::kAbsent && folders.size() == files.size()) {
    std::vector<std::string> own, images;
    for (const ImageFile& file : files) {
      own.push_back(file.label == kUnknown ? "" : info.class_names[static_cast<size_t>(file.label)]);
      images.push_back(file.path);
    }
    if (const std::string note = note_on_folders(labels.label.title, folders, own, images); !note.empty()) add_note(places.csv, note, info);
  }
  lay(labels.bias, &LabelRow::bias, &ImageFile::bias, info.bias_names);
  lay(labels.group, &LabelRow::group, &ImageFile::group, info.group_names);
  if (!info.group_names.empty()) info.groups_from = "column " + without_control_characters(labels.group.title);
  report_columns(places, labels, rows, files, info);
}

}  // namespace debias

#include "debias/audit/audit_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/data/folder_layout.h"
#include "debias/data/readers/column_values.h"
#include "debias/data/readers/csv_file.h"
#include "debias/data/readers/label_join.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct CsvTable {
  std::string path;
  std::vector<std::string> titles;
  std::vector<CsvRecord> records;  // without the header

  size_t required(const std::string& title) const {
    const auto found = std::find(titles.begin(), titles.end(), title);
    if (found == titles.end()) {
      throw usage_error("audit: {} has no column '{}'{}", path, title, suggestion(title, titles));
    }
    return static_cast<size_t>(found - titles.begin());
  }
  bool has(const std::string& title) const { return std::find(titles.begin(), titles.end(), title) != titles.end(); }
};

CsvTable read_table(const std::string& path) {
  CsvTable table{path, {}, read_csv(path)};
  for (const std::string& title : table.records.front().fields) table.titles.emplace_back(without_blanks(title));
  table.records.erase(table.records.begin());
  return table;
}

std::string counted(size_t count, const std::string& what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

// For each file its record; null where it has none.
using FileRecords = std::vector<const CsvRecord*>;

void remark_on_stray_rows(const AuditFolderOptions& options, const std::vector<const LabelRow*>& rows, std::vector<std::string>& remarks) {
  if (rows.empty()) return;
  remarks.push_back(fmt::format("{} of {} {} no image in {} and {} ignored here, while debias init rejects {}; the first is {} in line {}",
                                counted(rows.size(), "row"), options.labels, rows.size() == 1 ? "has" : "have", options.folder,
                                rows.size() == 1 ? "is" : "are", rows.size() == 1 ? "it" : "them", rows.front()->path, rows.front()->line));
}

// With `remarks`, for rows of no file.
FileRecords records_of(const AuditFolderOptions& options, const std::string& prefix, const CsvTable& table,
                       const std::vector<std::string>& images, std::vector<std::string>* remarks = nullptr) {
  const size_t path = table.required("path");
  LabelFile numbered;  // a row's label is the number of its record
  for (size_t r = 0; r < table.records.size(); ++r) {
    const CsvRecord& record = table.records[r];
    numbered.rows.push_back({.path = fs::path(record.fields[path]).lexically_normal().generic_string(),
                             .label = static_cast<int64_t>(r),
                             .bias = kUnknown,
                             .line = record.line});
  }
  FileRecords records;
  const LabelPlaces places{options.folder, prefix, options.labels};
  const MatchedRows matched = rows_of_images(places, numbered, images);
  for (const LabelRow* row : matched.of_image) {
    records.push_back(row == nullptr ? nullptr : &table.records[static_cast<size_t>(row->label)]);
  }
  if (remarks != nullptr) remark_on_stray_rows(options, rows_without_file(places, matched.strays), *remarks);
  return records;
}

FileRecords records_of_files(const AuditFolderOptions& options, const std::string& prefix, const CsvTable& table, AuditFolder& folder) {
  std::vector<std::string> images;
  for (const PictureFile& file : folder.files) images.push_back(file.source);
  FileRecords records = records_of(options, prefix, table, images, &folder.notes);
  const auto missing = static_cast<size_t>(std::count(records.begin(), records.end(), nullptr));
  if (missing == records.size()) {
    throw FileError(options.labels, fmt::format("has no row for any image; the images are named as '{}'", images.front()));
  }
  if (missing > 0) {
    const auto first = static_cast<size_t>(std::find(records.begin(), records.end(), nullptr) - records.begin());
    const std::string effect = !table.has("label") ? "their values are unknown" : "without a label they are left out";
    folder.notes.push_back(fmt::format("{} {} no row in {}: {}; the first is {}", counted(missing, "image"), missing == 1 ? "has" : "have",
                                       options.labels, effect, images[first]));
  }
  return records;
}

ColumnFields fields_of(const CsvTable& table, const std::string& title, const FileRecords& records) {
  const size_t position = table.required(title);
  ColumnFields column{table.path, title, {}, {}};
  for (const CsvRecord* record : records) {
    column.values.push_back(record == nullptr ? std::string_view() : without_blanks(record->fields[position]));
    column.lines.push_back(record == nullptr ? 0 : record->line);
  }
  return column;
}

AuditColumn column_of(const CsvTable& table, const std::string& title, const FileRecords& records) {
  const ColumnFields fields = fields_of(table, title, records);
  return {title, {fields.values.begin(), fields.values.end()}};
}

// Images whose row has no label.
void remark_on_unlabelled(const ColumnFields& written, AuditFolder& folder) {
  size_t count = 0, first = 0;
  for (size_t i = 0; i < folder.labels.size(); ++i) {
    const bool has_row = written.lines[i] > 0;
    if (has_row && folder.labels[i] == kUnknown && count++ == 0) first = i;
  }
  if (count == 0) return;
  const std::string field = written.values[first].empty() ? "" : fmt::format(" ('{}')", written.values[first]);
  folder.notes.push_back(fmt::format("{} {} no label in {} and {} left out; the first is {}{}", counted(count, "image"),
                                     count == 1 ? "has" : "have", written.path, count == 1 ? "is" : "are", folder.files[first].source,
                                     field));
}

void take_labels(const CsvTable& table, const FileRecords& records, AuditFolder& folder) {
  const ColumnFields written = fields_of(table, "label", records);
  ColumnFields fields = written;
  if (std::string remark = clear_missing_words(fields); !remark.empty()) folder.notes.push_back(std::move(remark));
  CategoricalValues values = categorical_values(fields);
  folder.classes = std::move(values.names);
  folder.labels = std::move(values.values);
  for (size_t i = 0; i < folder.labels.size(); ++i) {
    folder.label_names[i] = folder.labels[i] == kUnknown ? "" : folder.classes[static_cast<size_t>(folder.labels[i])];
  }
  remark_on_unlabelled(written, folder);
}

// Rows of another split have no label, as far as the audit goes.
void keep_split(const AuditColumn& splits, const std::string& wanted, AuditFolder& folder) {
  int64_t others = 0;
  for (size_t i = 0; i < splits.values.size(); ++i) {
    if (splits.values[i].empty() || splits.values[i] == wanted) continue;
    folder.labels[i] = kUnknown;
    ++others;
  }
  if (others > 0) folder.notes.push_back(fmt::format("{} images of other splits than {} are left out", others, wanted));
}

void take_columns(const AuditFolderOptions& options, const CsvTable& table, const FileRecords& records, AuditFolder& folder) {
  std::vector<std::string> titles = options.columns;
  if (titles.empty()) {
    for (const std::string& title : table.titles) {
      if (title != "path" && title != "label" && title != "split" && !title.empty()) titles.push_back(title);
    }
  }
  for (const std::string& title : options.group) {
    table.required(title);
    if (std::ranges::find(titles, title) == titles.end()) titles.push_back(title);
  }
  for (const std::string& title : titles) {
    AuditColumn column = column_of(table, title, records);
    if (const std::string reason = constant_column(column.values); !reason.empty()) {
      folder.notes.push_back(fmt::format("column {} is ignored: it {}", title, reason));
      continue;
    }
    column.unusable = unusable_column(column.values);
    folder.columns.push_back(std::move(column));
  }
}

// Of the images of other splits, of the columns that are audited.
void take_other_columns(const AuditFolderOptions& options, const CsvTable& table, AuditFolder& folder) {
  std::map<std::string, std::vector<OtherImage*>> of_split;
  for (OtherImage& other : folder.other_splits) of_split[other.file.source.substr(0, other.file.source.find('/') + 1)].push_back(&other);
  for (const auto& [prefix, others] : of_split) {
    std::vector<std::string> images;
    for (const OtherImage* other : others) images.push_back(other->file.source);
    const FileRecords records = records_of(options, prefix, table, images);
    for (const AuditColumn& audited : folder.columns) {
      const AuditColumn column = column_of(table, audited.name, records);
      for (size_t i = 0; i < others.size(); ++i) others[i]->column_values.push_back(column.values[i]);
    }
  }
}

std::string class_name(const Dataset& images, int64_t index) {
  const int64_t label = images.label(index);
  return label < 0 ? "" : images.info().class_names[static_cast<size_t>(label)];
}

// The index-th image of the split whose folder has this prefix.
PictureFile picture_file(const AuditFolderOptions& options, const std::string& prefix, const Dataset& images, int64_t index) {
  const std::string source = images.source(index), below = source.substr(prefix.size());
  const bool in_class = !images.info().class_names.empty();
  return {(fs::path(options.folder) / source).string(), source, in_class ? below.substr(below.find('/') + 1) : below};
}

// Folders of splits that are not audited.
void list_other_splits(const AuditFolderOptions& options, const FolderLayout& layout, const std::string& audited, AuditFolder& folder) {
  for (const std::string& split : {layout.train, layout.valid, layout.test}) {
    if (split.empty() || split == audited) continue;
    const std::unique_ptr<const Dataset> images = open_split(options.folder, split);
    for (int64_t i = 0; i < images->size(); ++i) {
      folder.other_splits.push_back({picture_file(options, split + "/", *images, i), class_name(*images, i), {}});
    }
  }
}

AuditFolder list_folder(const AuditFolderOptions& options, const std::string& prefix) {
  const std::unique_ptr<const Dataset> images = open_split(options.folder, prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1));
  AuditFolder folder{images->info().class_names, {}, {}, {}, {}, {}, {}, images->info().remarks};
  for (int64_t i = 0; i < images->size(); ++i) {
    folder.files.push_back(picture_file(options, prefix, *images, i));
    folder.labels.push_back(images->label(i));
    folder.label_names.push_back(class_name(*images, i));
  }
  return folder;
}

}  // namespace

AuditFolder read_audit_folder(const AuditFolderOptions& options) {
  const FolderLayout layout = find_layout(options.folder);
  const std::string split = options.split.empty() ? layout.train : options.split;
  const std::string prefix = split.empty() ? "" : split + "/";
  AuditFolder folder = list_folder(options, prefix);
  list_other_splits(options, layout, split, folder);
  if (options.labels.empty()) {
    for (const auto& [option, given] : {std::pair("--columns", &options.columns), std::pair("--group", &options.group)}) {
      if (!given->empty()) throw usage_error("audit: {} names columns of a CSV; give it with --labels FILE.csv", option);
    }
    return folder;
  }
  const CsvTable table = read_table(options.labels);
  const FileRecords records = records_of_files(options, prefix, table, folder);
  if (table.has("label")) take_labels(table, records, folder);
  if (table.has("split")) keep_split(column_of(table, "split", records), options.split.empty() ? "train" : options.split, folder);
  take_columns(options, table, records, folder);
  take_other_columns(options, table, folder);
  return folder;
}

}  // namespace debias

#include "debias/audit/audit_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/printable.h"
#include "debias/data/folder_layout.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/label_join.h"
#include "debias/data/row_groups.h"
#include "debias/image/dicom.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

size_t required_column(const CsvTable& table, const std::string& title) {
  if (const auto found = table.find(title)) return *found;
  throw usage_error("audit: {} has no column '{}'{}", table.path(), title, suggestion(title, table.titles()));
}

std::string counted(size_t count, const std::string& what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

void remark_on_stray_rows(const AuditFolderOptions& options, const std::vector<RowName>& names, const std::vector<int64_t>& rows,
                          std::vector<std::string>& remarks) {
  if (rows.empty()) return;
  const RowName& first = names[static_cast<size_t>(rows.front())];
  remarks.push_back(fmt::format("{} of {} {} no image in {} and {} ignored here, while debias init rejects {}; the first is {} in line {}",
                                counted(rows.size(), "row"), options.labels, rows.size() == 1 ? "has" : "have", options.folder,
                                rows.size() == 1 ? "is" : "are", rows.size() == 1 ? "it" : "them", first.name, first.line));
}

// The column of paths.
size_t path_column(const CsvTable& table, const std::vector<std::string>& images, std::vector<std::string>* remarks) {
  if (const auto found = table.find("path")) return *found;
  std::vector<size_t> taken;
  for (const char* title : {"label", "split"}) {
    if (const auto found = table.find(title)) taken.push_back(*found);
  }
  const auto found = naming_column(table, SampleNames(images), taken);
  if (!found) return required_column(table, "path");
  if (remarks != nullptr) {
    remarks->push_back(table.titles()[*found].empty() ? "the column without a title names the images"
                                                      : fmt::format("column '{}' names the images", table.titles()[*found]));
  }
  return *found;
}

// For each image its row, or kUnknown. With `remarks`, for rows of no file, and on names that differ.
std::vector<int64_t> rows_of(const AuditFolderOptions& options, const std::string& prefix, const CsvTable& table,
                             const std::vector<std::string>& images, std::vector<std::string>* remarks = nullptr) {
  const size_t path = path_column(table, images, remarks);
  const std::vector<std::string> splits = split_fields(table);
  std::vector<std::string> paths;
  for (const std::string& field : table.column(path)) paths.push_back(normal_path(field));
  const std::vector<int64_t> repeated = repeated_rows(table, "path", paths, splits);
  std::vector<RowName> names;
  std::vector<int64_t> places;
  for (int64_t r = 0; r < std::ssize(paths); ++r) {
    if (std::ranges::binary_search(repeated, r)) continue;
    const CsvRecord& row = table.rows()[static_cast<size_t>(r)];
    names.push_back({paths[static_cast<size_t>(r)], row.line, splits.empty() ? "" : splits[static_cast<size_t>(r)]});
    places.push_back(r);
  }
  const LabelPlaces label_places{options.folder, prefix, options.labels};
  MatchedRows matched = rows_of_images(label_places, names, images);
  for (int64_t& row : matched.of_image) row = row == kUnknown ? kUnknown : places[static_cast<size_t>(row)];
  if (remarks == nullptr) return matched.of_image;
  if (!repeated.empty()) remarks->push_back(note_on_repeated(table, repeated));
  std::ranges::move(matched.notes, std::back_inserter(*remarks));
  remark_on_stray_rows(options, names, rows_without_file(label_places, names, matched.strays), *remarks);
  return matched.of_image;
}

std::vector<int64_t> rows_of_files(const AuditFolderOptions& options, const std::string& prefix, const CsvTable& table,
                                   AuditFolder& folder) {
  std::vector<std::string> images;
  for (const PictureFile& file : folder.files) images.push_back(file.source);
  std::vector<int64_t> rows = rows_of(options, prefix, table, images, &folder.notes);
  const auto missing = static_cast<size_t>(std::count(rows.begin(), rows.end(), kUnknown));
  if (missing == rows.size()) {
    throw FileError(options.labels, fmt::format("has no row for any image; the images are named as '{}'", images.front()));
  }
  if (missing > 0) {
    const auto first = static_cast<size_t>(std::find(rows.begin(), rows.end(), kUnknown) - rows.begin());
    const std::string effect = !table.find("label") ? "their values are unknown" : "without a label they are left out";
    folder.notes.push_back(fmt::format("{} {} no row in {}: {}; the first is {}", counted(missing, "image"), missing == 1 ? "has" : "have",
                                       options.labels, effect, images[first]));
  }
  return rows;
}

// Of these rows; an empty field of line 0 in the place of none.
ColumnFields fields_of(const CsvTable& table, const std::string& title, const std::vector<int64_t>& rows) {
  return table.fields(required_column(table, title)).selected(rows);
}

AuditColumn column_of(const CsvTable& table, const std::string& title, const std::vector<int64_t>& rows) {
  return {title, fields_of(table, title, rows).values};
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

void take_labels(const CsvTable& table, const std::vector<int64_t>& rows, AuditFolder& folder) {
  const ColumnFields written = fields_of(table, "label", rows);
  ColumnFields fields = written;
  clear_missing_words(fields);
  CategoricalValues values = categorical_values(fields);
  note_decimals(fields, values);
  std::ranges::move(fields.notes, std::back_inserter(folder.notes));
  if (std::string note = note_on_codes(fields.title, values, "class"); !note.empty()) folder.notes.push_back(std::move(note));
  const std::vector<std::string> folders = std::exchange(folder.label_names, std::vector<std::string>(folder.labels.size()));
  folder.classes = std::move(values.names);
  folder.labels = std::move(values.values);
  for (size_t i = 0; i < folder.labels.size(); ++i) {
    folder.label_names[i] = folder.labels[i] == kUnknown ? "" : folder.classes[static_cast<size_t>(folder.labels[i])];
  }
  remark_on_unlabelled(written, folder);
  std::vector<std::string> images;
  for (const PictureFile& file : folder.files) images.push_back(file.source);
  if (std::string note = note_on_folders(fields.title, folders, folder.label_names, images); !note.empty())
    folder.notes.push_back(std::move(note));
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

bool has_column(const std::vector<AuditColumn>& columns, const std::string& title) {
  return std::ranges::find(columns, title, &AuditColumn::name) != columns.end();
}

void take_columns(const AuditFolderOptions& options, const CsvTable& table, const std::vector<int64_t>& rows,
                  const std::vector<AuditColumn>& header, AuditFolder& folder) {
  std::vector<std::string> titles = options.columns;
  if (titles.empty()) {
    for (const std::string& title : table.titles()) {
      if (title != "path" && title != "label" && title != "split" && !title.empty()) titles.push_back(title);
    }
  }
  for (const std::string& title : options.group) {
    const bool in_header = !table.find(title) && has_column(header, title);
    if (!in_header && std::ranges::find(titles, title) == titles.end()) titles.push_back(title);
  }
  for (const std::string& title : titles) {
    ColumnFields fields = fields_of(table, title, rows);
    AuditColumn column{title, fields.values};
    if (const std::string reason = constant_column(column.values); !reason.empty()) {
      folder.notes.push_back(fmt::format("column {} is ignored: it {}", title, reason));
      continue;
    }
    column.unusable = unusable_column(column.values);
    if (column.unusable.empty()) {
      clear_missing_words(fields);
      categorical_values(fields, SignsAlone::kName);
      std::ranges::move(fields.notes, std::back_inserter(folder.notes));
    }
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
    const std::vector<int64_t> rows = rows_of(options, prefix, table, images);
    for (const AuditColumn& audited : folder.columns) {
      const AuditColumn column = column_of(table, audited.name, rows);
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
  PictureFile file{(fs::path(options.folder) / source).string(), source, in_class ? below.substr(below.find('/') + 1) : below};
  if (const auto* files = dynamic_cast<const ImageFiles*>(&images)) file.reading = files->reading();
  return file;
}

// Folders of splits that are not audited.
void list_other_splits(const AuditFolderOptions& options, const FolderLayout& layout, const std::string& audited, AuditFolder& folder) {
  for (const std::string& split : {layout.train, layout.valid, layout.test}) {
    if (split.empty() || split == audited) continue;
    const std::unique_ptr<const Dataset> images = open_split(options.folder, split, options.pixels);
    for (int64_t i = 0; i < images->size(); ++i) {
      folder.other_splits.push_back({picture_file(options, split + "/", *images, i), class_name(*images, i), {}});
    }
  }
}

// Fields of the headers of DICOM files that differ between the images, with those of the images of other splits behind.
std::vector<AuditColumn> header_columns(const AuditFolder& folder) {
  std::vector<AuditColumn> columns;
  const auto add = [&](const PictureFile& file) {
    const DicomFields fields = dicom_fields(file.path);
    if (columns.empty()) {
      for (const auto& [name, value] : fields) columns.push_back({name, {}});
    }
    for (size_t c = 0; c < fields.size(); ++c) columns[c].values.push_back(in_utf8(fields[c].second));
  };
  for (const PictureFile& file : folder.files) add(file);
  for (const OtherImage& other : folder.other_splits) add(other.file);
  std::erase_if(columns, [&](const AuditColumn& column) {
    return !constant_column({column.values.begin(), column.values.begin() + std::ssize(folder.files)}).empty();
  });
  return columns;
}

// Behind the columns of the CSV, which come first where both have one of a name.
void take_header(std::vector<AuditColumn> header, AuditFolder& folder) {
  for (AuditColumn& column : header) {
    if (has_column(folder.columns, column.name)) continue;
    const auto own = column.values.begin() + std::ssize(folder.files);
    for (size_t i = 0; i < folder.other_splits.size(); ++i) {
      folder.other_splits[i].column_values.push_back(own[static_cast<ptrdiff_t>(i)]);
    }
    column.values.erase(own, column.values.end());
    column.unusable = unusable_column(column.values);
    folder.columns.push_back(std::move(column));
  }
}

AuditFolder list_folder(const AuditFolderOptions& options, const std::string& prefix) {
  const std::unique_ptr<const Dataset> images =
      open_split(options.folder, prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1), options.pixels);
  AuditFolder folder{images->info().class_names, {}, {}, {}, {}, {}, {}, images->info().remarks};
  for (int64_t i = 0; i < images->size(); ++i) {
    folder.files.push_back(picture_file(options, prefix, *images, i));
    folder.labels.push_back(images->label(i));
    folder.label_names.push_back(class_name(*images, i));
  }
  return folder;
}

std::string without_extension(const fs::path& path) { return (path.parent_path() / path.stem()).generic_string(); }

// The images below the folder of masks, by path without extension.
std::map<std::string, std::string> listed_masks(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw FileError(folder, "--mask: no such folder; it has an image of the same name for each image");
  std::map<std::string, std::string> masks;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || !has_image_extension(entry.path().filename().string())) continue;
    const auto [found, is_new] = masks.try_emplace(without_extension(entry.path().lexically_relative(folder)), entry.path().string());
    if (!is_new) {
      throw FileError(entry.path().string(), fmt::format("--mask: {} has the same name; keep one of them", found->second));
    }
  }
  return masks;
}

// Masks are named as the images are, with or without the folder of the split.
void take_masks(const AuditFolderOptions& options, const std::string& prefix, AuditFolder& folder) {
  const std::map<std::string, std::string> masks = listed_masks(options.mask);
  size_t found = 0;
  std::string first;
  const auto take = [&](PictureFile& file, const std::string& before) {
    const std::string name = without_extension(file.source);
    auto mask = masks.find(name);
    if (mask == masks.end() && name.starts_with(before)) mask = masks.find(name.substr(before.size()));
    if (mask != masks.end()) file.mask = mask->second;
    return mask != masks.end();
  };
  for (PictureFile& file : folder.files) {
    if (take(file, prefix)) {
      ++found;
    } else if (first.empty()) {
      first = file.source;
    }
  }
  for (OtherImage& other : folder.other_splits) take(other.file, other.file.source.substr(0, other.file.source.find('/') + 1));
  if (found == 0) {
    throw FileError(options.mask, fmt::format("--mask: none of {} masks is named as an image; the images are named as '{}'", masks.size(),
                                              folder.files.front().source));
  }
  const size_t missing = folder.files.size() - found;
  if (missing == 0) return;
  folder.notes.push_back(fmt::format("{} {} no mask in {}: the outer 22 % count as what lies outside their object; the first is {}",
                                     counted(missing, "image"), missing == 1 ? "has" : "have", options.mask, first));
}

}  // namespace

void take_name_columns(AuditFolder& folder) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& source, const std::string& label) {
    const std::string within = '/' + source, of_class = '/' + label + '/';
    const size_t found = label.empty() ? std::string::npos : within.find(of_class);
    names.push_back(found == std::string::npos ? source : within.substr(found + of_class.size()));
  };
  for (size_t i = 0; i < folder.files.size(); ++i) add(folder.files[i].source, folder.label_names[i]);
  for (const OtherImage& other : folder.other_splits) add(other.file.source, other.label_name);
  for (NamePart& part : parts_of_names(names)) {
    if (has_column(folder.columns, part.from)) continue;
    const auto others = part.values.begin() + std::ssize(folder.files);
    for (size_t i = 0; i < folder.other_splits.size(); ++i) {
      folder.other_splits[i].column_values.push_back(others[static_cast<ptrdiff_t>(i)]);
    }
    part.values.erase(others, part.values.end());
    folder.columns.push_back({.name = std::move(part.from), .values = std::move(part.values), .of_names = true});
  }
}

AuditFolder read_audit_folder(const AuditFolderOptions& options) {
  const FolderLayout layout = find_layout(options.folder);
  const std::string split = options.split.empty() ? layout.train : options.split;
  const std::string prefix = split.empty() ? "" : split + "/";
  AuditFolder folder = list_folder(options, prefix);
  list_other_splits(options, layout, split, folder);
  if (!options.mask.empty()) take_masks(options, prefix, folder);
  std::vector<AuditColumn> header = header_columns(folder);
  if (options.labels.empty()) {
    if (!options.columns.empty()) throw usage_error("audit: --columns names columns of a CSV; give it with --labels FILE.csv");
    for (const std::string& title : options.group) {
      if (!has_column(header, title)) throw usage_error("audit: --group names columns of a CSV; give it with --labels FILE.csv");
    }
    take_header(std::move(header), folder);
    take_name_columns(folder);
    return folder;
  }
  const CsvTable table(options.labels);
  std::ranges::copy(table.notes(), std::back_inserter(folder.notes));
  const std::vector<int64_t> rows = rows_of_files(options, prefix, table, folder);
  if (table.find("label")) take_labels(table, rows, folder);
  if (table.find("split")) keep_split(column_of(table, "split", rows), options.split.empty() ? "train" : options.split, folder);
  take_columns(options, table, rows, header, folder);
  take_other_columns(options, table, folder);
  take_header(std::move(header), folder);
  take_name_columns(folder);
  return folder;
}

}  // namespace debias

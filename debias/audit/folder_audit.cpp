#include "debias/audit/folder_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/core/philox.h"
#include "debias/data/shown_names.h"
#include "debias/features/feature_table.h"

namespace debias {
namespace {

std::vector<PictureFile> chosen_files(const AuditFolder& folder, const std::vector<int64_t>& rows) {
  std::vector<PictureFile> files;
  for (const int64_t row : rows) files.push_back(folder.files[static_cast<size_t>(row)]);
  return files;
}

}  // namespace

void run_audit(const std::vector<std::string>& sample_notes, const AuditFolderOptions& options, uint64_t seed, FolderAudit& done,
               Progress& progress) {
  for (const AuditColumn& column : done.folder.columns) {
    AuditColumn own{column.name, {}, column.unusable, column.of_names};
    for (const int64_t file : done.files) own.values.push_back(column.values[static_cast<size_t>(file)]);
    done.rows.columns.push_back(std::move(own));
  }
  for (const std::string& name : options.group) {
    if (std::ranges::find(done.rows.columns, name, &AuditColumn::name) == done.rows.columns.end()) {
      throw usage_error("audit: --group {}: the column has a single value; name one with a value for each group", name);
    }
  }
  done.rows.group_columns = options.group;
  done.result = audit(done.rows, options.expected, seed, progress);
  std::vector<std::string> notes = done.folder.notes;
  notes.insert(notes.end(), sample_notes.begin(), sample_notes.end());
  notes.insert(notes.end(), done.result.notes.begin(), done.result.notes.end());
  done.result.notes = std::move(notes);
}

namespace {

// ": 120 of 140 images cannot be read: unsupported TIFF image (110, first a.tif), is empty (10, first b.tif)".
std::string unread_text(std::vector<BadFile> bad, size_t images) {
  constexpr size_t kShown = 3;
  std::ranges::sort(bad, {}, &BadFile::path);
  std::vector<std::pair<size_t, const BadFile*>> reasons;  // with the first file of each
  for (const BadFile& file : bad) {
    const auto known = std::ranges::find_if(reasons, [&](const auto& reason) { return reason.second->reason == file.reason; });
    if (known == reasons.end()) {
      reasons.emplace_back(1, &file);
    } else {
      ++known->first;
    }
  }
  std::ranges::stable_sort(reasons, std::greater(), [](const auto& reason) { return reason.first; });
  std::string text = fmt::format(": {} of {} images cannot be read", bad.size(), images);
  for (size_t i = 0; i < std::min(kShown, reasons.size()); ++i) {
    text += fmt::format("{}{} ({}, first {})", i == 0 ? ": " : ", ", reasons[i].second->reason, reasons[i].first, reasons[i].second->path);
  }
  return reasons.size() > kShown ? text + fmt::format(" and {} more", reasons.size() - kShown) : text;
}

}  // namespace

FolderAudit audit_folder(const AuditFolderOptions& options, uint64_t seed, Progress& progress) {
  FolderAudit done{read_audit_folder(options), {}, {}, {}, {}, nullptr};
  const std::string what = "audit: " + options.folder;
  const AuditSample drawn = audit_sample(what, done.folder.classes, done.folder.labels, seed);
  const std::vector<PictureFile> files = chosen_files(done.folder, drawn.rows);
  PictureTable table = read_pictures(files, thumbnail_side(files), progress);
  std::vector<int64_t> labels(done.folder.labels.size(), kUnknown);
  for (const int64_t i : table.index) {
    done.files.push_back(drawn.rows[static_cast<size_t>(i)]);
    labels[static_cast<size_t>(done.files.back())] = done.folder.labels[static_cast<size_t>(done.files.back())];
  }
  if (!table.bad.empty()) {  // enough of each class is left, or an error
    audit_sample(what + unread_text(table.bad, files.size()), done.folder.classes, labels, seed);
  }
  done.rows.classes = drawn.classes;
  done.rows.pictures = std::move(table.pictures);
  done.rows.side = table.side;
  for (const int64_t i : table.index) done.rows.labels.push_back(drawn.labels[static_cast<size_t>(i)]);
  done.bad = std::move(table.bad);
  std::ranges::sort(done.bad, {}, &BadFile::path);
  run_audit(drawn.notes, options, seed, done, progress);
  return done;
}

namespace {

constexpr int32_t kLeftOut = -1;
constexpr int64_t kClassesAtFullSize = 20;  // more share the same time

std::vector<int64_t> class_sizes(size_t classes, const std::vector<int64_t>& labels) {
  std::vector<int64_t> sizes(classes);
  for (const int64_t label : labels) {
    if (label >= 0) ++sizes[static_cast<size_t>(label)];
  }
  return sizes;
}

std::string sizes_text(const std::vector<std::string>& classes, const std::vector<int64_t>& sizes) {
  std::vector<std::string> shown;
  for (size_t c = 0; c < classes.size(); ++c) shown.push_back(fmt::format("{} {}", classes[c], sizes[c]));
  return shown_names(shown, 5);
}

// The numbers of the classes that are kept, ascending.
std::vector<size_t> kept_classes(const std::string& what, const std::vector<std::string>& classes, const std::vector<int64_t>& sizes,
                                 std::vector<std::string>& remarks) {
  std::vector<size_t> kept, small;
  for (size_t c = 0; c < classes.size(); ++c) (sizes[c] >= kLeastOfClass ? kept : small).push_back(c);
  if (kept.size() < 2) {
    throw data_error(
        "{}: an audit compares at least two classes of {} images or more, found {}", what, kLeastOfClass,
        classes.empty() ? "no classes; put the images into a folder per class, or give --labels FILE.csv" : sizes_text(classes, sizes));
  }
  std::erase_if(small, [&](size_t c) { return sizes[c] == 0; });
  std::vector<std::string> names;
  for (const size_t c : small) names.push_back(fmt::format("{} {}", classes[c], sizes[c]));
  if (!names.empty()) {
    remarks.push_back(fmt::format("{} of fewer than {} images left out: {}",
                                  names.size() == 1 ? "1 class" : fmt::format("{} classes", names.size()), kLeastOfClass,
                                  shown_names(names, 5)));
  }
  if (std::ssize(kept) <= kMostClasses) return kept;
  remarks.push_back(fmt::format("{} of {} classes are audited, the largest", kMostClasses, kept.size()));
  std::stable_sort(kept.begin(), kept.end(), [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  kept.resize(static_cast<size_t>(kMostClasses));
  std::sort(kept.begin(), kept.end());
  return kept;
}

// The largest number of rows a class may have so that all together are at most `most`.
int64_t class_limit(const std::vector<size_t>& kept, const std::vector<int64_t>& sizes, int64_t most) {
  int64_t low = 1, high = *std::max_element(sizes.begin(), sizes.end());
  while (low < high) {
    const int64_t middle = (low + high + 1) / 2;
    int64_t rows = 0;
    for (const size_t c : kept) rows += std::min(sizes[c], middle);
    (rows <= most ? low : high) = rows <= most ? middle : middle - 1;
  }
  return low;
}

}  // namespace

AuditSample audit_sample(const std::string& what, const std::vector<std::string>& classes, const std::vector<int64_t>& labels,
                         uint64_t seed) {
  AuditSample sample;
  const std::vector<int64_t> sizes = class_sizes(classes.size(), labels);
  const std::vector<size_t> kept = kept_classes(what, classes, sizes, sample.notes);
  std::vector<int32_t> number(classes.size(), kLeftOut);
  for (const size_t c : kept) {
    number[c] = static_cast<int32_t>(sample.classes.size());
    sample.classes.push_back(classes[c]);
  }
  const int64_t most = kMostRows * kClassesAtFullSize / std::max(std::ssize(kept), kClassesAtFullSize);
  const int64_t limit = class_limit(kept, sizes, std::max(most, kLeastOfClass * std::ssize(kept)));
  std::vector<int64_t> taken(kept.size());
  int64_t labelled = 0;
  for (const int64_t row : permutation(std::ssize(labels), {.domain = RngDomain::kEvaluate, .seed = seed, .step = 2})) {
    const int64_t label = labels[static_cast<size_t>(row)];
    const int32_t own = label < 0 ? kLeftOut : number[static_cast<size_t>(label)];
    if (own == kLeftOut) continue;
    ++labelled;
    if (taken[static_cast<size_t>(own)] == limit) continue;
    ++taken[static_cast<size_t>(own)];
    sample.rows.push_back(row);
    sample.labels.push_back(own);
  }
  if (std::ssize(sample.rows) < labelled) {
    sample.notes.push_back(
        fmt::format("{} of {} images are audited, drawn at random, at most {} of a class", sample.rows.size(), labelled, limit));
  }
  return sample;
}

namespace {

TableSplit audited_split(const std::string& word) {
  std::vector<std::string> known;
  for (const auto& [name, split] : EnumNames<TableSplit>::values) {
    if (name == (word.empty() ? "train" : word)) return split;
    known.emplace_back(name);
  }
  throw usage_error("audit: --split: unknown split '{}'{}", word, suggestion(word, known));
}

std::vector<std::string> texts_of(const TableColumn& column) {
  std::vector<std::string> texts;
  for (const double number : column.numbers) texts.push_back(number == number ? fmt::format("{}", number) : "");
  for (const int64_t value : column.values) texts.push_back(value == kUnknown ? "" : column.names[static_cast<size_t>(value)]);
  return texts;
}

void take_table_columns(const AuditTableOptions& options, const TableRows& rows, AuditFolder& folder) {
  std::vector<std::string> known, wanted = options.columns;
  for (const TableColumn& column : rows.columns) known.push_back(column.name);
  if (wanted.empty()) wanted = known;
  for (const std::string& name : options.group) {
    if (std::ranges::find(wanted, name) == wanted.end()) wanted.push_back(name);
  }
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(rows.columns, name, &TableColumn::name);
    if (found == rows.columns.end()) throw usage_error("audit: {} has no column '{}'{}", rows.path, name, suggestion(name, known));
    AuditColumn column{name, texts_of(*found)};
    if (const std::string reason = constant_column(column.values); !reason.empty()) {
      folder.notes.push_back(fmt::format("column {} is ignored: it {}", name, reason));
      continue;
    }
    column.unusable = unusable_column(column.values);
    folder.columns.push_back(std::move(column));
  }
}

AuditFolder folder_of(const FeatureTable& table, const AuditTableOptions& options) {
  const TableSplit split = audited_split(options.split);
  AuditFolder folder{table.rows.classes, {}, {}, {}, {}, {}, {}, table.remarks};
  for (size_t i = 0; i < table.rows.labels.size(); ++i) {
    const std::string name = table.rows.names.empty() ? std::to_string(i) : table.rows.names[i];
    folder.files.push_back({"", name, name});
    folder.label_names.push_back(table.rows.classes[static_cast<size_t>(table.rows.labels[i])]);
    folder.labels.push_back(table.rows.splits[i] == split ? table.rows.labels[i] : kUnknown);
    if (table.rows.has_splits) folder.splits.emplace_back(enum_name(table.rows.splits[i]));
  }
  take_table_columns(options, table.rows, folder);
  if (!table.rows.names.empty()) take_name_columns(folder);
  return folder;
}

}  // namespace

FolderAudit audit_table(const AuditTableOptions& options, uint64_t seed, Progress& progress) {
  FeatureTable table = open_feature_table(FeatureTableFiles{.vectors = options.embeddings, .csv = options.csv, .key = options.key},
                                          TableRowOptions{.label = options.label});
  FolderAudit done{folder_of(table, options), {}, {}, {}, {}, nullptr};
  const AuditSample drawn = audit_sample("audit: " + options.embeddings, done.folder.classes, done.folder.labels, seed);
  done.files = drawn.rows;
  done.rows.classes = drawn.classes;
  done.rows.labels = drawn.labels;
  done.rows.dimensions = table.vectors.dimensions();
  done.rows.embeddings.resize(drawn.rows.size() * static_cast<size_t>(done.rows.dimensions));
  table.vectors.read_places(drawn.rows, done.rows.embeddings.data());
  done.vectors = std::make_shared<const FeatureVectors>(std::move(table.vectors));
  AuditFolderOptions common;
  common.group = options.group;
  common.expected = options.expected;
  run_audit(drawn.notes, common, seed, done, progress);
  return done;
}

}  // namespace debias

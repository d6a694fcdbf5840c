#include "debias/audit/folder_audit.h"

#include <algorithm>
#include <utility>

#include "debias/core/error.h"

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
    AuditColumn own{column.name, {}, column.unusable};
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
  if (!table.bad.empty()) audit_sample(what, done.folder.classes, labels, seed);  // enough of each class is left, or an error
  done.rows.classes = drawn.classes;
  done.rows.pictures = std::move(table.pictures);
  done.rows.side = table.side;
  for (const int64_t i : table.index) done.rows.labels.push_back(drawn.labels[static_cast<size_t>(i)]);
  done.bad = std::move(table.bad);
  std::ranges::sort(done.bad, {}, &BadFile::path);
  run_audit(drawn.notes, options, seed, done, progress);
  return done;
}

}  // namespace debias

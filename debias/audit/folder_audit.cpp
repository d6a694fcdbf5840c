#include "debias/audit/folder_audit.h"

#include <algorithm>
#include <utility>

namespace debias {
namespace {

std::vector<PictureFile> chosen_files(const AuditFolder& folder, const std::vector<int64_t>& rows) {
  std::vector<PictureFile> files;
  for (const int64_t row : rows) files.push_back(folder.files[static_cast<size_t>(row)]);
  return files;
}

}  // namespace

FolderAudit audit_folder(const AuditFolderOptions& options, uint64_t seed, Progress& progress) {
  FolderAudit done{read_audit_folder(options), {}, {}, {}, {}, seed};
  const std::string what = "audit: " + options.folder;
  const AuditSample drawn = audit_sample(what, done.folder.classes, done.folder.labels, seed);
  PictureTable table = read_pictures(chosen_files(done.folder, drawn.rows), progress);
  std::vector<int64_t> labels(done.folder.labels.size(), kUnknown);
  for (const int64_t i : table.index) {
    done.files.push_back(drawn.rows[static_cast<size_t>(i)]);
    labels[static_cast<size_t>(done.files.back())] = done.folder.labels[static_cast<size_t>(done.files.back())];
  }
  if (!table.bad.empty()) audit_sample(what, done.folder.classes, labels, seed);  // enough of each class is left, or an error
  done.rows = {drawn.classes, {}, std::move(table.pictures), std::move(table.files), {}, {}, 0};
  for (const int64_t i : table.index) done.rows.labels.push_back(drawn.labels[static_cast<size_t>(i)]);
  for (const AuditColumn& column : done.folder.columns) {
    AuditColumn own{column.name, {}};
    for (const int64_t file : done.files) own.values.push_back(column.values[static_cast<size_t>(file)]);
    done.rows.columns.push_back(std::move(own));
  }
  done.bad = std::move(table.bad);
  std::ranges::sort(done.bad, {}, &BadFile::path);
  done.result = audit(done.rows, seed, progress);
  std::vector<std::string> remarks = done.folder.remarks;
  remarks.insert(remarks.end(), drawn.remarks.begin(), drawn.remarks.end());
  remarks.insert(remarks.end(), done.result.remarks.begin(), done.result.remarks.end());
  done.result.remarks = std::move(remarks);
  return done;
}

}  // namespace debias

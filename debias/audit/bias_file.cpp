#include "debias/audit/bias_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "debias/core/error.h"
#include "debias/data/csv_text.h"
#include "debias/data/readers/table_column.h"

namespace debias {
namespace {

const AuditFinding& assignable_finding(const AuditResult& result, const std::string& name) {
  const AuditFinding& found = finding_named(result, name, "audit: --accept");
  if (found.assignable()) return found;
  throw usage_error(
      "audit: --accept '{}': it varies with what images show, so no bias labels can be given; accept one of a file, a column, an "
      "edge, a background, a mark or a detail",
      name);
}

// A class folder may have such a name; a field of a CSV with it is unknown.
void require_class_names(const AuditFolder& folder) {
  for (const std::string& name : folder.classes) {
    if (is_missing_word(name))
      throw usage_error("audit: --bias-out: class '{}' would be read as an unknown label; rename its folder", name);
  }
}

}  // namespace

namespace {

constexpr int64_t kReadAtOnce = 500;

// Of every file, as it is now: those that were audited and others.
std::vector<std::string> measured_values(const std::vector<PictureFile>& files, const AuditFinding& finding, int side, Progress& progress) {
  std::vector<std::string> values(files.size());
  for (int64_t first = 0; first < std::ssize(files); first += kReadAtOnce) {
    const auto count = static_cast<size_t>(std::min<int64_t>(kReadAtOnce, std::ssize(files) - first));
    const PictureTable table = read_pictures(std::span(files).subspan(static_cast<size_t>(first), count), side, progress);
    for (size_t i = 0; i < table.pictures.size(); ++i)
      values[static_cast<size_t>(first + table.index[i])] = finding.value_of(table.pictures[i]);
  }
  return values;
}

std::vector<std::string> vector_values(const FeatureVectors& vectors, const AuditFinding& finding) {
  const auto dimensions = static_cast<size_t>(vectors.dimensions());
  std::vector<std::string> values;
  std::vector<int64_t> places;
  std::vector<float> rows;
  for (int64_t first = 0; first < vectors.rows(); first += kReadAtOnce) {
    places.resize(static_cast<size_t>(std::min(kReadAtOnce, vectors.rows() - first)));
    std::iota(places.begin(), places.end(), first);
    rows.resize(places.size() * dimensions);
    vectors.read_places(places, rows.data());
    for (size_t i = 0; i < places.size(); ++i)
      values.push_back(finding.value_of_vector(std::span(rows).subspan(i * dimensions, dimensions)));
  }
  return values;
}

}  // namespace

std::string bias_file(const FolderAudit& audit, const std::string& name, Progress& progress) {
  require_class_names(audit.folder);
  const AuditFinding& finding = assignable_finding(audit.result, name);
  const AuditFolder& folder = audit.folder;
  const size_t own = folder.files.size();
  std::vector<std::string> values;
  if (finding.property.kind == PropertyKind::kColumn) {
    const auto column = std::ranges::find(folder.columns, finding.property.name, [](const AuditColumn& c) { return "column " + c.name; });
    values = column->values;
    const auto position = static_cast<size_t>(column - folder.columns.begin());
    for (const OtherImage& other : folder.other_splits) values.push_back(other.column_values.empty() ? "" : other.column_values[position]);
  } else if (finding.value_of_vector) {
    values = vector_values(*audit.vectors, finding);
  } else {
    std::vector<PictureFile> files = folder.files;
    for (const OtherImage& other : folder.other_splits) files.push_back(other.file);
    values = measured_values(files, finding, audit.rows.side, progress);
  }
  const bool has_splits = !folder.splits.empty();
  std::vector<std::string> titles = {"path", "label", "bias"};
  if (has_splits) titles.emplace_back("split");
  std::string text = csv_line(titles);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool other = i >= own;
    std::vector<std::string> fields = {other ? folder.other_splits[i - own].file.source : folder.files[i].source,
                                       other ? folder.other_splits[i - own].label_name : folder.label_names[i], values[i]};
    if (has_splits) fields.push_back(other ? "" : folder.splits[i]);
    text += csv_line(fields);
  }
  return text;
}

}  // namespace debias

#include "debias/audit/bias_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/csv_text.h"
#include "debias/data/parallel_blocks.h"
#include "debias/data/readers/table_column.h"
#include "debias/data/row_groups.h"

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
    if (is_missing_value(name))
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

const std::string* column_value(const AuditFolder& folder, size_t column, size_t image) {
  if (image < folder.files.size()) return &folder.columns[column].values[image];
  const std::vector<std::string>& values = folder.other_splits[image - folder.files.size()].column_values;
  return values.empty() ? nullptr : &values[column];
}

std::vector<std::string> groups_of_columns(const FolderAudit& audit, size_t images) {
  std::vector<std::string> names(images);
  const AuditFolder& folder = audit.folder;
  for (size_t c = 0; c < folder.columns.size(); ++c) {
    const std::string& name = folder.columns[c].name;
    const bool asked = std::ranges::find(audit.rows.group_columns, name) != audit.rows.group_columns.end();
    const std::string& from = audit.result.groups.from;
    const bool restarts = from == restarting(name);
    if (!asked && (!audit.rows.group_columns.empty() || (from != "column " + name && from != name && !restarts))) continue;
    for (size_t i = 0; i < images; ++i) {
      const std::string* value = column_value(folder, c, i);
      if (value == nullptr || value->empty()) continue;
      const std::string& label = i < folder.files.size() ? folder.label_names[i] : folder.other_splits[i - folder.files.size()].label_name;
      names[i] += (names[i].empty() ? "" : ", ") + (restarts ? label + "/" : "") + *value;
    }
  }
  return names;
}

std::vector<std::string> bursts(const std::vector<PictureFile>& files) {
  std::vector<std::optional<int64_t>> times(files.size());
  std::vector<std::string> cameras(files.size());
  for_each_block(
      std::ssize(files), kReadAtOnce,
      [&](int64_t first, int64_t last) {
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
          try {
            const std::vector<uint8_t> bytes = read_file_bytes(files[i].path);
            const FileFacts facts = file_facts({files[i].name, bytes, 1, 1});
            times[i] = facts.time;
            cameras[i] = facts.fact(FileFact::kCamera);
          } catch (const FileError&) {  // a file without a time; whoever reads its pixels says what is wrong
          }
        }
      },
      [](int64_t) {});
  std::vector<std::string> names(files.size());
  if (const auto groups = groups_of_times(times, cameras)) {
    for (size_t i = 0; i < files.size(); ++i) names[i] = fmt::format("burst {}", groups->of_row[i] + 1);
  }
  return names;
}

// The name of each image's group, where columns, names or times say what belongs together: near-copies are a guess, which others make, too.
std::vector<std::string> group_names(const FolderAudit& audit) {
  std::vector<PictureFile> files = audit.folder.files;
  for (const OtherImage& other : audit.folder.other_splits) files.push_back(other.file);
  if (audit.result.groups.from == "times") return bursts(files);
  const bool guessed = audit.result.groups.from == "near-copies" || audit.result.groups.from == "none";
  return guessed ? std::vector<std::string>() : groups_of_columns(audit, files.size());
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
  const std::vector<std::string> groups = group_names(audit);
  const bool has_splits = !folder.splits.empty();
  std::vector<std::string> titles = {"path", "label", "bias"};
  if (has_splits) titles.emplace_back("split");
  if (!groups.empty()) titles.emplace_back("group");
  std::string text = csv_line(titles);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool other = i >= own;
    std::vector<std::string> fields = {other ? folder.other_splits[i - own].file.source : folder.files[i].source,
                                       other ? folder.other_splits[i - own].label_name : folder.label_names[i], values[i]};
    if (has_splits) fields.push_back(other ? "" : folder.splits[i]);
    if (!groups.empty()) fields.push_back(groups[i]);
    text += csv_line(fields);
  }
  return text;
}

}  // namespace debias

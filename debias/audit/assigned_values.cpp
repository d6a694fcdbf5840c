#include "debias/audit/assigned_values.h"

#include <algorithm>
#include <stdexcept>

#include "debias/audit/candidate_sources.h"
#include "debias/data/readers/table_column.h"

namespace debias {
namespace {

constexpr size_t kAtOnce = 10'000;

// An image outside of the audit, and where its value goes.
struct Target {
  const PictureFile* file = nullptr;
  int64_t row = 0;  // of a feature table
  std::string column_value;
  std::optional<HeldOutValue>* value = nullptr;
};

CandidateFeatures features_of(const AuditRows& rows, const Candidate& candidate, uint64_t seed) {
  for (const CandidateSource& source : candidate_sources(rows, seed)) {
    if (source.candidate.kind == candidate.kind && source.candidate.name == candidate.name) return source.features();
  }
  throw std::logic_error("audit: no candidate " + candidate.name);
}

// What the finding's features are made from, and nothing else.
AuditRows rows_for(const FolderAudit& audit, const Candidate& candidate) {
  AuditRows rows{audit.rows.classes, audit.rows.labels, {}, {}, {}, {}, 0};
  if (candidate.kind == CandidateKind::kColumn) {
    rows.columns = {*std::ranges::find(audit.rows.columns, candidate.name, &AuditColumn::name)};
  } else if (candidate.kind == CandidateKind::kFile) {
    rows.files = audit.rows.files;
  } else if (candidate.kind == CandidateKind::kDirection) {
    rows.embeddings = audit.rows.embeddings;
    rows.dimensions = audit.rows.dimensions;
  } else {
    rows.pictures = audit.rows.pictures;
  }
  return rows;
}

// Adds the rows of the targets; returns the targets that have one.
std::vector<Target> add_rows(std::span<const Target> targets, const Candidate& candidate, const FeatureVectors* vectors, AuditRows& rows,
                             Progress& progress) {
  std::vector<Target> added;
  if (candidate.kind == CandidateKind::kDirection) {
    std::vector<int64_t> places;
    for (const Target& target : targets) places.push_back(target.row);
    const size_t audited = rows.embeddings.size();
    rows.embeddings.resize(audited + places.size() * static_cast<size_t>(rows.dimensions));
    vectors->read_places(places, rows.embeddings.data() + audited);
    return {targets.begin(), targets.end()};
  }
  if (candidate.kind == CandidateKind::kColumn) {
    for (const Target& target : targets) {
      if (target.column_value.empty() || is_missing_word(target.column_value)) continue;
      rows.columns.front().values.push_back(target.column_value);
      added.push_back(target);
    }
    return added;
  }
  std::vector<PictureFile> files;
  for (const Target& target : targets) files.push_back(*target.file);
  PictureTable table = read_pictures(files, progress);
  for (const int64_t i : table.index) added.push_back(targets[static_cast<size_t>(i)]);
  if (candidate.kind == CandidateKind::kFile) {
    std::ranges::move(table.files, std::back_inserter(rows.files));
  } else {
    std::ranges::move(table.pictures, std::back_inserter(rows.pictures));
  }
  return added;
}

std::vector<Target> targets_of(const FolderAudit& audit, const Candidate& candidate, AssignedValues& values) {
  const bool of_column = candidate.kind == CandidateKind::kColumn;
  const auto column = std::ranges::find(audit.folder.columns, candidate.name, &AuditColumn::name);
  std::vector<Target> targets;
  for (size_t i = 0; i < values.files.size(); ++i) {
    if (values.files[i]) continue;
    targets.push_back({&audit.folder.files[i], static_cast<int64_t>(i), of_column ? column->values[i] : "", &values.files[i]});
  }
  for (size_t i = 0; i < values.others.size(); ++i) {
    const OtherImage& other = audit.folder.other_splits[i];
    const auto place = static_cast<size_t>(column - audit.folder.columns.begin());
    targets.push_back({&other.file, 0, of_column && !other.column_values.empty() ? other.column_values[place] : "", &values.others[i]});
  }
  return targets;
}

}  // namespace

AssignedValues assigned_values(const FolderAudit& audit, const AuditFinding& finding, Progress& progress) {
  AssignedValues values{{audit.folder.files.size(), std::nullopt}, {audit.folder.other_splits.size(), std::nullopt}};
  for (size_t row = 0; row < audit.files.size(); ++row) values.files[static_cast<size_t>(audit.files[row])] = finding.values[row];
  const std::vector<Target> targets = targets_of(audit, finding.candidate, values);
  const LabelledRows labelled{audit.rows.labels, static_cast<int32_t>(audit.rows.classes.size()), {}};
  for (size_t first = 0; first < targets.size(); first += kAtOnce) {
    AuditRows rows = rows_for(audit, finding.candidate);
    const std::span<const Target> some(targets.data() + first, std::min(kAtOnce, targets.size() - first));
    const std::vector<Target> added = add_rows(some, finding.candidate, audit.vectors.get(), rows, progress);
    if (added.empty()) continue;
    const std::vector<HeldOutValue> predicted = predicted_values(features_of(rows, finding.candidate, audit.seed), labelled);
    for (size_t i = 0; i < added.size(); ++i) *added[i].value = predicted[i];
  }
  return values;
}

}  // namespace debias

#include "debias/audit/audit.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "debias/audit/candidate_sources.h"
#include "debias/audit/excess.h"

namespace debias {
namespace {

constexpr size_t kShownCells = 3;
constexpr double kLeastConfident = 0.5;

bool is_file_column(const Candidate& candidate) { return std::holds_alternative<FileColumnKind>(candidate.property); }

// What a file says in many columns has no influence on the thresholds of its pixels.
ExcessInput excess_input(const AuditRows& rows, const LabelledRows& labelled, const std::vector<CandidateSource>& sources,
                         const PermutationTest& test, uint64_t seed) {
  const double chance = 1.0 / labelled.classes;
  ExcessInput input{.chance = chance,
                    .layout = chance,
                    .middle = chance,
                    .weakest_side = 1,
                    .patch_certainty = 0,
                    .embeddings = chance,
                    .noise = test.chance_bound([&](size_t j) { return !is_file_column(sources[j].candidate); }) - chance};
  const auto accuracy_of = [&](const VectorFeatures& features) {
    return balanced_accuracy(features, labelled.folds, labelled.labels, labelled.classes);
  };
  if (!rows.embeddings.empty()) input.embeddings = accuracy_of(direction_features(rows, seed));
  if (rows.pictures.empty()) return input;
  input.layout = accuracy_of(layout_features(rows.pictures));
  input.middle = accuracy_of(middle_features(rows.pictures));
  for (const VectorFeatures& side : side_features(rows.pictures)) input.weakest_side = std::min(input.weakest_side, accuracy_of(side));
  const auto patches = std::ranges::find(sources, CandidateKind::kPatch, [](const auto& source) { return source.candidate.kind; });
  if (patches != sources.end()) input.patch_certainty = confident_share(held_out_values(patches->features(), labelled));
  return input;
}

// Each value has one class and each class one value.
bool names_classes(const CategoryFeatures& features, const LabelledRows& rows) {
  std::set<std::pair<int32_t, int32_t>> pairs;
  std::set<int32_t> values;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    pairs.emplace(features.values[i], rows.labels[i]);
    values.insert(features.values[i]);
  }
  return std::ssize(pairs) == rows.classes && std::ssize(values) == rows.classes;
}

// Each value has one class, or each class one value, as parts of a name have that contains the class.
bool follows_class(const CategoryFeatures& features, const LabelledRows& rows) {
  std::set<std::pair<int32_t, int32_t>> pairs;
  std::set<int32_t> values;
  for (size_t i = 0; i < rows.labels.size(); ++i) {
    pairs.emplace(features.values[i], rows.labels[i]);
    values.insert(features.values[i]);
  }
  return values.size() > 1 && (std::ssize(pairs) == rows.classes || pairs.size() == values.size());
}

bool is_label_by_name(const Candidate& candidate, const CategoryFeatures& features, const LabelledRows& rows) {
  if (candidate.is(FileColumnKind::kName)) return follows_class(features, rows);
  const auto* fact = std::get_if<FileFact>(&candidate.property);
  const bool may_name = candidate.kind == CandidateKind::kColumn || (fact != nullptr && is_of_name(*fact));
  return may_name && names_classes(features, rows);
}

// Wider than the place by half of its size on each side.
bool touches(const ImagePlace& a, const ImagePlace& b) {
  const auto near = [](double first, double width, double other_first, double other_width) {
    const double margin = std::max(width, other_width) / 2;
    return first - margin < other_first + other_width && other_first - margin < first + width;
  };
  return near(a.x, a.width, b.x, b.width) && near(a.y, a.height, b.y, b.height);
}

// A shortcut with a place or values comes before those of the whole image.
bool stronger(const AuditFinding& a, const AuditFinding& b) {
  const auto rank = [](const AuditFinding& finding) {
    const bool is_broad = finding.verdict == AuditVerdict::kShortcut && finding.candidate.is_broad();
    return std::tuple(finding.verdict, is_broad, -finding.accuracy);
  };
  return rank(a) < rank(b);
}

// Keeps the best cell, further shortcuts that do not touch a kept one, and the columns of files that predict the class.
std::vector<std::pair<AuditFinding, size_t>> shown(const std::vector<std::pair<AuditFinding, size_t>>& sorted) {
  std::vector<std::pair<AuditFinding, size_t>> kept;
  std::vector<ImagePlace> places;
  for (const auto& entry : sorted) {
    const Candidate& candidate = entry.first.candidate;
    if (candidate.kind == CandidateKind::kCell) {
      const bool apart = std::ranges::none_of(places, [&](const ImagePlace& place) { return touches(place, *candidate.place); });
      const bool wanted = places.empty() || (entry.first.verdict == AuditVerdict::kShortcut && apart && places.size() < kShownCells);
      if (!wanted) continue;
      places.push_back(*candidate.place);
    }
    if (is_file_column(candidate) && entry.first.verdict == AuditVerdict::kNone) continue;
    kept.push_back(entry);
  }
  return kept;
}

void add_values(const CandidateFeatures& features, const LabelledRows& rows, AuditFinding& finding) {
  const auto* categories = std::get_if<CategoryFeatures>(&features);
  if (categories != nullptr && is_label_by_name(finding.candidate, *categories, rows)) {
    finding.verdict = std::max(finding.verdict, AuditVerdict::kPredictive);
    finding.names_classes = true;
  }
  const bool is_effect = !finding.follows_from.empty();
  if (finding.candidate.kind == CandidateKind::kGlobal || finding.verdict == AuditVerdict::kNone || is_effect) return;
  std::vector<HeldOutValue> values = held_out_values(features, rows);
  finding.confident_share = confident_share(values);
  finding.assignable = finding.confident_share >= kLeastConfident;
  if (finding.assignable) finding.values = std::move(values);
}

std::vector<CandidateKind> kinds_of(const std::vector<CandidateSource>& sources) {
  std::set<CandidateKind> kinds;
  for (const CandidateSource& source : sources) kinds.insert(source.candidate.kind);
  return {kinds.begin(), kinds.end()};
}

}  // namespace

AuditResult audit(const AuditRows& rows, uint64_t seed, Progress& progress) {
  const LabelledRows labelled{rows.labels, static_cast<int32_t>(rows.classes.size()), folds_of(std::ssize(rows.labels))};
  const std::vector<CandidateSource> sources = candidate_sources(rows, seed);
  const PermutationTest test = permutation_test(
      std::ssize(sources), [&](int64_t j) { return sources[static_cast<size_t>(j)].features(); }, labelled, seed, progress);
  std::vector<AuditFinding> findings;
  AuditResult result{std::ssize(rows.labels), rows.classes, 1.0 / labelled.classes, {}, kinds_of(sources), {}, {}};
  for (size_t j = 0; j < sources.size(); ++j) {
    findings.push_back(
        {sources[j].candidate, test.accuracy[j], result.chance, test.p_adjusted[j], AuditVerdict::kNone, "", false, false, 0, {}});
    const auto& place = sources[j].candidate.place;
    const bool fine = sources[j].candidate.kind == CandidateKind::kCell && place->width * kFineGrid == 1;
    if (fine) result.fine_cells.push_back(test.accuracy[j]);
  }
  evaluate_excess(excess_input(rows, labelled, sources, test, seed), findings);
  std::vector<std::pair<AuditFinding, size_t>> sorted;
  for (size_t j = 0; j < findings.size(); ++j) sorted.emplace_back(findings[j], j);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return stronger(a.first, b.first); });
  for (auto& [finding, j] : shown(sorted)) {
    add_values(sources[j].features(), labelled, finding);
    result.findings.push_back(std::move(finding));
  }
  std::stable_sort(result.findings.begin(), result.findings.end(), stronger);
  return result;
}

std::string note_of(const AuditFinding& finding) {
  if (finding.names_classes) return "names every class without exception: the label under another name";
  if (finding.candidate.is(FeatureProperty::kClusters) && finding.assignable) {
    return "clusters follow the class as well as a shortcut: look at the rows of another class's clusters, and do not correct by them";
  }
  return finding.follows_from.empty() ? "" : "may follow from " + finding.follows_from;
}

std::vector<std::string> not_detectable(const AuditResult& result) {
  const auto searched = [&](CandidateKind kind) { return std::ranges::find(result.searched, kind) != result.searched.end(); };
  std::vector<std::string> kinds;
  if (searched(CandidateKind::kCell)) {
    kinds = {"faint tints and casts",
             "changes of exposure, contrast or saturation that a later lossy compression covers",
             "mirrored, rotated and inverted images",
             "shapes and poses, and thin lines or small text at changing places",
             "combinations of properties that say nothing one by one",
             "marks smaller than a hundredth of the image at changing places",
             "properties of only some images of a class"};
  }
  if (searched(CandidateKind::kFile)) kinds.push_back("content of files that differs in every image, such as compressed texts");
  if (!searched(CandidateKind::kCell)) kinds.push_back("marks in images: no images were given");
  if (!searched(CandidateKind::kColumn)) kinds.push_back("where and how images were taken: no columns were given");
  if (searched(CandidateKind::kDirection))
    kinds.push_back("shortcuts that features alone show: a direction or a cluster is predictive at most");
  if (!searched(CandidateKind::kDirection)) kinds.push_back("properties of an encoder's features: no embeddings were given");
  return kinds;
}

}  // namespace debias

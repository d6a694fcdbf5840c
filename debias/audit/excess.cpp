#include "debias/audit/excess.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace debias {
namespace {

constexpr double kSignificant = 0.05;
constexpr double kLowerMiddle = 0.4;  // a mark on half of the image leaves this quantile of the cells alone

// References of each grid's cells, by the width of a cell.
std::map<double, double> grid_references(const std::vector<AuditFinding>& findings) {
  std::map<double, std::vector<double>> grids;
  for (const AuditFinding& finding : findings) {
    if (finding.candidate.kind == CandidateKind::kCell) grids[finding.candidate.place->width].push_back(finding.accuracy);
  }
  std::map<double, double> references;
  for (auto& [width, accuracies] : grids) {
    const auto at = accuracies.begin() + static_cast<ptrdiff_t>(kLowerMiddle * static_cast<double>(accuracies.size()));
    std::nth_element(accuracies.begin(), at, accuracies.end());
    references[width] = *at;
  }
  return references;
}

double best_global(const std::vector<AuditFinding>& findings) {
  double best = 0;
  for (const AuditFinding& finding : findings) {
    if (finding.candidate.kind == CandidateKind::kGlobal && !finding.candidate.is_broad()) best = std::max(best, finding.accuracy);
  }
  return best;
}

// What the size of a file in pixels and bytes tells.
double best_size(const std::vector<AuditFinding>& findings) {
  double best = 0;
  for (const AuditFinding& finding : findings) {
    const bool is_size = finding.candidate.is(FileMeasure::kPixels) || finding.candidate.is(FileMeasure::kBytesPerPixel);
    if (is_size) best = std::max(best, finding.accuracy);
  }
  return best;
}

struct Rule {
  double reference = 0.5;
  double threshold = 0.3;  // of explained()
  double least = 0;        // of accuracy - reference
  double noise = 0;        // taken off the accuracy: what a choice among many gains by chance
};

// A description that content affects is compared with colours by place; one that content affects little, with chance. In 90 clean folders
// content explains up to 0.38, 0.41 and 0.59 of the errors by tone curve, colours and step pairs. Of those by level use, shading, fringes
// and stripes, compared with chance, it explains up to 0.41, 0.48, 0.26 and 0.27, before the gain by chance is taken off.
Rule broad_rule(TextureProperty property, const ExcessInput& input, double least) {
  const auto of_layout = [&](double threshold) { return Rule{input.layout, threshold, least, 0}; };
  const auto of_chance = [&](double threshold) { return Rule{input.chance, threshold, 0, input.noise}; };
  switch (property) {
    case TextureProperty::kTones:
      return of_layout(0.35);
    case TextureProperty::kFrequencies:
      return of_layout(0.6);
    case TextureProperty::kLines:
      return of_layout(0.4);
    case TextureProperty::kToneCurve:
      return of_layout(0.45);
    case TextureProperty::kColours:
      return of_layout(0.5);
    case TextureProperty::kStepPairs:
      return of_layout(0.68);
    case TextureProperty::kLevelUse:
    case TextureProperty::kShading:
      return of_chance(0.5);
    case TextureProperty::kFringes:
    case TextureProperty::kStripes:
      break;
  }
  return of_chance(0.45);
}

// Content explains up to 0.39 of the errors in 80 clean folders, where up to 81 % of the values are certain.
double patch_threshold(double certainty) {
  constexpr double kCertain = 0.86;
  return certainty >= kCertain ? 0.25 : 0.45;
}

// The content of an image affects these little; thresholds are between clean images and planted traces of processing.
std::optional<double> processing_threshold(const AuditFinding& finding) {
  if (finding.candidate.is(GlobalProperty::kBlockiness)) return 0.22;
  if (finding.candidate.is(GlobalProperty::kSharpness)) return 0.45;
  if (finding.candidate.is(GlobalProperty::kNoise)) return 0.6;
  if (finding.candidate.is(GlobalProperty::kCastRed) || finding.candidate.is(GlobalProperty::kCastBlue)) return 0.35;
  return std::nullopt;
}

Rule rule_of(const AuditFinding& finding, const ExcessInput& input, const std::map<double, double>& grids, double global, double size) {
  const double least = std::max(0.03, input.noise / 2);
  switch (finding.candidate.kind) {
    case CandidateKind::kCell:
      return {grids.at(finding.candidate.place->width), 0.25, 0, input.noise};
    case CandidateKind::kPatch:
      return {input.layout, patch_threshold(input.patch_certainty), least, 0};
    case CandidateKind::kBorder:
      return {input.middle, 0.25, least, 0};
    case CandidateKind::kGlobal:
      if (finding.candidate.is_broad()) return broad_rule(std::get<TextureProperty>(finding.candidate.property), input, least);
      if (const auto threshold = processing_threshold(finding)) return {input.chance, *threshold, 0, input.noise};
      return {input.layout, 0.25, least, 0};
    case CandidateKind::kFile:
      if (finding.candidate.is(FileMeasure::kBytesPerPixel)) return {std::max(input.layout, global), 0.25, least, 0};
      if (finding.candidate.is(FileColumnKind::kSize)) return {std::max({input.layout, global, size}), 0.25, least, 0};
      break;
    case CandidateKind::kDirection:
      return {input.embeddings, 0.25, least, 0};
    case CandidateKind::kColumn:
      break;
  }
  return {input.chance, 0.3, least, 0};
}

AuditVerdict verdict_of(const AuditFinding& finding, const ExcessInput& input, const Rule& rule) {
  if (finding.p_adjusted > kSignificant) return AuditVerdict::kNone;
  double accuracy = finding.accuracy - rule.noise;
  if (finding.candidate.kind == CandidateKind::kBorder) accuracy = std::min(accuracy, input.weakest_side);
  const bool exceeds = accuracy - rule.reference >= rule.least && explained(accuracy, rule.reference) >= rule.threshold;
  return exceeds ? AuditVerdict::kShortcut : AuditVerdict::kPredictive;
}

const AuditFinding* best_shortcut(const std::vector<AuditFinding>& findings, CandidateKind kind) {
  const AuditFinding* best = nullptr;
  for (const AuditFinding& finding : findings) {
    if (finding.candidate.kind != kind || finding.candidate.is_broad() || finding.verdict != AuditVerdict::kShortcut) continue;
    if (best == nullptr || finding.accuracy > best->accuracy) best = &finding;
  }
  return best;
}

// Shortcuts among the `effects` that the best one of kind `cause` shows already: their accuracy is at most its own plus `margin`.
void attribute(std::vector<AuditFinding>& findings, CandidateKind cause, const std::function<bool(const Candidate&)>& effects,
               double margin) {
  const AuditFinding* best = best_shortcut(findings, cause);
  if (best == nullptr) return;
  const std::string name = best->candidate.name;
  const double most = best->accuracy + margin;
  for (AuditFinding& finding : findings) {
    if (!effects(finding.candidate) || finding.verdict != AuditVerdict::kShortcut || finding.accuracy > most) continue;
    finding.verdict = AuditVerdict::kPredictive;
    finding.follows_from = name;
  }
}

auto of_kind(CandidateKind kind) {
  return [kind](const Candidate& candidate) { return candidate.kind == kind && !candidate.is_broad(); };
}

// A frame is seen in its cells, either in the words of patches, and all of them in the image as a whole; other sizes and encoders change
// gradients and sharpness. The broader candidate has fewer values to estimate, and may be a little the better one.
void attribute_effects(std::vector<AuditFinding>& findings) {
  using enum CandidateKind;
  constexpr double kMargin = 0.01, kMarginOfBroader = 0.06;
  for (const CandidateKind effect : {kCell, kPatch, kGlobal}) attribute(findings, kBorder, of_kind(effect), kMarginOfBroader);
  for (const CandidateKind effect : {kPatch, kGlobal}) attribute(findings, kCell, of_kind(effect), kMargin);
  attribute(findings, kFile, of_kind(kGlobal), kMarginOfBroader);
  attribute(findings, kGlobal, of_kind(kPatch), kMarginOfBroader);
  attribute(findings, kPatch, of_kind(kGlobal), kMargin);
  for (const CandidateKind cause : {kBorder, kCell, kPatch, kGlobal, kFile}) {
    attribute(
        findings, cause, [](const Candidate& candidate) { return candidate.is_broad(); }, kMarginOfBroader);
  }
}

}  // namespace

double explained(double accuracy, double reference) { return (accuracy - reference) / std::max(1e-9, 1 - reference); }

void evaluate_excess(const ExcessInput& input, std::vector<AuditFinding>& findings) {
  const std::map<double, double> grids = grid_references(findings);
  const double global = best_global(findings), size = best_size(findings);
  for (AuditFinding& finding : findings) {
    const Rule rule = rule_of(finding, input, grids, global, size);
    finding.reference = rule.reference;
    finding.verdict = verdict_of(finding, input, rule);
  }
  attribute_effects(findings);
}

}  // namespace debias

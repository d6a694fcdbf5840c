// Finds properties of images, files or columns that predict the class, and separates shortcuts from legitimate signs.
//
// Every candidate gets the cross-validated balanced accuracy of a closed-form classifier (balanced_accuracy.h), a p-value adjusted over all
// candidates (permutation_test.h), and as reference the accuracy that a legitimate sign reaches:
//   cell     the lower middle (quantile 0.4) of the cells of the same grid
//   patch    mean colours by place, on a 4 x 4 grid
//   border   the middle of the image; each side of the border must exceed it
//   global   mean colours by place; chance for what content affects little: sharpness, noise, blockiness, casts, level use, fringes,
//            stripes and shading
//   file     chance; for bytes per pixel the better of the best global property and mean colours by place
//   column   chance
//   direction  the first principal components of the features together; a single one, and clusters of them, are at most predictive
// A candidate is a *shortcut* if p <= 0.05 and it exceeds the reference (excess.h). It is *predictive* if only p <= 0.05 (it may be
// legitimate), and *none* otherwise. A file name or column that names every class without exception is the label under another name, and
// counts as predictive.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/audit/candidate.h"
#include "debias/audit/file_facts.h"
#include "debias/audit/permutation_test.h"
#include "debias/audit/picture_features.h"
#include "debias/core/progress.h"

namespace debias {

struct AuditColumn {
  std::string name;
  std::vector<std::string> values;  // one per row; empty: unknown
};

// One row per image, shuffled without regard to labels.
struct AuditRows {
  std::vector<std::string> classes;
  std::vector<int32_t> labels;
  std::vector<PictureFeatures> pictures;  // empty without images
  std::vector<FileFacts> files;           // empty without images
  std::vector<AuditColumn> columns;
  std::vector<float> embeddings;  // [rows, dimensions]; empty without features
  int64_t dimensions = 0;
};

enum class AuditVerdict { kShortcut, kPredictive, kNone };
template <>
struct EnumNames<AuditVerdict> {
  static constexpr std::array<std::pair<std::string_view, AuditVerdict>, 3> values = {
      {{"shortcut", AuditVerdict::kShortcut}, {"predictive", AuditVerdict::kPredictive}, {"none", AuditVerdict::kNone}}};
};

struct AuditFinding {
  Candidate candidate;
  double accuracy = 0, reference = 0, p_adjusted = 1;
  AuditVerdict verdict = AuditVerdict::kNone;
  std::string follows_from;          // the shortcut that explains this one; the verdict is then kPredictive
  bool names_classes = false;        // the label under another name; the verdict is then kPredictive
  bool assignable = false;           // it can give bias labels: not a global property, and certain for at least half of the images
  double confident_share = 0;        // share of images whose value is certain (permutation_test.h); 0 for global properties
  std::vector<HeldOutValue> values;  // one per row; empty unless assignable
};

struct AuditResult {
  int64_t images = 0;
  std::vector<std::string> classes;
  double chance = 0.5;
  // Shortcuts first (those of the whole image last among them), then by accuracy. Of cells the best that do not touch.
  std::vector<AuditFinding> findings;
  std::vector<CandidateKind> searched;  // kinds that had candidates
  std::vector<double> fine_cells;       // accuracy of each cell of the 16 x 16 grid, by row; empty without images
  std::vector<std::string> remarks;
};

// The reason why the verdict differs from that of the numbers alone, or empty.
std::string note_of(const AuditFinding& finding);

// Shortcuts that this audit cannot detect, in words: of the kinds that were searched, and kinds that were not searched.
std::vector<std::string> not_detectable(const AuditResult& result);

// Requires at least two classes, each with rows outside every fold; folder_audit.h ensures this.
AuditResult audit(const AuditRows& rows, uint64_t seed, Progress& progress = Progress::silent());

}  // namespace debias

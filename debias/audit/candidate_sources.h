// The candidates of a table of images, files and columns.
#pragma once

#include <functional>
#include <vector>

#include "debias/audit/audit.h"

namespace debias {

struct CandidateSource {
  Candidate candidate;
  std::function<CandidateFeatures()> features;  // made on request, because all of them would not fit into memory
};

// Cells of grids 4, 8 and 16 (those of one grid in a row, by row), patches, border, global properties, facts, measures and columns
// of files, columns, principal components of features and clusters of them. Candidates with a single value are left out. `rows` must outlive the
// result.
std::vector<CandidateSource> candidate_sources(const AuditRows& rows, uint64_t seed);

// The features of the references: the mean colours of a 4 x 4 grid, the middle of the image, each side of the border, and the features.
VectorFeatures layout_features(const std::vector<PictureFeatures>& pictures);
VectorFeatures middle_features(const std::vector<PictureFeatures>& pictures);
std::vector<VectorFeatures> side_features(const std::vector<PictureFeatures>& pictures);
VectorFeatures direction_features(const AuditRows& rows, uint64_t seed);  // the principal components together

}  // namespace debias

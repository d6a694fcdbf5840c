// Norms and means of the vectors that a layer was fitted to, so that vectors of another kind are noticed: not normalised, of another layer,
// or of another preprocessing.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "debias/features/feature_vectors.h"

namespace debias {

struct VectorRange {
  std::array<double, 3> norm{}, mean{};  // quantiles of 1, 50 and 99 % over rows: of the Euclidean norm, and of the mean of a row's values
};

// Of the rows `places`, at least one.
VectorRange vector_range(const FeatureVectors& vectors, const std::vector<int64_t>& places);

// "norm_quantiles" and "mean_quantiles", as the metadata of layer.safetensors have them.
std::map<std::string, std::string> to_metadata(const VectorRange& range);
std::optional<VectorRange> range_from(const std::map<std::string, std::string>& metadata);

// A line for norms and one for means, if more than a tenth of the vectors lie outside of the 1 and 99 % quantiles of `trained`, with a slack
// of a tenth of their distance.
std::vector<std::string> range_notes(const VectorRange& trained, const FeatureVectors& vectors);

}  // namespace debias

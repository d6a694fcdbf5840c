// A property of images that may predict the class, with its value for every audited image.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "debias/audit/file_facts.h"
#include "debias/audit/picture_features.h"
#include "debias/core/options.h"

namespace debias {

enum class CandidateKind { kCell, kPatch, kBorder, kGlobal, kFile, kColumn, kDirection };
template <>
struct EnumNames<CandidateKind> {
  static constexpr std::array<std::pair<std::string_view, CandidateKind>, 7> values = {{{"cell", CandidateKind::kCell},
                                                                                        {"patch", CandidateKind::kPatch},
                                                                                        {"border", CandidateKind::kBorder},
                                                                                        {"global", CandidateKind::kGlobal},
                                                                                        {"file", CandidateKind::kFile},
                                                                                        {"column", CandidateKind::kColumn},
                                                                                        {"direction", CandidateKind::kDirection}}};
};

// A rectangle of the image, in fractions of its width and height.
struct ImagePlace {
  double x = 0, y = 0, width = 1, height = 1;
};

// D real values per image, whitened (whitening.h): by row for sums, by dimension for scores.
struct VectorFeatures {
  int64_t rows = 0, dimensions = 0;
  std::vector<float> by_row;        // [rows, D]
  std::vector<float> by_dimension;  // [D, rows]
};

// One of `count` values per image.
struct CategoryFeatures {
  std::vector<int32_t> values;  // 0 to count - 1
  int32_t count = 0;
};

using CandidateFeatures = std::variant<VectorFeatures, CategoryFeatures>;

enum class FeatureProperty { kComponent, kClusters };

// What a candidate of kind global, file or direction measures; nothing for other kinds.
using CandidateProperty =
    std::variant<std::monostate, GlobalProperty, TextureProperty, FileFact, FileMeasure, FileColumnKind, FeatureProperty>;

struct Candidate {
  std::string name;
  CandidateKind kind = CandidateKind::kCell;
  std::optional<ImagePlace> place;
  CandidateProperty property;

  bool is(CandidateProperty other) const { return property == other; }
  // Many values of the whole image, which show most marks of other kinds too.
  bool is_broad() const { return std::holds_alternative<TextureProperty>(property); }
};

}  // namespace debias

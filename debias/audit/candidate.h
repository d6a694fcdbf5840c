// A property of images that may predict the class, with its value for every audited image.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

// D real values per image, whitened (balanced_accuracy.h): by row for sums, by dimension for scores.
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
using CandidateProperty = std::variant<std::monostate, GlobalProperty, TextureProperty, FileFact, FileMeasure, FeatureProperty>;

struct Candidate {
  std::string name;
  CandidateKind kind = CandidateKind::kCell;
  std::optional<ImagePlace> place;
  CandidateProperty property;

  bool is(CandidateProperty other) const { return property == other; }
  // Many values of the whole image, which show most marks of other kinds too.
  bool is_broad() const { return std::holds_alternative<TextureProperty>(property); }
};

// Converts texts and numbers to categories, so that one classifier handles names, sizes and measurements.

// Each text with at least kLeastRows rows is a category; all others form one more. The empty text is treated like any other.
constexpr int64_t kLeastRows = 5;
CategoryFeatures text_categories(const std::vector<std::string>& texts);

// Up to 32 distinct numbers are categories, as for texts. More are divided into 16 quantile ranges, or fewer if a range
// would have less than 10 rows. NaN is a category of its own. Equal numbers share a category.
CategoryFeatures number_categories(std::span<const double> numbers);

// Converts columns of a CSV to candidates.

// Numbers if every known value is one, texts otherwise. Integers that occur kLeastRows times on average are texts
// too, because they number sites or devices. An empty value and a word for a missing one (is_missing_word) are unknown.
CategoryFeatures column_categories(const std::vector<std::string>& values);

// Why a column cannot be a candidate: it has a single value, or nearly every row has its own; empty if it can.
std::string unusable_column(const std::vector<std::string>& values);

}  // namespace debias

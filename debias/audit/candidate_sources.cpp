#include "debias/audit/candidate_sources.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <set>
#include <span>

#include "debias/audit/balanced_accuracy.h"
#include "debias/audit/candidate.h"
#include "debias/audit/clusters.h"
#include "debias/core/philox.h"

namespace debias {
namespace {

struct CellRange {
  int x, y, width, height;
};

// The colours of several ranges of cells, one after the other.
VectorFeatures colour_features(const std::vector<PictureFeatures>& pictures, std::span<const CellRange> ranges,
                               int values = kColourValues) {
  std::vector<float> rows;
  rows.reserve(pictures.size() * ranges.size() * static_cast<size_t>(values));
  for (const PictureFeatures& picture : pictures) {
    for (const CellRange& r : ranges) {
      const CellColour colour = picture.colour(r.x, r.y, r.width, r.height);
      rows.insert(rows.end(), colour.begin(), colour.begin() + values);
    }
  }
  return whitened(rows, std::ssize(pictures), std::ssize(ranges) * values);
}

ImagePlace place_of(const CellRange& r) {
  constexpr double kCell = 1.0 / kFineGrid;
  return {r.x * kCell, r.y * kCell, r.width * kCell, r.height * kCell};
}

void add_cells(const std::vector<PictureFeatures>& pictures, std::vector<CandidateSource>& sources) {
  for (const int grid : {4, 8, 16}) {
    const int side = kFineGrid / grid;
    for (int y = 0; y < grid; ++y) {
      for (int x = 0; x < grid; ++x) {
        const CellRange range{x * side, y * side, side, side};
        sources.push_back({{fmt::format("cell {}x{} ({},{})", grid, grid, x, y), CandidateKind::kCell, place_of(range), {}},
                           [&pictures, range] { return colour_features(pictures, std::array{range}); }});
      }
    }
  }
}

void add_patches(const std::vector<PictureFeatures>& pictures, uint64_t seed, std::vector<CandidateSource>& sources) {
  sources.push_back({{"patch words", CandidateKind::kPatch, std::nullopt, {}}, [&pictures, seed] {
                       const PatchWords words(pictures, seed);
                       std::vector<float> rows;
                       for (const PictureFeatures& picture : pictures) {
                         const std::vector<float> histogram = words.histogram(picture);
                         rows.insert(rows.end(), histogram.begin(), histogram.end());
                       }
                       return whitened(rows, std::ssize(pictures), kWords);
                     }});
}

constexpr int kEnd = kFineGrid - 1;
constexpr std::array<CellRange, 4> kSides = {
    {{0, 0, kFineGrid, 1}, {0, kEnd, kFineGrid, 1}, {0, 0, 1, kFineGrid}, {kEnd, 0, 1, kFineGrid}}};

void add_border(const std::vector<PictureFeatures>& pictures, std::vector<CandidateSource>& sources) {
  sources.push_back({{"border", CandidateKind::kBorder, ImagePlace{}, {}}, [&pictures] { return colour_features(pictures, kSides); }});
}

void add_global(const std::vector<PictureFeatures>& pictures, std::vector<CandidateSource>& sources) {
  for (size_t g = 0; g < kGlobalProperties; ++g) {
    const auto property = static_cast<GlobalProperty>(g);
    sources.push_back({{std::string(name_of(property)), CandidateKind::kGlobal, std::nullopt, property}, [&pictures, g] {
                         std::vector<double> values;
                         for (const PictureFeatures& picture : pictures) values.push_back(picture.global[g]);
                         return number_categories(values);
                       }});
  }
}

void add_textures(const std::vector<PictureFeatures>& pictures, std::vector<CandidateSource>& sources) {
  for (int t = 0; t < kTextureProperties; ++t) {
    const auto property = static_cast<TextureProperty>(t);
    sources.push_back({{std::string(name_of(property)), CandidateKind::kGlobal, std::nullopt, property}, [&pictures, property] {
                         std::vector<float> rows;
                         for (const PictureFeatures& picture : pictures) {
                           const auto values = picture.texture.values(property);
                           rows.insert(rows.end(), values.begin(), values.end());
                         }
                         return whitened(rows, std::ssize(pictures), std::ssize(pictures.front().texture.values(property)));
                       }});
  }
}

void add_files(const std::vector<FileFacts>& files, std::vector<CandidateSource>& sources) {
  for (size_t f = 0; f < kFileFacts; ++f) {
    std::vector<std::string> texts;
    for (const FileFacts& file : files) texts.push_back(file.facts[f]);
    if (std::set<std::string_view>(texts.begin(), texts.end()).size() < 2) continue;
    const auto fact = static_cast<FileFact>(f);
    sources.push_back({{std::string(name_of(fact)), CandidateKind::kFile, std::nullopt, fact},
                       [texts = std::move(texts)] { return text_categories(texts); }});
  }
  for (size_t m = 0; m < kFileMeasures; ++m) {
    std::vector<double> numbers;
    for (const FileFacts& file : files) numbers.push_back(file.measures[m]);
    if (std::set<double>(numbers.begin(), numbers.end()).size() < 2) continue;
    const auto measure = static_cast<FileMeasure>(m);
    sources.push_back({{std::string(name_of(measure)), CandidateKind::kFile, std::nullopt, measure},
                       [numbers = std::move(numbers)] { return number_categories(numbers); }});
  }
}

void add_columns(const std::vector<AuditColumn>& columns, std::vector<CandidateSource>& sources) {
  for (const AuditColumn& column : columns) {
    sources.push_back({{column.name, CandidateKind::kColumn, std::nullopt, {}}, [&column] { return column_categories(column.values); }});
  }
}

// `projections` [rows, dimensions].
CategoryFeatures cluster_categories(const std::vector<float>& projections, int64_t rows, int64_t classes, uint64_t seed) {
  constexpr int64_t kClustersOfClass = 8, kMostClusters = 64;
  constexpr int kClusterRounds = 30;
  const size_t dimensions = projections.size() / static_cast<size_t>(rows);
  std::vector<SmallPoint<kDirections>> points(static_cast<size_t>(rows), SmallPoint<kDirections>{});
  for (size_t i = 0; i < projections.size(); ++i) points[i / dimensions][i % dimensions] = projections[i];
  Random random({.domain = RngDomain::kEvaluate, .seed = seed, .step = 4});
  const auto centres = cluster_centres(points, std::min(kClustersOfClass * classes, kMostClusters), kClusterRounds, random);
  CategoryFeatures clusters{{}, static_cast<int32_t>(centres.size())};
  for (const auto& point : points) clusters.values.push_back(static_cast<int32_t>(nearest_point(centres, point)));
  return clusters;
}

void add_directions(const AuditRows& rows, uint64_t seed, std::vector<CandidateSource>& sources) {
  const int64_t n = std::ssize(rows.embeddings) / rows.dimensions;
  const std::vector<float> projections = principal_projections(rows.embeddings, n, rows.dimensions, seed);
  const size_t count = projections.size() / static_cast<size_t>(n);
  for (size_t d = 0; d < count; ++d) {
    std::vector<double> values;
    for (size_t i = d; i < projections.size(); i += count) values.push_back(projections[i]);
    sources.push_back({{fmt::format("direction {}", d + 1), CandidateKind::kDirection, std::nullopt, FeatureProperty::kComponent},
                       [values = std::move(values)] { return number_categories(values); }});
  }
  sources.push_back(
      {{"clusters", CandidateKind::kDirection, std::nullopt, FeatureProperty::kClusters},
       [projections, n, classes = std::ssize(rows.classes), seed] { return cluster_categories(projections, n, classes, seed); }});
}

}  // namespace

std::vector<CandidateSource> candidate_sources(const AuditRows& rows, uint64_t seed) {
  std::vector<CandidateSource> sources;
  if (!rows.pictures.empty()) {
    add_patches(rows.pictures, seed, sources);  // the longest first
    add_cells(rows.pictures, sources);
    add_border(rows.pictures, sources);
    add_global(rows.pictures, sources);
    add_textures(rows.pictures, sources);
  }
  add_files(rows.files, sources);
  add_columns(rows.columns, sources);
  if (!rows.embeddings.empty()) add_directions(rows, seed, sources);
  return sources;
}

VectorFeatures layout_features(const std::vector<PictureFeatures>& pictures) {
  constexpr int kSide = kFineGrid / 4, kMeans = 3;
  std::vector<CellRange> ranges;
  for (int y = 0; y < kFineGrid; y += kSide) {
    for (int x = 0; x < kFineGrid; x += kSide) ranges.push_back({x, y, kSide, kSide});
  }
  return colour_features(pictures, ranges, kMeans);
}

VectorFeatures middle_features(const std::vector<PictureFeatures>& pictures) {
  constexpr int kSide = kFineGrid / 4;
  constexpr std::array<CellRange, 4> kQuarters = {{{kSide, kSide, kSide, kSide},
                                                   {2 * kSide, kSide, kSide, kSide},
                                                   {kSide, 2 * kSide, kSide, kSide},
                                                   {2 * kSide, 2 * kSide, kSide, kSide}}};
  return colour_features(pictures, kQuarters);
}

std::vector<VectorFeatures> side_features(const std::vector<PictureFeatures>& pictures) {
  std::vector<VectorFeatures> sides;
  for (const CellRange& side : kSides) sides.push_back(colour_features(pictures, std::span(&side, 1)));
  return sides;
}

VectorFeatures direction_features(const AuditRows& rows, uint64_t seed) {
  const auto n = std::ssize(rows.labels);
  const std::vector<float> projections = principal_projections(rows.embeddings, n, rows.dimensions, seed);
  return whitened(projections, n, std::ssize(projections) / n);
}

}  // namespace debias

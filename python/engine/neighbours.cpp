// The nearest rows by cosine.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "debias/evaluate/neighbours/nearest_rows.h"
#include "debias/evaluate/neighbours/parallel_pieces.h"
#include "python/engine/engine.h"

namespace debias::engine {
namespace {

constexpr int64_t kRowsOfAPiece = 256;
constexpr float kLeastNorm = 1e-12f;

float inverse_norm(const float* row, int64_t dim) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t d = 0; d < dim; ++d) sum += static_cast<double>(row[d]) * row[d];
  return 1 / std::max(static_cast<float>(std::sqrt(sum)), kLeastNorm);
}

UnitRows scaled_rows(const float* values, int64_t count, int64_t dim) {
  UnitRows unit{values, dim, std::vector<int64_t>(static_cast<size_t>(count)), std::vector<float>(static_cast<size_t>(count))};
  std::iota(unit.rows.begin(), unit.rows.end(), 0);
  each_piece((count + kRowsOfAPiece - 1) / kRowsOfAPiece, [&](int64_t piece) {
    const int64_t end = std::min(count, (piece + 1) * kRowsOfAPiece);
    for (int64_t i = piece * kRowsOfAPiece; i < end; ++i) unit.scale[i] = inverse_norm(values + i * dim, dim);
  });
  return unit;
}

}  // namespace
}  // namespace debias::engine

// Finds for each of `queries` [query_rows, dim] the k rows of `gallery` [gallery_rows, dim] of highest cosine, the nearest first; of equal
// cosines the lower row is nearer. Rows are finite and of any norm; a zero row has cosine 0 with every other. 1 <= k <= gallery_rows.
// cosines and rows: [query_rows, k].
DEBIAS_C_INTERFACE int debias_nearest_rows(const float* gallery, int64_t gallery_rows, const float* queries, int64_t query_rows,
                                           int64_t dim, int64_t k, float* cosines, int64_t* rows) {
  using namespace debias;
  return engine::guarded([&] {
    if (k < 1 || k > gallery_rows) {
      throw std::invalid_argument("nearest_rows: k is " + std::to_string(k) + ", the gallery has " + std::to_string(gallery_rows) +
                                  " rows");
    }
    const UnitRows known = engine::scaled_rows(gallery, gallery_rows, dim), asked = engine::scaled_rows(queries, query_rows, dim);
    nearest_rows(known, asked, k, {}, [&](int64_t query, std::vector<Neighbour> nearest) {
      std::sort(nearest.begin(), nearest.end(), nearer);
      for (int64_t i = 0; i < k; ++i) {
        cosines[query * k + i] = nearest[i].cosine;
        rows[query * k + i] = nearest[i].row;
      }
    });
  });
}

// The k rows of highest cosine with each query, without a table of all cosines.
//
// exact: products of a block of queries with a block of rows in float32, and a heap of k per query.
//
// screened: every row is first compared in 8-bit integers, several times as fast; what may be among the k nearest is compared again in
// float32. Rows are centred (which changes no order) and rounded by a scale of their own to 8 bits, and so are queries (with AVX-512 VNNI;
// with AVX2 alone to 6 and 7 bits). The standard deviation of a screened cosine's error follows from the rounding errors' norms, as for
// errors in random directions:
//   sigma = sqrt(|q - q'|^2 max|h|^2 + |q'|^2 max|h - h'|^2) / sqrt(D),   h a centred row, ' rounded,
// and rows within 3 sigma of the k-th best screened cosine are kept: of rows just at the edge of the k nearest about 1 in 700 is missed,
// and a row clearly inside never. The cosines that come back are those of float32. Needs AVX2; memory: D bytes per row, and per query of a
// tile (480) its candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace debias {

struct Neighbour {
  float cosine;
  int64_t row;
};
// Equal cosines: the lower row is nearer.
inline bool nearer(const Neighbour& a, const Neighbour& b) { return a.cosine > b.cosine || (a.cosine == b.cosine && a.row < b.row); }

// Rows of a matrix [*, dim] with the inverse of their norms (0 for a zero row).
struct UnitRows {
  const float* values = nullptr;
  int64_t dim = 0;
  std::vector<int64_t> rows;  // which rows of the matrix, ascending
  std::vector<float> scale;   // 1 / norm of each of `rows`

  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  const float* row(int64_t i) const { return values + rows[i] * dim; }
};

enum class KnnSearch { kAuto, kExact, kScreened };

struct KnnBlock {
  int64_t queries = 256;
  int64_t gallery = 32768;
  KnnSearch search = KnnSearch::kAuto;  // screened where that pays: AVX2, many products, k far below the gallery's size, rows unlike enough
};

// Called once for each query, in no order and from several threads: the k nearest, in no order; Neighbour::row counts within gallery.rows.
using TakeNeighbours = std::function<void(int64_t query, const std::vector<Neighbour>& nearest)>;

// 1 <= k <= gallery.count(). Values must be finite. Works on the threads of OpenMP, and within a parallel region on one; the neighbours are
// the same for any number. What `take` throws is thrown here.
void nearest_rows(const UnitRows& gallery, const UnitRows& queries, int64_t k, const KnnBlock& block, const TakeNeighbours& take);

bool screening_supported();  // by this processor

}  // namespace debias

#include "debias/evaluate/nearest_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "debias/evaluate/screened_rows.h"

namespace debias {
namespace {

constexpr double kManyProducts = 1e8;  // below, rounding the gallery costs more than it saves

// A heap whose front is the farthest of the k nearest so far. Rows come in ascending order, so an equal cosine never displaces.
void offer(std::vector<Neighbour>& nearest, int64_t k, const float* cosines, int64_t count, int64_t first_row) {
  for (int64_t j = 0; j < count; ++j) {
    if (static_cast<int64_t>(nearest.size()) == k) {
      if (!(cosines[j] > nearest.front().cosine)) continue;
      std::pop_heap(nearest.begin(), nearest.end(), nearer);
      nearest.pop_back();
    }
    nearest.push_back({cosines[j], first_row + j});
    std::push_heap(nearest.begin(), nearest.end(), nearer);
  }
}

// Unit rows begin..begin+count as a matrix of their own.
at::Tensor unit_matrix(const UnitRows& rows, int64_t begin, int64_t count) {
  at::Tensor matrix = at::empty({count, rows.dim}, at::kFloat);
  float* out = matrix.mutable_data_ptr<float>();
  for (int64_t i = 0; i < count; ++i) {
    const float* row = rows.row(begin + i);
    const float scale = rows.scale[begin + i];
    for (int64_t d = 0; d < rows.dim; ++d) *out++ = row[d] * scale;
  }
  return matrix;
}

void exact_nearest(const UnitRows& gallery, const UnitRows& queries, int64_t k, const KnnBlock& block, const TakeNeighbours& take) {
  const int64_t N = gallery.count(), Q = queries.count();
  const bool whole = N <= block.gallery;
  const at::Tensor all = whole ? unit_matrix(gallery, 0, N) : at::Tensor();
  for (int64_t begin = 0; begin < Q; begin += block.queries) {
    const int64_t count = std::min(block.queries, Q - begin);
    const at::Tensor rows = unit_matrix(queries, begin, count);
    std::vector<std::vector<Neighbour>> nearest(static_cast<size_t>(count));
    for (int64_t first = 0; first < N; first += block.gallery) {
      const int64_t width = std::min(block.gallery, N - first);
      const at::Tensor cosines = at::mm(rows, (whole ? all : unit_matrix(gallery, first, width)).t()).contiguous();
      const float* cosine = cosines.const_data_ptr<float>();
      at::parallel_for(0, count, 1, [&](int64_t low, int64_t high) {
        for (int64_t i = low; i < high; ++i) offer(nearest[i], k, cosine + i * width, width, first);
      });
    }
    at::parallel_for(0, count, 1, [&](int64_t low, int64_t high) {
      for (int64_t i = low; i < high; ++i) {
        take(begin + i, nearest[i]);
      }
    });
  }
}

}  // namespace

bool screening_supported() { return ScreenedRows::supported(); }

void nearest_rows(const UnitRows& gallery, const UnitRows& queries, int64_t k, const KnnBlock& block, const TakeNeighbours& take) {
  const double products = static_cast<double>(gallery.count()) * static_cast<double>(queries.count()) * static_cast<double>(gallery.dim);
  const bool pays = products >= kManyProducts && queries.count() >= 64 && k <= gallery.count() / 16 && gallery.dim <= ScreenedRows::kMaxDim;
  const bool screens = block.search == KnnSearch::kScreened || (block.search == KnnSearch::kAuto && pays);
  if (!screens || !screening_supported()) return exact_nearest(gallery, queries, k, block, take);
  const ScreenedRows screened(gallery);
  // Many queries share what is read of the gallery, and every thread wants several tiles.
  const int64_t tile_size = std::clamp<int64_t>(queries.count() / (4 * at::get_num_threads()), 48, ScreenedRows::kQueries);
  const auto search = [&](int64_t tile) {
    return screened.nearest(queries, tile * tile_size, std::min(tile_size, queries.count() - tile * tile_size), k, take);
  };
  const int64_t compared = search(0);
  // Rows so alike that rounding cannot tell them apart.
  if (block.search == KnnSearch::kAuto && compared > tile_size * (k + gallery.count() / 32)) {
    return exact_nearest(gallery, queries, k, block, take);
  }
  at::parallel_for(1, (queries.count() + tile_size - 1) / tile_size, 1, [&](int64_t low, int64_t high) {
    for (int64_t tile = low; tile < high; ++tile) search(tile);
  });
}

}  // namespace debias

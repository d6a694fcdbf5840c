#include "debias/evaluate/neighbours/nearest_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "debias/evaluate/neighbours/screened_rows.h"

namespace debias {
namespace {

constexpr double kManyProducts = 1e8;  // below, rounding the gallery costs more than it saves
constexpr int64_t kProbe = 48;         // queries that show whether screening pays

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

bool screening_supported() { return !supported_screens().empty(); }

void nearest_rows(const UnitRows& gallery, const UnitRows& queries, int64_t k, const KnnBlock& block, const TakeNeighbours& take) {
  const double products = static_cast<double>(gallery.count()) * static_cast<double>(queries.count()) * static_cast<double>(gallery.dim);
  const bool pays = products >= kManyProducts && queries.count() >= 64 && k <= gallery.count() / 16 && gallery.dim <= ScreenedRows::kMaxDim;
  const bool screen = block.search == KnnSearch::kScreened || (block.search == KnnSearch::kAuto && pays);
  if (!screen || !screening_supported()) return exact_nearest(gallery, queries, k, block, take);
  const ScreenedRows screened(gallery, *supported_screens().front());
  const int64_t Q = queries.count(), probe = std::min(kProbe, Q), threads = at::get_num_threads();
  const int64_t compared = screened.nearest(queries, 0, probe, k, take);
  // Rows so alike that rounding cannot separate them.
  if (block.search == KnnSearch::kAuto && compared > probe * (k + gallery.count() / 32)) {
    return exact_nearest(gallery, queries, k, block, take);
  }
  // Queries of a tile share what is read of the gallery; every thread has as many tiles, of the same size.
  const int64_t rounds = (Q - probe + threads * ScreenedRows::kQueries - 1) / (threads * ScreenedRows::kQueries);
  const int64_t tile_size = std::max(kProbe, (Q - probe + threads * rounds - 1) / std::max<int64_t>(threads * rounds, 1));
  at::parallel_for(0, (Q - probe + tile_size - 1) / tile_size, 1, [&](int64_t low, int64_t high) {
    for (int64_t begin = probe + low * tile_size; begin < std::min(Q, probe + high * tile_size); begin += tile_size) {
      screened.nearest(queries, begin, std::min(tile_size, Q - begin), k, take);
    }
  });
}

}  // namespace debias

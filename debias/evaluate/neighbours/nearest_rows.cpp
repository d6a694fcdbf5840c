#include "debias/evaluate/neighbours/nearest_rows.h"

#include <omp.h>

#include <algorithm>
#include <memory>
#include <new>

#include "debias/evaluate/neighbours/parallel_pieces.h"
#include "debias/evaluate/neighbours/screened_rows.h"
#include "debias/kernels/cpu/gemm.h"

namespace debias {
namespace {

constexpr double kManyProducts = 1e8;  // below, rounding the gallery costs more than it saves
constexpr int64_t kProbe = 48;         // queries that show whether screening pays
constexpr int64_t kProductRows = 256;  // of the gallery, in one product
constexpr size_t kLineBytes = 64;      // on other boundaries the products may round otherwise

struct FreeLines {
  void operator()(float* values) const { ::operator delete[](values, std::align_val_t{kLineBytes}); }
};
using LineFloats = std::unique_ptr<float[], FreeLines>;

LineFloats zeros_on_lines(int64_t count) { return LineFloats(new (std::align_val_t{kLineBytes}) float[static_cast<size_t>(count)]()); }

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

void copy_unit_rows(const UnitRows& rows, int64_t begin, int64_t count, float* out) {
  for (int64_t i = begin; i < begin + count; ++i) {
    const float* row = rows.row(i);
    const float scale = rows.scale[i];
    for (int64_t d = 0; d < rows.dim; ++d) *out++ = row[d] * scale;
  }
}

void exact_nearest(const UnitRows& gallery, const UnitRows& queries, int64_t k, const KnnBlock& block, const TakeNeighbours& take) {
  const int64_t N = gallery.count(), Q = queries.count(), D = gallery.dim;
  const int64_t panel = (kProductRows * D + 15) / 16 * 16;  // floats of a product's rows, up to the next line
  const LineFloats asked = zeros_on_lines(std::min(block.queries, Q) * D), panels = zeros_on_lines(omp_get_max_threads() * panel);
  const LineFloats cosines = zeros_on_lines(std::min(block.queries, Q) * std::min(block.gallery, N));
  for (int64_t begin = 0; begin < Q; begin += block.queries) {
    const int64_t count = std::min(block.queries, Q - begin);
    copy_unit_rows(queries, begin, count, asked.get());
    std::vector<std::vector<Neighbour>> nearest(static_cast<size_t>(count));
    for (int64_t first = 0; first < N; first += block.gallery) {
      const int64_t width = std::min(block.gallery, N - first);
      each_piece((width + kProductRows - 1) / kProductRows, [&](int64_t piece) {
        const int64_t low = piece * kProductRows, rows = std::min(kProductRows, width - low);
        float* unit = panels.get() + omp_get_thread_num() * panel;
        copy_unit_rows(gallery, first + low, rows, unit);
        if (D > 0) kernels::cpu::product_nt(count, rows, D, 1, asked.get(), unit, cosines.get() + low, width);
      });
      each_piece(count, [&](int64_t i) { offer(nearest[i], k, cosines.get() + i * width, width, first); });
    }
    each_piece(count, [&](int64_t i) { take(begin + i, nearest[i]); });
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
  const int64_t Q = queries.count(), probe = std::min(kProbe, Q), threads = omp_get_max_threads();
  const int64_t compared = screened.nearest(queries, 0, probe, k, take);
  // Rows so alike that rounding cannot separate them.
  if (block.search == KnnSearch::kAuto && compared > probe * (k + gallery.count() / 32)) {
    return exact_nearest(gallery, queries, k, block, take);
  }
  // Queries of a tile share what is read of the gallery; every thread has as many tiles, of the same size.
  const int64_t rounds = (Q - probe + threads * ScreenedRows::kQueries - 1) / (threads * ScreenedRows::kQueries);
  const int64_t tile_size = std::max(kProbe, (Q - probe + threads * rounds - 1) / std::max<int64_t>(threads * rounds, 1));
  each_piece((Q - probe + tile_size - 1) / tile_size, [&](int64_t tile) {
    const int64_t begin = probe + tile * tile_size;
    screened.nearest(queries, begin, std::min(tile_size, Q - begin), k, take);
  });
}

}  // namespace debias

#include "debias/kernels/cpu/bf16_panels.h"

#include "debias/kernels/cpu/bf16_vectors.h"

namespace debias::kernels::cpu::bf16 {

#if defined(__x86_64__)

namespace {

DEBIAS_BF16 void pack_strip_of_rows(const float* z, int64_t rows, int64_t dim, uint32_t* words) {
  const __m512i places = _mm512_slli_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 4);
  alignas(64) uint32_t piece[kStrip * kLanes];  // 16 pairs of 32 rows
  for (int64_t first = 0; first < ScorePanel::pairs(dim); first += kLanes) {
    for (int64_t r = 0; r < kStrip; ++r) {
      const __m512i values = r < rows ? rounded_row(z + r * dim + 2 * first, dim - 2 * first) : _mm512_setzero_si512();
      _mm512_store_si512(piece + r * kLanes, values);
    }
    for (int64_t p = 0; p < std::min(kLanes, ScorePanel::pairs(dim) - first); ++p, words += kStrip) {
      _mm512_storeu_si512(words, _mm512_i32gather_epi32(places, piece + p, 4));
      _mm512_storeu_si512(words + kLanes, _mm512_i32gather_epi32(places, piece + kLanes * kLanes + p, 4));
    }
  }
}

// One or two rows of z to one row of words in every strip.
DEBIAS_BF16 void pack_pair_of_rows(const float* z, int64_t rows, int64_t dim, uint32_t* words, int64_t strip_words) {
  for (int64_t d = 0; d < dim; d += kStrip, words += strip_words) {
    const __m512i second = rows > 1 ? rounded_row(z + dim + d, dim - d) : _mm512_setzero_si512();
    const Interleaved pair = interleaved(rounded_row(z + d, dim - d), second);
    _mm512_storeu_si512(words, pair.low);
    _mm512_storeu_si512(words + kLanes, pair.high);
  }
}

}  // namespace

bool available() { return __builtin_cpu_supports("avx512bf16") != 0; }

void ScorePanel::pack(const float* z, int64_t n, int64_t dim, uint32_t* words) {
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < n; row += kStrip) pack_strip_of_rows(z + row * dim, n - row, dim, words + row * pairs(dim));
}

void PullPanel::pack(const float* z, int64_t n, int64_t dim, uint32_t* words) {
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < n; row += 2) pack_pair_of_rows(z + row * dim, n - row, dim, words + row / 2 * kStrip, strip_words(n));
}

DEBIAS_BF16 void pack_weights(const float* w, int64_t m, int64_t n, PackedWeights out) {
  for (int64_t i = 0; i < m; i += 2) {
    for (int64_t j = 0; j < n; j += 2 * kLanes) {
      const __m512i second = i + 1 < m ? rounded_row(w + (i + 1) * kTile + j, 2 * kLanes) : _mm512_setzero_si512();
      store_weights(rounded_row(w + i * kTile + j, 2 * kLanes), second, i, j, out);
    }
  }
}

#else

bool available() { return false; }
void ScorePanel::pack(const float*, int64_t, int64_t, uint32_t*) {}
void PullPanel::pack(const float*, int64_t, int64_t, uint32_t*) {}
void pack_weights(const float*, int64_t, int64_t, PackedWeights) {}

#endif

}  // namespace debias::kernels::cpu::bf16

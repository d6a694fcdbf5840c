#include "debias/evaluate/neighbours/screened_sweep.h"

#include <algorithm>

#if defined(__x86_64__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc bug 105593: undefined vectors inside the AVX-512 intrinsics
#include <immintrin.h>
#define DEBIAS_AVX2 __attribute__((target("avx2,fma")))
#define DEBIAS_VNNI __attribute__((target("avx2,fma,avx512f,avx512vnni")))
#endif

namespace debias {

#if defined(__x86_64__)

namespace {

constexpr int64_t kGroup = RoundedRows::kGroup, kStep = RoundedRows::kStep;
constexpr int kHalvings = 16;

DEBIAS_AVX2 int64_t count_at_least(const std::vector<float>& scores, int64_t count, float threshold) {
  const __m256 all = _mm256_set1_ps(threshold);
  int64_t found = 0, i = 0;
  for (; i + 8 <= count; i += 8) {
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(scores.data() + i), all, _CMP_GE_OQ));
    found += __builtin_popcount(static_cast<unsigned>(mask));
  }
  for (; i < count; ++i) found += scores[i] >= threshold;
  return found;
}

int32_t four_bytes(const uint8_t* bytes) {
  int32_t four;
  __builtin_memcpy(&four, bytes, sizeof four);
  return four;
}

// The lanes of `mask` whose rows are there.
unsigned present(unsigned mask, int64_t first_row, int64_t count) {
  return first_row + kGroup <= count ? mask : mask & ((1u << std::max<int64_t>(0, count - first_row)) - 1);
}

// Integer sums of 3 queries with 16 rows: sums[q][v] holds rows 8v..8v+7.
DEBIAS_AVX2 inline void products(const uint8_t* query, int64_t stride, const int8_t* group, __m256i sums[3][2]) {
  constexpr int64_t kUnroll = 4;  // steps whose sums fit 16 bits
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i total[3][2] = {};
  for (int64_t d = 0; d < stride; d += kStep * kUnroll) {
    __m256i part[3][2] = {};
#pragma GCC unroll 4
    for (int64_t s = 0; s < kUnroll; ++s) {
      const auto* rows = reinterpret_cast<const __m256i*>(group + (d + kStep * s) * kGroup);
      const __m256i first = _mm256_loadu_si256(rows), second = _mm256_loadu_si256(rows + 1);
#pragma GCC unroll 3
      for (int q = 0; q < 3; ++q) {
        const __m256i repeated = _mm256_set1_epi32(four_bytes(query + q * stride + d + kStep * s));
        const __m256i a = _mm256_maddubs_epi16(repeated, first), b = _mm256_maddubs_epi16(repeated, second);
        part[q][0] = _mm256_add_epi16(part[q][0], a);
        part[q][1] = _mm256_add_epi16(part[q][1], b);
        __asm__("" : "+x"(part[q][0]), "+x"(part[q][1]));  // else GCC 12 reorders the sums and spills
      }
    }
#pragma GCC unroll 3
    for (int q = 0; q < 3; ++q) {
      total[q][0] = _mm256_add_epi32(total[q][0], _mm256_madd_epi16(part[q][0], ones));
      total[q][1] = _mm256_add_epi32(total[q][1], _mm256_madd_epi16(part[q][1], ones));
    }
  }
#pragma GCC unroll 3
  for (int q = 0; q < 3; ++q) {
    sums[q][0] = total[q][0];
    sums[q][1] = total[q][1];
  }
}

DEBIAS_AVX2 void sweep_avx2(const RoundedRows& rows, std::vector<ScreenedQuery>& queries, const uint8_t* bytes) {
  for (int64_t g = 0; g < rows.groups; ++g) {
    const float *steps = rows.step + g * kGroup, *sum_steps = rows.sum_step + g * kGroup;
    for (size_t first = 0; first < queries.size(); first += 3) {
      __m256i sums[3][2];
      products(bytes + static_cast<int64_t>(first) * rows.padded, rows.padded, rows.bytes + g * kGroup * rows.padded, sums);
      for (size_t q = 0; q < 3; ++q) {
        ScreenedQuery& query = queries[first + q];
        for (int v = 0; v < 2; ++v) {
          const __m256 offset = _mm256_mul_ps(_mm256_set1_ps(query.zero), _mm256_loadu_ps(sum_steps + 8 * v));
          const __m256 score = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[q][v]), _mm256_loadu_ps(steps + 8 * v), offset);
          const int all = _mm256_movemask_ps(_mm256_cmp_ps(score, _mm256_set1_ps(query.threshold), _CMP_GE_OQ));
          if (all == 0) continue;
          const int64_t row = g * kGroup + 8 * v;
          alignas(32) float scores[8];
          _mm256_store_ps(scores, score);
          for (unsigned kept = present(static_cast<unsigned>(all), row, rows.count); kept != 0; kept &= kept - 1) {
            const int lane = __builtin_ctz(kept);
            query.scores[query.kept] = scores[lane];
            query.rows[query.kept++] = static_cast<int32_t>(row + lane);
          }
        }
        query.renew_when_full();
      }
    }
  }
}

// Twice 8 bytes from 8 lanes of 32 bits.
DEBIAS_AVX2 inline void store_bytes(__m256i lanes, int8_t* bytes) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(bytes), _mm_packs_epi16(words, words));
}

DEBIAS_AVX2 inline double sum_of(__m256 lanes) {
  alignas(32) float value[8];
  _mm256_store_ps(value, lanes);
  double sum = 0;
  for (const float each : value) sum += each;
  return sum;
}

DEBIAS_AVX2 RoundedRow round_avx2(const float* row, float scale, const float* mean, int64_t dim, float levels, int8_t* bytes) {
  const __m256 scales = _mm256_set1_ps(scale), no_sign = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  const auto centred = [&](int64_t d) DEBIAS_AVX2 { return _mm256_fmsub_ps(_mm256_loadu_ps(row + d), scales, _mm256_loadu_ps(mean + d)); };
  __m256 largest = _mm256_setzero_ps();
  for (int64_t d = 0; d < dim; d += 8) largest = _mm256_max_ps(largest, _mm256_and_ps(no_sign, centred(d)));
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, largest);
  const float highest = *std::max_element(lanes, lanes + 8);
  if (!(highest > 0)) return {};
  const float step = highest / levels;
  const __m256 steps = _mm256_set1_ps(step), inverse = _mm256_set1_ps(levels / highest);
  __m256 sum = _mm256_setzero_ps(), squares = sum, missing = sum;
  for (int64_t d = 0; d < dim; d += 8) {
    const __m256 value = centred(d), byte = _mm256_round_ps(_mm256_mul_ps(value, inverse), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 lost = _mm256_fnmadd_ps(steps, byte, value);
    store_bytes(_mm256_cvtps_epi32(byte), bytes + d);
    sum = _mm256_add_ps(sum, byte);
    squares = _mm256_fmadd_ps(value, value, squares);
    missing = _mm256_fmadd_ps(lost, lost, missing);
  }
  return {step, step * static_cast<float>(sum_of(sum)), sum_of(squares), sum_of(missing)};
}

DEBIAS_AVX2 float dot_avx2(const float* a, const float* b, int64_t dim) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  int64_t d = 0;
  for (; d + 32 <= dim; d += 32) {
    for (int s = 0; s < 4; ++s) sums[s] = _mm256_fmadd_ps(_mm256_loadu_ps(a + d + 8 * s), _mm256_loadu_ps(b + d + 8 * s), sums[s]);
  }
  alignas(32) float lanes[8];
  _mm256_store_ps(lanes, _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])));
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  for (; d < dim; ++d) sum += a[d] * b[d];
  return sum;
}

constexpr int kQueriesAtOnce = 6, kGroupsAtOnce = 4;  // 24 sums, 4 vectors of rows and one of a query fill the 32 registers

DEBIAS_VNNI inline void products(const uint8_t* query, int64_t stride, const int8_t* groups, __m512i sums[kQueriesAtOnce][kGroupsAtOnce]) {
  __m512i total[kQueriesAtOnce][kGroupsAtOnce] = {};
  for (int64_t d = 0; d < stride; d += kStep) {
    __m512i rows[kGroupsAtOnce];
#pragma GCC unroll 4
    for (int g = 0; g < kGroupsAtOnce; ++g) rows[g] = _mm512_loadu_si512(groups + (g * stride + d) * kGroup);
#pragma GCC unroll 6
    for (int q = 0; q < kQueriesAtOnce; ++q) {
      const __m512i repeated = _mm512_set1_epi32(four_bytes(query + q * stride + d));
#pragma GCC unroll 4
      for (int g = 0; g < kGroupsAtOnce; ++g) total[q][g] = _mm512_dpbusd_epi32(total[q][g], repeated, rows[g]);
    }
  }
#pragma GCC unroll 6
  for (int q = 0; q < kQueriesAtOnce; ++q) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroupsAtOnce; ++g) sums[q][g] = total[q][g];
  }
}

DEBIAS_VNNI void sweep_vnni(const RoundedRows& rows, std::vector<ScreenedQuery>& queries, const uint8_t* bytes) {
  const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (int64_t g = 0; g < rows.groups; g += kGroupsAtOnce) {
    for (size_t first = 0; first < queries.size(); first += kQueriesAtOnce) {
      __m512i sums[kQueriesAtOnce][kGroupsAtOnce];
      products(bytes + static_cast<int64_t>(first) * rows.padded, rows.padded, rows.bytes + g * kGroup * rows.padded, sums);
      for (size_t q = 0; q < kQueriesAtOnce; ++q) {
        ScreenedQuery& query = queries[first + q];
        for (int64_t v = 0; v < kGroupsAtOnce; ++v) {
          const int64_t row = (g + v) * kGroup;
          const __m512 offset = _mm512_mul_ps(_mm512_set1_ps(query.zero), _mm512_loadu_ps(rows.sum_step + row));
          const __m512 score = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[q][v]), _mm512_loadu_ps(rows.step + row), offset);
          const __mmask16 all = _mm512_cmp_ps_mask(score, _mm512_set1_ps(query.threshold), _CMP_GE_OQ);
          if (all == 0) continue;
          const auto kept = static_cast<__mmask16>(present(all, row, rows.count));
          const __m512i numbers = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int32_t>(row)));
          _mm512_storeu_ps(query.scores.data() + query.kept, _mm512_maskz_compress_ps(kept, score));
          _mm512_storeu_si512(query.rows.data() + query.kept, _mm512_maskz_compress_epi32(kept, numbers));
          query.kept += __builtin_popcount(kept);
        }
        query.renew_when_full();
      }
    }
  }
}

constexpr Screen kAvx2 = {"avx2", 31, 127, 3, 1, sweep_avx2, round_avx2, dot_avx2};
constexpr Screen kVnni = {"vnni", 127, 255, kQueriesAtOnce, kGroupsAtOnce, sweep_vnni, round_avx2, dot_avx2};

std::vector<const Screen*> detected_screens() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return {};
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vnni")) return {&kAvx2};
  return {&kVnni, &kAvx2};
}

}  // namespace

ScreenedQuery::ScreenedQuery(float low_in_steps, float margin_in_scores, int64_t k)
    : zero(low_in_steps), margin_(margin_in_scores), k_(k), full_(2 * k + RoundedRows::kBlock) {
  scores.resize(static_cast<size_t>(full_ + 2 * RoundedRows::kBlock));
  rows.resize(scores.size());
}

// The k-th best between two scores, the lower of which at least k reach: halved until they are next to equal.
void ScreenedQuery::renew() {
  if (kept <= k_) return;
  const auto [lowest, highest] = std::minmax_element(scores.begin(), scores.begin() + kept);
  float low = *lowest, high = *highest;
  for (int i = 0; i < kHalvings; ++i) {
    const float middle = low + (high - low) / 2;
    (count_at_least(scores, kept, middle) >= k_ ? low : high) = middle;
  }
  threshold = std::max(threshold, low - margin_);
  int64_t place = 0;
  for (int64_t i = 0; i < kept; ++i) {
    const float score = scores[i];
    scores[place] = score;
    rows[place] = rows[i];
    place += score >= threshold;
  }
  kept = place;
  full_ = std::max(full_, 2 * kept);
  scores.resize(static_cast<size_t>(full_ + 2 * RoundedRows::kBlock));
  rows.resize(scores.size());
}

const std::vector<const Screen*>& supported_screens() {
  static const std::vector<const Screen*> supported = detected_screens();
  return supported;
}

#else

ScreenedQuery::ScreenedQuery(float, float, int64_t) {}
void ScreenedQuery::renew() {}

const std::vector<const Screen*>& supported_screens() {
  static const std::vector<const Screen*> none;
  return none;
}

#endif

}  // namespace debias

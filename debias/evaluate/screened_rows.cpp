#include "debias/evaluate/screened_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#if defined(__x86_64__)
#include <immintrin.h>
#define DEBIAS_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace debias {
namespace {

constexpr float kRowLevels = 31, kQueryLevels = 127;
constexpr double kSigmas = 3;
constexpr int64_t kStep = 4;    // dimensions of a 32-bit lane
constexpr int64_t kUnroll = 4;  // steps whose sums fit 16 bits

struct Scored {
  float score;
  int32_t row;
};

}  // namespace

// A rounded query: q ~ low + step * bytes. Scores are (q . h') / step: an integer sum times the row's step, plus zero * sum_step of the
// row.
struct ScreenedRows::Query {
  float zero = 0;                                             // low / step
  float margin = 0;                                           // 3 sigma, in units of scores
  float threshold = -std::numeric_limits<float>::infinity();  // of scores worth keeping
  size_t full = 0;                                            // candidates at which the threshold is renewed
  std::vector<Scored> candidates;

  // Drops what is farther than the margin below the k-th best.
  void renew(int64_t k) {
    if (static_cast<int64_t>(candidates.size()) <= k) return;
    const auto better = [](const Scored& a, const Scored& b) { return a.score > b.score; };
    std::nth_element(candidates.begin(), candidates.begin() + (k - 1), candidates.end(), better);
    threshold = candidates[static_cast<size_t>(k - 1)].score - margin;
    std::erase_if(candidates, [this](const Scored& candidate) { return candidate.score < threshold; });
    full = std::max(full, 2 * candidates.size());
  }
};

#if defined(__x86_64__)

namespace {

// Integer sums of 3 queries with 16 rows: sums[q][v] holds rows 8v..8v+7.
DEBIAS_AVX2 inline void products(const uint8_t* query, int64_t stride, const int8_t* group, int64_t padded, __m256i sums[3][2]) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i total[3][2] = {};
  for (int64_t d = 0; d < padded; d += kStep * kUnroll) {
    __m256i part[3][2] = {};
#pragma GCC unroll 4
    for (int64_t s = 0; s < kUnroll; ++s) {
      const auto* rows = reinterpret_cast<const __m256i*>(group + (d + kStep * s) * ScreenedRows::kRows);
      const __m256i first = _mm256_loadu_si256(rows), second = _mm256_loadu_si256(rows + 1);
#pragma GCC unroll 3
      for (int q = 0; q < 3; ++q) {
        int32_t four;
        __builtin_memcpy(&four, query + q * stride + d + kStep * s, sizeof four);
        const __m256i repeated = _mm256_set1_epi32(four);
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

DEBIAS_AVX2 float dot(const float* a, const float* b, int64_t dim) {
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

}  // namespace

bool ScreenedRows::supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

DEBIAS_AVX2 void ScreenedRows::sweep(std::vector<Query>& queries, const uint8_t* bytes, int64_t k) const {
  const auto groups = static_cast<int64_t>(step_.size()) / kRows;
  for (int64_t g = 0; g < groups; ++g) {
    const float *steps = step_.data() + g * kRows, *sum_steps = sum_step_.data() + g * kRows;
    for (size_t first = 0; first < queries.size(); first += 3) {
      __m256i sums[3][2];
      products(bytes + static_cast<int64_t>(first) * padded_, padded_, bytes_.data() + g * kRows * padded_, padded_, sums);
      for (size_t q = 0; q < 3; ++q) {
        Query& query = queries[first + q];
        for (int v = 0; v < 2; ++v) {
          const __m256 offset = _mm256_mul_ps(_mm256_set1_ps(query.zero), _mm256_loadu_ps(sum_steps + 8 * v));
          const __m256 score = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[q][v]), _mm256_loadu_ps(steps + 8 * v), offset);
          int kept = _mm256_movemask_ps(_mm256_cmp_ps(score, _mm256_set1_ps(query.threshold), _CMP_GE_OQ));
          if (kept == 0) continue;
          alignas(32) float scores[8];
          _mm256_store_ps(scores, score);
          for (; kept != 0; kept &= kept - 1) {
            const int lane = __builtin_ctz(static_cast<unsigned>(kept));
            const auto row = static_cast<int32_t>(g * kRows + 8 * v + lane);
            if (row < gallery_.count()) query.candidates.push_back({scores[lane], row});
          }
        }
        if (query.candidates.size() >= query.full) query.renew(k);
      }
    }
  }
}

#else

namespace {
float dot(const float* a, const float* b, int64_t dim) {
  float sum = 0;
  for (int64_t d = 0; d < dim; ++d) sum += a[d] * b[d];
  return sum;
}
}  // namespace

bool ScreenedRows::supported() { return false; }
void ScreenedRows::sweep(std::vector<Query>&, const uint8_t*, int64_t) const {}

#endif

ScreenedRows::ScreenedRows(const UnitRows& gallery) : gallery_(gallery) {
  const int64_t N = gallery.count(), D = gallery.dim, groups = (N + kRows - 1) / kRows;
  padded_ = (D + kStep * kUnroll - 1) / (kStep * kUnroll) * (kStep * kUnroll);
  bytes_.assign(static_cast<size_t>(groups * kRows * padded_), 0);
  step_.assign(static_cast<size_t>(groups * kRows), 0);
  sum_step_.assign(static_cast<size_t>(groups * kRows), 0);
  std::vector<double> total(static_cast<size_t>(D));
  for (int64_t i = 0; i < N; ++i) {
    const float* row = gallery.row(i);
    for (int64_t d = 0; d < D; ++d) total[d] += row[d] * gallery.scale[i];
  }
  mean_.resize(static_cast<size_t>(D));
  for (int64_t d = 0; d < D; ++d) mean_[d] = static_cast<float>(total[d] / static_cast<double>(N));

  std::vector<float> h(static_cast<size_t>(D));
  for (int64_t i = 0; i < N; ++i) {
    const float* row = gallery.row(i);
    float highest = 0;
    double squared = 0, error = 0;
    for (int64_t d = 0; d < D; ++d) {
      h[d] = row[d] * gallery.scale[i] - mean_[d];
      highest = std::max(highest, std::abs(h[d]));
      squared += h[d] * h[d];
    }
    const float step = highest / kRowLevels;
    int64_t sum = 0;
    int8_t* group = bytes_.data() + i / kRows * kRows * padded_ + i % kRows * kStep;
    for (int64_t d = 0; d < D && step > 0; ++d) {
      const long byte = std::lrint(h[d] / step);
      group[d / kStep * kStep * kRows + d % kStep] = static_cast<int8_t>(byte);
      sum += byte;
      const float missing = h[d] - step * static_cast<float>(byte);
      error += missing * missing;
    }
    step_[i] = step;
    sum_step_[i] = step * static_cast<float>(sum);
    largest_ = std::max(largest_, squared);
    largest_error_ = std::max(largest_error_, error);
  }
}

ScreenedRows::Query ScreenedRows::round(const UnitRows& queries, int64_t i, uint8_t* bytes) const {
  const float* row = queries.row(i);
  const int64_t D = queries.dim;
  const auto [low, high] = std::minmax_element(row, row + D);
  const float scale = queries.scale[i], zero = *low * scale;
  const float step = std::max((*high - *low) * scale / kQueryLevels, std::numeric_limits<float>::min());
  double squared = 0, error = 0;
  for (int64_t d = 0; d < D; ++d) {
    const float byte = std::nearbyint((row[d] * scale - zero) / step), rounded = zero + step * byte;
    bytes[d] = static_cast<uint8_t>(byte);
    squared += rounded * rounded;
    error += (row[d] * scale - rounded) * (row[d] * scale - rounded);
  }
  Query query;
  query.zero = zero / step;
  query.margin = static_cast<float>(kSigmas * std::sqrt((error * largest_ + squared * largest_error_) / static_cast<double>(D)) / step);
  return query;
}

int64_t ScreenedRows::nearest(const UnitRows& queries, int64_t begin, int64_t count, int64_t k, const TakeNeighbours& take) const {
  const int64_t tile = (count + 2) / 3 * 3;  // queries that pad repeat the last one and are not taken
  std::vector<uint8_t> bytes(static_cast<size_t>(tile * padded_));
  std::vector<Query> rounded;
  for (int64_t q = 0; q < tile; ++q) {
    rounded.push_back(round(queries, begin + std::min(q, count - 1), bytes.data() + q * padded_));
    rounded.back().full = static_cast<size_t>(4 * k + 64);
  }
  sweep(rounded, bytes.data(), k);
  for (Query& query : rounded) query.renew(k);
  rounded.resize(static_cast<size_t>(count));
  std::vector<std::vector<Neighbour>> nearest = compare(rounded, queries, begin);
  int64_t compared = 0;
  for (int64_t q = 0; q < count; ++q) {
    std::vector<Neighbour>& found = nearest[q];
    compared += static_cast<int64_t>(found.size());
    if (static_cast<int64_t>(found.size()) > k) {
      std::nth_element(found.begin(), found.begin() + (k - 1), found.end(), nearer);
      found.resize(static_cast<size_t>(k));
    }
    take(begin + q, found);
  }
  return compared;
}

// Row by row, so that each row of the gallery comes from memory once for all queries that want it.
std::vector<std::vector<Neighbour>> ScreenedRows::compare(const std::vector<Query>& rounded, const UnitRows& queries, int64_t begin) const {
  struct Wanted {
    int32_t query, place;
  };
  std::vector<std::vector<Neighbour>> nearest(rounded.size());
  std::vector<int64_t> ends(static_cast<size_t>(gallery_.count()) + 1);
  for (size_t q = 0; q < rounded.size(); ++q) {
    nearest[q].resize(rounded[q].candidates.size());
    for (const Scored& candidate : rounded[q].candidates) ++ends[static_cast<size_t>(candidate.row) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<Wanted> wanted(static_cast<size_t>(ends.back()));
  for (size_t q = 0; q < rounded.size(); ++q) {
    const auto& candidates = rounded[q].candidates;
    for (size_t i = 0; i < candidates.size(); ++i) {
      wanted[static_cast<size_t>(ends[static_cast<size_t>(candidates[i].row)]++)] = {static_cast<int32_t>(q), static_cast<int32_t>(i)};
    }
  }
  int64_t next = 0;  // ends[row] is now where the row's own end
  for (int64_t row = 0; row < gallery_.count(); ++row) {
    for (; next < ends[row]; ++next) {
      const auto [q, place] = wanted[static_cast<size_t>(next)];
      const float cosine = dot(queries.row(begin + q), gallery_.row(row), gallery_.dim);
      nearest[q][place] = {cosine * queries.scale[begin + q] * gallery_.scale[row], row};
    }
  }
  return nearest;
}

}  // namespace debias

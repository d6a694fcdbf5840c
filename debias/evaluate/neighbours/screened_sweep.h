// The integer half of the screened search (screened_rows.h): rounded queries against rounded rows, by the processor's instructions.
//
// Rows are in groups of 16: each step of 4 dimensions has 4 bytes of row 0, of row 1, ... so that a query's 4 bytes, repeated, meet
// 16 rows at once. Bytes of queries are unsigned, of rows signed.
//
//   avx2   16-bit sums of pairs: 7-bit queries (0..127) and 6-bit rows (-31..31), so that eight products fit
//   vnni   AVX-512 VNNI adds four products to 32 bits in one instruction: 8-bit queries (0..255) and rows (-127..127)
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace debias {

// A rounded query: q ~ low + step * bytes. Scores are (q . h') / step: an integer sum times the row's step, plus zero * sum_step of the
// row.
class ScreenedQuery {
 public:
  ScreenedQuery(float low_in_steps, float margin_in_scores, int64_t k);

  float zero = 0;                                             // low / step
  float threshold = -std::numeric_limits<float>::infinity();  // minimum of scores to keep
  int64_t kept = 0;
  std::vector<float> scores;  // [kept], and room for those of one more block of rows
  std::vector<int32_t> rows;  // [kept]

  // To be called after each block: where there are many, drops those farther than the margin below the k-th best.
  void renew_when_full() {
    if (kept >= full_) renew();
  }
  void renew();

 private:
  float margin_;  // 3 sigma
  int64_t k_, full_ = 0;
};

struct RoundedRows {
  static constexpr int64_t kGroup = 16, kStep = 4;
  static constexpr int64_t kBlock = 64;  // rows, at most, that a query meets at once

  int64_t count = 0;      // rows; the groups may hold more, of zeros
  int64_t groups = 0;     // a multiple of the screen's
  int64_t padded = 0;     // dimensions, up to a multiple of 16
  const int8_t* bytes;    // [groups][padded / 4][16][4]
  const float* step;      // [groups * 16]: value of one unit of the row's bytes
  const float* sum_step;  // [groups * 16]: step * sum of the row's bytes
};

struct RoundedRow {
  float step = 0, sum_step = 0;
  double centred = 0, missing = 0;  // squared norms: of the centred row, and of what rounding took from it
};

struct Screen {
  const char* name;
  float row_levels, query_levels;
  int64_t queries, groups;  // met at once: their numbers must be multiples of these
  // Adds to each query's candidates the rows above its threshold. query_bytes [queries, padded].
  void (*sweep)(const RoundedRows& rows, std::vector<ScreenedQuery>& queries, const uint8_t* query_bytes);
  // Bytes [dim] of the row times scale less the mean. dim is a multiple of 8.
  RoundedRow (*round)(const float* row, float scale, const float* mean, int64_t dim, float levels, int8_t* bytes);
  // The product of two rows in float32.
  float (*dot)(const float* a, const float* b, int64_t dim);
};

// Sweeps that this processor supports, the fastest first; empty without AVX2.
const std::vector<const Screen*>& supported_screens();

}  // namespace debias

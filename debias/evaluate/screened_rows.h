// Gallery rows rounded to 6 bits, and the search that compares them first in integers (nearest_rows.h has the method and its error).
//
// Layout: 16 rows stand together as two vectors of 8; of each step of 4 dimensions come 4 bytes of row 0, of row 1, ... A query's 4 bytes,
// repeated, meet 8 rows in one multiplication of unsigned with signed bytes. With 7-bit queries (0..127) and 6-bit rows (-31..31) a sum of
// two products is at most 7,874, and four of them fit the 16 bits in which they are added.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/evaluate/nearest_rows.h"

namespace debias {

class ScreenedRows {
 public:
  static constexpr int64_t kRows = 16;       // of a group
  static constexpr int64_t kQueries = 480;   // searched together, at most
  static constexpr int64_t kMaxDim = 65536;  // sums stay below 2^31

  static bool supported();
  explicit ScreenedRows(const UnitRows& gallery);  // gallery must outlive it

  // The k nearest of queries begin..begin+count, count <= kQueries. Returns how many rows were compared in float32.
  int64_t nearest(const UnitRows& queries, int64_t begin, int64_t count, int64_t k, const TakeNeighbours& take) const;

 private:
  struct Query;
  Query round(const UnitRows& queries, int64_t i, uint8_t* bytes) const;
  std::vector<std::vector<Neighbour>> compare(const std::vector<Query>& rounded, const UnitRows& queries, int64_t begin) const;
  void sweep(std::vector<Query>& queries, const uint8_t* bytes, int64_t k) const;

  const UnitRows& gallery_;
  int64_t padded_ = 0;           // dim, up to a multiple of 16
  std::vector<float> mean_;      // of the unit rows
  std::vector<int8_t> bytes_;    // [groups][padded / 4][16][4]
  std::vector<float> step_;      // [groups * 16]: what one unit of the row's bytes is worth; 0 in rows that pad
  std::vector<float> sum_step_;  // [groups * 16]: step * sum of the row's bytes
  double largest_ = 0;           // max |h|^2
  double largest_error_ = 0;     // max |h - h'|^2
};

}  // namespace debias

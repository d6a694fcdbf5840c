// Gallery rows rounded to bytes, and the search that compares them first in integers (nearest_rows.h has the method and its error,
// screened_sweep.h the integers).
#pragma once

#include <cstdint>
#include <vector>

#include "debias/evaluate/neighbours/nearest_rows.h"
#include "debias/evaluate/neighbours/screened_sweep.h"

namespace debias {

class ScreenedRows {
 public:
  static constexpr int64_t kQueries = 960;   // searched together, at most
  static constexpr int64_t kMaxDim = 65536;  // sums stay below 2^31

  ScreenedRows(const UnitRows& gallery, const Screen& screen);  // both must outlive it

  // The k nearest of queries begin..begin+count, count <= kQueries. Returns how many rows were compared in float32.
  int64_t nearest(const UnitRows& queries, int64_t begin, int64_t count, int64_t k, const TakeNeighbours& take) const;

 private:
  ScreenedQuery round_query(const UnitRows& queries, int64_t i, int64_t k, uint8_t* bytes) const;
  std::vector<std::vector<Neighbour>> compare(const std::vector<ScreenedQuery>& rounded, const UnitRows& queries, int64_t begin) const;

  const UnitRows& gallery_;
  const Screen& screen_;
  int64_t groups_ = 0, padded_ = 0;  // RoundedRows
  std::vector<int8_t> bytes_;
  std::vector<float> step_, sum_step_;
  double largest_centred_ = 0, largest_missing_ = 0;  // of RoundedRow, of any row
};

}  // namespace debias

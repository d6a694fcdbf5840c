// Training rows in memory, standardised: each dimension has mean 0 and deviation 1 over all of them.
//
// Rows are stored in float32, or in the 16 bits of their file if float32 would need more than kLargestFloatRows. A million rows of 768
// dimensions then need 1.5 GB.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/features/feature_vectors.h"

namespace debias {

constexpr int64_t kLargestFloatRows = int64_t{2} << 30;  // bytes

// x_s = (x - mean) / deviation, by dimension; a dimension that does not vary has deviation 1.
struct StandardScale {
  at::Tensor mean, deviation;  // double [D]
};

class StandardRows {
 public:
  // The rows `places` of the file, in that order. Throws a resource error if they do not fit into memory.
  StandardRows(const FeatureVectors& vectors, const std::vector<int64_t>& places);
  // Floating-point rows [n, D].
  explicit StandardRows(const at::Tensor& rows);

  int64_t size() const { return rows_.size(0); }
  int64_t dimensions() const { return rows_.size(1); }
  const StandardScale& scale() const { return scale_; }
  bool varies() const;                                              // false if all rows are equal
  at::Tensor block(int64_t begin, int64_t count) const;             // float32 [count, D], standardised
  StandardRows selected(const std::vector<int64_t>& places) const;  // with the same scale

 private:
  StandardRows() = default;
  void standardise();

  at::Tensor rows_;  // float32, standardised; or float16 as given
  StandardScale scale_;
};

}  // namespace debias

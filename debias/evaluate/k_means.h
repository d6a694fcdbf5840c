// K-means clusters of feature rows, by Lloyd's algorithm from k-means++ seeds.
//
//   minimise  sum over rows i of |x_i - c_{a(i)}|^2   over centres c_1..c_K and assignments a
//
// The best of several starts is kept, so that one unlucky start does not decide. The same rows, K and seed give the same clusters on one
// machine; sums are taken in double.
//
// Source: Arthur and Vassilvitskii 2007 (k-means++).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace debias {

struct Clusters {
  at::Tensor centres;           // [K, D] double
  std::vector<int64_t> of_row;  // [N], from 0 to K - 1
  double spread = 0;            // the sum that is minimised
};

// rows [N, D], finite; 1 <= K <= N, else a usage error that begins with `who`. If rows are equal, clusters may be empty.
Clusters k_means(const at::Tensor& rows, int64_t K, uint64_t seed, const char* who);

// For each row the nearest centre, of equal ones the first, and how clearly it is the nearest: 1 - d1 / d2, with the distances to the
// nearest and to the second nearest centre. 0: half way between two; 1: on the centre. 1 with a single centre.
struct NearestCentre {
  int64_t centre = 0;
  double clarity = 0;
};
std::vector<NearestCentre> nearest_centres(const at::Tensor& rows, const at::Tensor& centres);

}  // namespace debias

// Clusters of rows: k-means, and the names that clusters of images get.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

// K-means clusters of feature rows, by Lloyd's algorithm from k-means++ seeds.
//
//   minimise  sum over rows i of |x_i - c_{a(i)}|^2   over centres c_1..c_K and assignments a
//
// The best of several starts is kept, so that one unlucky start does not decide. The same rows, K and seed give the same clusters on one
// machine; sums are taken in double.
//
// Source: Arthur and Vassilvitskii 2007 (k-means++).

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

// Names of image clusters as bias labels.
//
// A cluster is called like_CLASS after the class that most of its images have (of equal ones the lowest), a second one of the same class
// like_CLASS_2, and so on, the larger cluster first. A cluster without a labelled image is called value_N, N counting from 1, likewise.

// `of_row`: the cluster of each image, below `clusters`; `labels`: its class, kUnknown (sample_table.h) where unknown. One name for each
// cluster, all different.
std::vector<std::string> cluster_names(const std::vector<int64_t>& of_row, const std::vector<int64_t>& labels,
                                       const std::vector<std::string>& class_names, int64_t clusters);

}  // namespace debias

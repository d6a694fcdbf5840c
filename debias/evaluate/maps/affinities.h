// Affinities of N points, as probabilities that a t-SNE plot preserves (neighbour_map.h).
//
//   p_j|i = exp(-b_i d_ij) / sum over i's neighbours l of exp(-b_i d_il),   d squared distances of unit rows,
//   b_i such that the perplexity of p_.|i, exp of its entropy, is the requested one;   p_ij = (p_j|i + p_i|j) / 2N
//
// i's neighbours are the 3 x perplexity nearest points; beyond them p_j|i is next to nothing.
// Sources: van der Maaten & Hinton 2008, "Visualizing data using t-SNE", section 2 and 3.1; van der Maaten 2014, "Accelerating t-SNE using
// tree-based algorithms", section 4.1.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace debias {

// The k nearest other points of each of N, nearest first; of equal distances the lower point.
struct NearPoints {
  int64_t points = 0, neighbours = 0;
  std::vector<int64_t> index;            // [N, k]
  std::vector<double> squared_distance;  // [N, k]
};

// p_ij, symmetric and sparse: point i's neighbours are partner[begin[i]] ... partner[begin[i + 1] - 1], ascending. All sum to one.
struct Affinities {
  std::vector<int64_t> begin;  // [N + 1]
  std::vector<int32_t> partner;
  std::vector<double> p;

  int64_t points() const { return static_cast<int64_t>(begin.size()) - 1; }
};

// rows float32 [N, D], contiguous, of norm 1 (or 0), finite; 1 <= k < N. Candidates are found by float32 cosines (nearest_rows.h),
// distances are computed in double. The same for any number of threads.
NearPoints nearest_points(const at::Tensor& rows, int64_t k);

// p_.|i of one point from the squared distances of its neighbours. If so many are at the same min distance that no b_i gives the
// perplexity, they share alike.
std::vector<double> conditional_affinities(std::span<const double> squared_distance, double perplexity);

// 1 < perplexity < near.neighbours.
Affinities joint_affinities(const NearPoints& near, double perplexity);

}  // namespace debias

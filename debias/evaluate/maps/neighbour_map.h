// t-SNE: points of the plane whose affinities q_ij, by a heavy-tailed kernel, are like those of the features, p_ij.
//
//   q_ij = w_ij / sum over k != l of w_kl,   w_ij = 1 / (1 + |y_i - y_j|^2),   KL = sum over pairs of p_ij log(p_ij / q_ij) -> min
//
// By gradient descent with momentum (0.5, then 0.8), a gain for each coordinate, and p exaggerated 12-fold during the first 250 of 1000
// steps (a quarter of fewer), at the learning rate max(N / 48, 50) (Belkina et al. 2019). Starts from the two principal components, scaled
// to a deviation of 1e-4 (Kobak & Berens 2019): clusters start as they are in the features. These are scikit-learn's defaults except for
// two that gave lower divergences: repulsion has theta = 0.35 where theirs has 0.5, and the learning rate of the exaggerated
// steps is N / 12 below 600 points, where 50 throws them about.
// Sources: van der Maaten & Hinton 2008; van der Maaten 2014.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace debias {

// Affinities of N points, as probabilities that a t-SNE plot preserves.
//
//   p_j|i = exp(-b_i d_ij) / sum over i's neighbours l of exp(-b_i d_il),   d squared distances of unit rows,
//   b_i such that the perplexity of p_.|i, exp of its entropy, is the requested one;   p_ij = (p_j|i + p_i|j) / 2N
//
// i's neighbours are the 3 x perplexity nearest points; beyond them p_j|i is next to nothing.
// Sources: van der Maaten & Hinton 2008, "Visualizing data using t-SNE", section 2 and 3.1; van der Maaten 2014, "Accelerating t-SNE using
// tree-based algorithms", section 4.1.

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

// Repulsion of N points of the plane in t-SNE, in O(N log N) (Barnes & Hut 1986; van der Maaten 2014, section 4.2):
//
//   force_i = sum over j != i of w_ij^2 (y_i - y_j),   normaliser = sum over i and j != i of w_ij,   w_ij = 1 / (1 + |y_i - y_j|^2)
//
// A square around all points is split into four, and these again, until each holds one point, or points closer together than 2^-32 of it. A
// square that looks small from a point, width < theta x distance of its points' mean, counts as that many points at the mean.

struct Point {
  double x = 0, y = 0;
};

struct Repulsion {
  std::vector<Point> forces;  // [N]
  double normaliser = 0;
};

// 0 <= theta <= 0.7, so that no square looks small from inside; 0 compares all pairs. The same for any number of threads.
Repulsion repulsion(const std::vector<Point>& points, double theta);

// rows float32 [N, D], contiguous and finite. If all rows are the same: seeded normal numbers of deviation 1e-4.
std::vector<Point> principal_start(const at::Tensor& rows, uint64_t seed);

// `start` moved by `steps` steps; about (0, 0) at the end. `after_step` (may be empty) gets the number of steps. The same for any number
// of threads.
std::vector<Point> neighbour_map(const Affinities& affinities, std::vector<Point> start, int64_t steps,
                                 const std::function<void(int64_t done)>& after_step);

// KL with the normaliser summed over all pairs.
double map_divergence(const Affinities& affinities, const std::vector<Point>& points);

}  // namespace debias

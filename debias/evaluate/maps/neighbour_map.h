// t-SNE: points of the plane whose affinities q_ij, by a heavy-tailed kernel, are like those of the features, p_ij.
//
//   q_ij = w_ij / sum over k != l of w_kl,   w_ij = 1 / (1 + |y_i - y_j|^2),   KL = sum over pairs of p_ij log(p_ij / q_ij) -> min
//
// By gradient descent with momentum (0.5, then 0.8), a gain for each coordinate, and p exaggerated 12-fold during the first 250 of 1000
// steps (a quarter of fewer), at the learning rate max(N / 48, 50) (Belkina et al. 2019). Starts from the two principal components, scaled
// to a deviation of 1e-4 (Kobak & Berens 2019): clusters start as they are in the features. These are scikit-learn's defaults except for
// two that gave lower divergences: repulsion (barnes_hut.h) has theta = 0.35 where theirs has 0.5, and the learning rate of the exaggerated
// steps is N / 12 below 600 points, where 50 throws them about.
// Sources: van der Maaten & Hinton 2008; van der Maaten 2014.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "debias/evaluate/maps/affinities.h"
#include "debias/evaluate/maps/barnes_hut.h"

namespace debias {

// rows float32 [N, D], contiguous and finite. If all rows are the same: seeded normal numbers of deviation 1e-4.
std::vector<Point> principal_start(const at::Tensor& rows, uint64_t seed);

// `start` moved by `steps` steps; about (0, 0) at the end. `after_step` (may be empty) gets the number of steps. The same for any number
// of threads.
std::vector<Point> neighbour_map(const Affinities& affinities, std::vector<Point> start, int64_t steps,
                                 const std::function<void(int64_t done)>& after_step);

// KL with the normaliser summed over all pairs.
double map_divergence(const Affinities& affinities, const std::vector<Point>& points);

}  // namespace debias

// Repulsion of N points of the plane in t-SNE, in O(N log N) (Barnes & Hut 1986; van der Maaten 2014, section 4.2):
//
//   force_i = sum over j != i of w_ij^2 (y_i - y_j),   normaliser = sum over i and j != i of w_ij,   w_ij = 1 / (1 + |y_i - y_j|^2)
//
// A square around all points is split into four, and these again, until each holds one point, or points closer together than 2^-32 of it. A
// square that looks small from a point, width < theta x distance of its points' mean, counts as that many points at the mean.
#pragma once

#include <vector>

namespace debias {

struct Point {
  double x = 0, y = 0;
};

struct Repulsion {
  std::vector<Point> forces;  // [N]
  double normaliser = 0;
};

// 0 <= theta <= 0.7, so that no square looks small from inside; 0 compares all pairs. The same for any number of threads.
Repulsion repulsion(const std::vector<Point>& points, double theta);

}  // namespace debias

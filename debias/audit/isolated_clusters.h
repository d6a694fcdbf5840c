// Rows that nearly agree and are far from all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "debias/data/row_groups.h"

namespace debias {

struct IsolatedCluster {
  std::vector<float> centre;  // mean of the members
  float radius = 0;           // root mean square distance of a dimension within which a row is one of them
  std::vector<bool> members;  // of the rows that were given
  double groups = 0;          // members, in groups' worth
};

// `vectors` [rows, dimensions], in levels of 255; `weights` 1 / size of the row's group. The mean of the rows around one of them is a centre
// if the rows within tau = min(12, 0.4 deviations) of it are a share `isolation` of those within 2 tau, 4 to 90 % of the groups and at least
// 4 of them. The largest come first, at most 16.
std::vector<IsolatedCluster> isolated_clusters(std::span<const float> vectors, int64_t dimensions, std::span<const float> weights,
                                               double isolation = 0.6);

float rms_distance(std::span<const float> a, std::span<const float> b);

}  // namespace debias

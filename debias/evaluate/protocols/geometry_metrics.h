// Geometry of features on the sphere, without a classifier. z are the rows L2-normalised, f the rows as given.
//
//   alignment             mean over images of |z - z'|^2, z and z' two views of the image; 0 is best
//                         (Wang & Isola 2020, eq. 3, alpha = 2)
//   uniformity            log mean over pairs i < j of exp(-2 |z_i - z_j|^2); lower is more uniform, -4 at D -> infinity is about the
//                         least for pairs at right angles (Wang & Isola 2020, eq. 5, t = 2)
//   rankme                exp(-sum_k p_k log p_k), p_k = s_k / sum_l s_l + 1e-7, s the singular values of f [N, D]; between 1 and
//                         min(N, D): the number of directions in use (Garrido et al. 2023, eq. 1 and 2)
//   std_of_l2_normalized  mean over dimensions of the standard deviation (N - 1) of z; 0 when collapsed, 1/sqrt(D) when spread evenly
//                         (lightly's std_of_l2_normalized; Chen & He 2021, section 4.1)
//
// Similarity distributions (Barbano et al. 2023, "Unbiased supervised contrastive learning", fig. 5): cosines of all pairs i < j in four
// sets: positive (same label) or negative, aligned (same bias label) or conflicting. A pair with an unknown label is in none; without bias
// values there are two sets, positive and negative. An image with itself is not a pair. The released code monitors batches of 256, counts
// the self-pairs as positive aligned, and takes a wrong mask for negative conflicting; here all pairs of the images given count.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "debias/results/evaluation_record.h"

namespace debias {

// rows float32 [N, D]; N >= 2. Numeric errors on rows that are not finite; data errors on fewer rows than needed.
double alignment(const at::Tensor& first_views, const at::Tensor& second_views);  // [N, D] each
double rankme(const at::Tensor& rows);
double std_of_l2_normalized(const at::Tensor& rows);

struct PairGeometry {
  double uniformity = 0;
  // positive_aligned, ...; or positive, negative. Cosine 1 is in the last bin; std by the number of pairs.
  std::map<std::string, SimilarityHistogram> distributions;
};

// One pass over all pairs, in blocks. Data errors: lists and rows of different lengths.
PairGeometry pair_geometry(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::vector<int64_t>& biases, int64_t bins);

}  // namespace debias

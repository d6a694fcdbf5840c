// Which bias each image gets when a data set with a known bias is built.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/core/philox.h"

namespace debias {

// Bias c for the share `correlation` of the images of class c, the other biases for the rest: exact counts, random membership.
//
// With n_c images of class c in random order, the first k = floor(n_c correlation), in double precision, get bias c; the remaining
// r = n_c - k are cut into consecutive chunks of ceil(r / (classes - 1)), and chunk q gets the q-th of the other biases in random order.
// If r is not a multiple of classes - 1, some biases get fewer images, or none.
// Source: Bahng et al., "Learning de-biased representations with biased representations" (2020), the construction of Biased-MNIST.
//
// `labels[i]` in [0, classes), classes >= 2, `correlation` in [0, 1]. `key` names the data set's seed and split; its sample is set here.
std::vector<int64_t> assign_biases(const std::vector<int64_t>& labels, int64_t classes, double correlation, RngKey key);

}  // namespace debias

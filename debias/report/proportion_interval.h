// Intervals of accuracies over the images judged, from how many were judged right. Unlike percentiles of a bootstrap they have a width
// where all images, or none, are right.
#pragma once

#include <utility>

namespace debias {

struct Proportion {
  double value = 0;  // in [0, 1]; may be a mean over seeds
  double count = 0;  // of images; >= 1
};

// Wilson's score interval (1927), 95 %.
std::pair<double, double> wilson_interval(const Proportion& share);

// The 95 % interval of a.value - b.value, of different images: the square-and-add of Wilson intervals (Newcombe 1998, method 10).
std::pair<double, double> difference_interval(const Proportion& a, const Proportion& b);

}  // namespace debias

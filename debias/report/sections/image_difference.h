// The difference of an accuracy between two single runs, over the evaluated images: what other images of the kind would show of these two
// networks. It does not cover other seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "debias/report/tables/key_numbers.h"

namespace debias {

struct ImageDifference {
  double mean = 0;                     // a - b
  std::pair<double, double> interval;  // 95 %
  double p = 1;                        // of "no difference", two-sided
  bool paired = false;                 // image by image (Newcombe 1998 and McNemar); else as of different images
  int64_t images = 0;                  // of each run
};

// None if a column has several seeds, a number is unknown or its number of images is. The columns were evaluated on the same
// data (evaluated_alike).
std::optional<ImageDifference> image_difference(const NumberRow& row, const std::vector<RunColumn>& columns, size_t a, size_t b);

}  // namespace debias

// Vectors that lie far from 0 and near each other: cosines between them differ in digits that float32 has not.
#pragma once

#include "debias/features/feature_vectors.h"

namespace debias {

// The norm of the mean, and the distance from it (root mean square), of up to 4096 rows.
struct CommonOffset {
  double norm = 0, spread = 0;
  bool is_large() const;  // nothing is said of rows that are all the same
};
CommonOffset common_offset(const FeatureVectors& vectors);

}  // namespace debias

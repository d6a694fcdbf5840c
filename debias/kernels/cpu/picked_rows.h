// The arithmetic of picked rows: row e of a stretch is rows + ids[places[e]] * dim. Vectorised for the machine it runs on.
#pragma once

#include <cstdint>

namespace debias::kernels::cpu {

struct PickedRows {
  const float* rows;
  int64_t dim;
  const int32_t* ids;
  const int32_t* places;
  int64_t count;
};

// out[places[e]] = scale <row e, f>
void dot_picked_rows(const PickedRows& picked, const float* f, float scale, float* out);
// sum[0..dim) += sum over e of weights[places[e]] row e
void add_picked_rows(const PickedRows& picked, const float* weights, float* sum);

}  // namespace debias::kernels::cpu

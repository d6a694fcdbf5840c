#include "debias/kernels/pair_kernels.h"

namespace debias::kernels {

const PairKernels& cpu_kernels() {
  static constexpr PairKernels kernels = {equal_sums_forward, equal_sums_backward, log_add_sums_forward,    log_add_sums_backward,
                                          log_sums_forward,   log_sums_backward,   ranked_log_sums_forward, ranked_log_sums_backward};
  return kernels;
}

}  // namespace debias::kernels

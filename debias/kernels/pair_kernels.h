// The pairwise kernels of a device, each by its contract: equal_sums.h, log_add_sums.h, log_sums.h, ranked_log_sums.h.
//
// Those of the CPU take pointers into its memory, those of CUDA into the device's. no_cuda/ stands in for a build without CUDA kernels:
// each of its kernels throws a usage error with its own name.
#pragma once

#include "debias/kernels/equal_sums.h"
#include "debias/kernels/log_add_sums.h"
#include "debias/kernels/log_sums.h"
#include "debias/kernels/ranked_log_sums.h"

namespace debias::kernels {

struct PairKernels {
  decltype(&kernels::equal_sums_forward) equal_sums_forward;
  decltype(&kernels::equal_sums_backward) equal_sums_backward;
  decltype(&kernels::log_add_sums_forward) log_add_sums_forward;
  decltype(&kernels::log_add_sums_backward) log_add_sums_backward;
  decltype(&kernels::log_sums_forward) log_sums_forward;
  decltype(&kernels::log_sums_backward) log_sums_backward;
  decltype(&kernels::ranked_log_sums_forward) ranked_log_sums_forward;
  decltype(&kernels::ranked_log_sums_backward) ranked_log_sums_backward;
};

const PairKernels& cpu_kernels();
const PairKernels& cuda_kernels();

}  // namespace debias::kernels

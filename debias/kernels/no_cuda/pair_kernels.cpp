#include "debias/kernels/pair_kernels.h"

#include "debias/core/error.h"

namespace debias::kernels {
namespace no_cuda {
namespace {

[[noreturn]] void refuse(const char* op) {
  throw usage_error("{}: expected a build with CUDA kernels, found one without; give the dense engine, or rows on the CPU", op);
}

void equal_sums_forward(const SortedRows&, double*) { refuse("equal_sums_forward"); }
void equal_sums_backward(const SortedRows&, const double*, float*) { refuse("equal_sums_backward"); }

void log_add_sums_forward(const SortedRows&, const LogAddTerm&, const float*, double*, double*) { refuse("log_add_sums_forward"); }
void log_add_sums_backward(const SortedRows&, const LogAddTerm&, const float*, const float*, float*) { refuse("log_add_sums_backward"); }

void log_sums_forward(const SortedRows&, const std::vector<ExpSum>&, double*, KeptTiles) { refuse("log_sums_forward"); }
void log_sums_backward(const SortedRows&, const std::vector<ExpSum>&, const double*, KeptTiles, const double*, float*) {
  refuse("log_sums_backward");
}

void ranked_log_sums_forward(const SortedRows&, const std::vector<RankedSum>&, double*, float*) { refuse("ranked_log_sums_forward"); }
void ranked_log_sums_backward(const SortedRows&, const std::vector<RankedSum>&, const float*, const double*, float*) {
  refuse("ranked_log_sums_backward");
}

}  // namespace
}  // namespace no_cuda

const PairKernels& cuda_kernels() {
  static constexpr PairKernels kernels = {no_cuda::equal_sums_forward,      no_cuda::equal_sums_backward,     no_cuda::log_add_sums_forward,
                                          no_cuda::log_add_sums_backward,   no_cuda::log_sums_forward,        no_cuda::log_sums_backward,
                                          no_cuda::ranked_log_sums_forward, no_cuda::ranked_log_sums_backward};
  return kernels;
}

}  // namespace debias::kernels

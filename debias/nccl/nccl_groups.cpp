// libdebias_nccl: c10d's groups of NCCL, for the program that loads it (debias/ranks/device_groups.cpp) once libtorch's CUDA library is there.
#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL
#endif
#include <c10/util/env.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <type_traits>

#include "debias/ranks/device_groups.h"

namespace debias {
namespace {

// c10d reads both when a group is made. Without the first a thread of its own ends the process where an exchange fails or lasts too long;
// with it none is started, and so none strikes finished exchanges off the record that is kept for debuggers: hence the second.
void leave_watching_to_caller() {
  c10::utils::set_env("TORCH_NCCL_BLOCKING_WAIT", "1");
  c10::utils::set_env("TORCH_FR_BUFFER_SIZE", "0");
}

}  // namespace
}  // namespace debias

extern "C" {

int debias_nccl_version() { return c10d::getNcclVersionNumber(); }

c10d::Backend* debias_nccl_group(const debias::StorePointer& store, int rank, int size, std::chrono::milliseconds timeout) {
  debias::leave_watching_to_caller();
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options)).release();
}

}  // extern "C"

static_assert(std::is_same_v<decltype(debias_nccl_version), debias::NcclVersion>);
static_assert(std::is_same_v<decltype(debias_nccl_group), debias::NcclGroup>);

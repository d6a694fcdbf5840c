// Interface of libdebias_nccl for the program that loads it, which is of the same build.
#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "debias/ranks/store.h"

namespace debias {

inline constexpr const char *kNcclLibrary = "libdebias_nccl.so", *kNcclVersionEntry = "debias_nccl_version",
                            *kNcclGroupEntry = "debias_nccl_group";

using NcclVersion = int();  // 22809 of 2.28.9
// A group of NCCL's, whose one reference is the caller's. Nothing of it is c10d's to watch: no thread of c10d's ends an exchange, or the
// process. Throws as c10d does.
using NcclGroup = c10d::Backend*(const StorePointer& store, int rank, int size, std::chrono::milliseconds timeout);

}  // namespace debias

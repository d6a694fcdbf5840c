// Groups through which tensors of devices cross without the host: NCCL's, from a library of their own (debias/nccl), since no program here
// is linked against CUDA's. For the sources of this folder, and for tests that put others in their place.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "debias/ranks/rendezvous.h"
#include "debias/ranks/store.h"

namespace debias {

using GroupPointer = c10::intrusive_ptr<c10d::Backend>;

class DeviceGroups {
 public:
  virtual ~DeviceGroups() = default;
  virtual bool are_of(c10::DeviceType type) const = 0;
  // Describes the library, "NCCL 2.28.9". Throws if it is not available; asks no other rank.
  virtual std::string open() const = 0;
  // A group that has been tried. Collective; may wait for ever where another rank fails.
  virtual GroupPointer connect(const StorePointer& store, const Place& place, const c10::Device& own,
                               std::chrono::milliseconds timeout) const = 0;
};

std::shared_ptr<const DeviceGroups> nccl_groups();

// Throws where the ranks' numbers, given by each, do not arrive at this one.
void try_group(c10d::Backend& group, const Place& place, const c10::Device& own);

// Completes an exchange that has ended: throws its error, and lets later computations see its tensors.
void take_result(c10d::Work& work);

// Interface of libdebias_nccl for the program that loads it, which is of the same build.
inline constexpr const char *kNcclLibrary = "libdebias_nccl.so", *kNcclVersionEntry = "debias_nccl_version",
                            *kNcclGroupEntry = "debias_nccl_group";

using NcclVersion = int();  // 22809 of 2.28.9
// A group of NCCL's, whose one reference is the caller's. Nothing of it is c10d's to watch: no thread of c10d's ends an exchange, or the
// process. Throws as c10d does.
using NcclGroup = c10d::Backend*(const StorePointer& store, int rank, int size, std::chrono::milliseconds timeout);

}  // namespace debias

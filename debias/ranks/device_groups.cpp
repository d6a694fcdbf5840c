#include "debias/ranks/device_groups.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <thread>

#include "debias/core/error.h"

namespace debias {
namespace {

template <class Entry>
Entry* entry_of(void* library, const char* name) {
  void* entry = dlsym(library, name);
  if (entry == nullptr) throw resource_error("{} is of another build of debias, and has no {}; install both anew", kNcclLibrary, name);
  return reinterpret_cast<Entry*>(entry);
}

void* nccl_library() {
  void* library = dlopen(kNcclLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw resource_error("NCCL is not available ({}); build with -DDEBIAS_NCCL=ON, or let the loader find that library (LD_LIBRARY_PATH)",
                         dlerror());
  return library;
}

class NcclGroups final : public DeviceGroups {
 public:
  bool are_of(c10::DeviceType type) const override { return type == at::kCUDA; }

  std::string open() const override {
    const int version = entry_of<NcclVersion>(nccl_library(), kNcclVersionEntry)();
    return fmt::format("NCCL {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }

  GroupPointer connect(const StorePointer& store, const Place& place, const c10::Device& own,
                       std::chrono::milliseconds timeout) const override {
    const auto make = entry_of<NcclGroup>(nccl_library(), kNcclGroupEntry);
    GroupPointer group = GroupPointer::reclaim(make(store, static_cast<int>(place.rank), static_cast<int>(place.size), timeout));
    try_group(*group, place, own);
    return group;
  }
};

}  // namespace

std::shared_ptr<const DeviceGroups> nccl_groups() { return std::make_shared<NcclGroups>(); }

void try_group(c10d::Backend& group, const Place& place, const c10::Device& own) {
  const auto numbers = at::TensorOptions(at::kLong).device(own);
  at::Tensor given = at::full({1}, place.rank, numbers), all = at::zeros({place.size}, numbers);
  const auto work = group._allgather_base(all, given);
  while (!work->isCompleted()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  take_result(*work);
  if (!all.to(at::kCPU).equal(at::arange(place.size, at::kLong)))
    throw resource_error("what the ranks' devices gave each other did not arrive");
}

void take_result(c10d::Work& work) {
  if (const std::exception_ptr error = work.exception()) std::rethrow_exception(error);
  work.wait();
}

}  // namespace debias

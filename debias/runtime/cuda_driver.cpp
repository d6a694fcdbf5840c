#include "debias/runtime/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace debias {
namespace {

constexpr int kSuccess = 0;

// The entries of cuda.h that are called here. CUresult and CUdevice are ints; a CUuuid is 16 bytes.
using Init = int(unsigned);
using GetDevice = int(int* device, int index);
using GetName = int(char* name, int length, int device);
using GetUuid = int(unsigned char* uuid, int device);

template <class Entry>
Entry* driver_entry(void* library, const char* name) {
  return reinterpret_cast<Entry*>(dlsym(library, name));
}

// cuDeviceGetUuid names the whole GPU; only the second version distinguishes MIG instances.
GetUuid* uuid_entry(void* library) {
  GetUuid* entry = driver_entry<GetUuid>(library, "cuDeviceGetUuid_v2");
  return entry != nullptr ? entry : driver_entry<GetUuid>(library, "cuDeviceGetUuid");
}

}  // namespace

std::optional<CudaDevice> describe_cuda_device(int index, const char* library_name) {
  void* library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);  // stays open: the driver cannot be unloaded
  if (library == nullptr) return std::nullopt;
  const auto init = driver_entry<Init>(library, "cuInit");
  const auto get_device = driver_entry<GetDevice>(library, "cuDeviceGet");
  const auto get_name = driver_entry<GetName>(library, "cuDeviceGetName");
  const auto get_uuid = uuid_entry(library);
  if (init == nullptr || get_device == nullptr || get_name == nullptr || get_uuid == nullptr) return std::nullopt;
  int device = 0;
  std::array<char, 256> name{};
  std::array<unsigned char, 16> uuid{};
  if (init(0) != kSuccess || get_device(&device, index) != kSuccess) return std::nullopt;
  if (get_name(name.data(), static_cast<int>(name.size()) - 1, device) != kSuccess) return std::nullopt;
  if (get_uuid(uuid.data(), device) != kSuccess) return std::nullopt;
  CudaDevice found{name.data(), ""};
  for (const unsigned char byte : uuid) found.uuid += fmt::format("{:02x}", byte);
  return found;
}

bool cuda_driver_is_loaded() { return access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0; }

}  // namespace debias

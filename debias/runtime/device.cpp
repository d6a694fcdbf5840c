#include "debias/runtime/device.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <latch>
#include <system_error>
#include <thread>

#include "debias/core/cpu_share.h"
#include "debias/core/error.h"

namespace debias {

Autocast::Autocast(c10::DeviceType device, Precision precision) : device_(device), before_(at::autocast::is_autocast_enabled(device)) {
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device_, precision == Precision::kBf16);
  if (precision == Precision::kBf16) at::autocast::set_autocast_dtype(device_, at::kBFloat16);
}

Autocast::~Autocast() {
  at::autocast::set_autocast_enabled(device_, before_);
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
}

namespace {

// Why CUDA is not available; nothing where it is. Loads libtorch's CUDA library.
std::string cuda_obstacle() {
  if (!cuda_driver_is_loaded()) return "no NVIDIA driver is loaded";
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    return load_failure(dlerror()) + " (install torch with its CUDA libraries; in a checkout: scripts/bootstrap.sh --cuda)";
  }
  if (!at::globalContext().hasCUDA()) return "the NVIDIA driver reports no usable device, or is older than CUDA 13 (580)";
  return "";
}

}  // namespace

void set_arithmetic(const DeviceArithmetic& arithmetic) {
  auto& context = at::globalContext();
  context.setAllowTF32CuBLAS(arithmetic.tf32);
  context.setAllowTF32CuDNN(arithmetic.tf32);
  context.setDeterministicCuDNN(arithmetic.deterministic);
  context.setDeterministicFillUninitializedMemory(false);  // what nobody has written nobody reads
  context.setDeterministicAlgorithms(arithmetic.deterministic, /*warn_only=*/false);
  if (arithmetic.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
}

std::string load_failure(const std::string& dlerror_text) {
  const size_t end = dlerror_text.find(": cannot open shared object file");
  return end == std::string::npos ? dlerror_text : dlerror_text.substr(0, end) + " was not found";
}

std::vector<std::string> device_names() {
  std::vector<std::string> names = {"auto", "cpu", "cuda"};
  if (c10::is_privateuse1_backend_registered()) names.push_back(c10::get_privateuse1_backend());
  return names;
}

c10::Device own_device(c10::DeviceType type, int64_t local_rank, int64_t count) {
  if (count == 1) return {type, 0};
  if (local_rank < count) return {type, static_cast<c10::DeviceIndex>(local_rank)};
  throw resource_error("device {}: process {} of this machine has none of its own, there are {}; start at most {}, or use device cpu",
                       c10::DeviceTypeName(type, /*lower_case=*/true), local_rank, count, count);
}

DeviceChoice choose_device(const std::string& name, int64_t local_rank) {
  DeviceChoice choice;
  if (name == "cpu") return choice;
  if (c10::is_privateuse1_backend_registered() && name == c10::get_privateuse1_backend()) {
    choice.device = own_device(c10::kPrivateUse1, local_rank, c10::impl::VirtualGuardImpl(c10::kPrivateUse1).deviceCount());
    return choice;
  }
  if (name != "auto" && name != "cuda") throw usage_error("device: unknown value '{}'; give auto, cpu or cuda", name);
  const std::string obstacle = cuda_obstacle();
  if (!obstacle.empty()) {
    if (name == "cuda") throw usage_error("device cuda: CUDA is not available: {}; use device cpu", obstacle);
    choice.cpu_reason = obstacle;
    choice.driver_unused = cuda_driver_is_loaded();
    return choice;
  }
  // Float32 is float32 for whoever computes here, until a recipe asks for something else.
  static const bool is_set = (set_arithmetic({}), true);
  static_cast<void>(is_set);
  choice.device = own_device(c10::kCUDA, local_rank, c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount());
  if (const auto found = describe_cuda_device(choice.device.index())) {
    choice.name = found->name;
    choice.uuid = found->uuid;
  }
  return choice;
}

c10::Device resolve_device(const std::string& name, int64_t local_rank) { return choose_device(name, local_rank).device; }

std::vector<c10::Device> devices_beside(c10::Device device) {
  std::vector<c10::Device> others;
  if (device.is_cpu()) return others;
  for (c10::DeviceIndex i = 0; i < c10::impl::VirtualGuardImpl(device.type()).deviceCount(); ++i) {
    if (i != device.index()) others.emplace_back(device.type(), i);
  }
  return others;
}

std::string device_line(const DeviceChoice& choice) {
  std::string line = "device: " + choice.device.str();
  if (!choice.name.empty()) line += " " + choice.name;
  if (!choice.cpu_reason.empty()) line += ", since " + choice.cpu_reason;
  return line;
}

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

namespace {

// So many, this one among them.
void require_threads(int count) {
  std::latch asked(1);
  std::vector<std::thread> threads;
  bool all = true;
  try {
    for (int i = 1; i < count; ++i) threads.emplace_back([&] { asked.wait(); });
  } catch (const std::system_error&) {
    all = false;
  }
  asked.count_down();
  for (auto& thread : threads) thread.join();
  if (all) return;
  throw resource_error(
      "{} threads are asked for and {} can be started; ask for fewer (train.threads, OMP_NUM_THREADS), or raise the limits of threads and "
      "memory (ulimit -u, ulimit -v)",
      count, threads.size() + 1);
}

}  // namespace

void use_threads(std::optional<int64_t> asked) {
  const int threads = asked ? static_cast<int>(*asked) : std::min(at::get_num_threads(), available_cpus());
  require_threads(threads);
  at::set_num_threads(threads);
}

at::Tensor upload(const at::Tensor& host, c10::Device device) {
  return device.is_cpu() ? host : host.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace debias

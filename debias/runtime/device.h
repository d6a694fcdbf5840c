// Where models live: the CPU, or a CUDA device where one is available.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

// In what a network's convolutions and products, or a loss's inner products, are computed; weights and sums stay float32.
enum class Precision { kFp32, kBf16 };
constexpr auto enum_words(Precision) { return named("fp32", "bf16"); }

// The precision of what torch computes while this lives.

// bf16: torch's autocast to bfloat16 on devices of this type; fp32: none, even if the caller has switched it on. The
// earlier setting is restored at the end, and with the outermost of them torch forgets the weights that it has cast.
class Autocast {
 public:
  Autocast(c10::DeviceType device, Precision precision);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool before_;
};

// The device of a process, and why it is that one.
struct DeviceChoice {
  c10::Device device{c10::kCPU};
  std::string name{};          // of a CUDA device: "NVIDIA H100 80GB HBM3"; empty where the driver does not say
  std::string uuid{};          // of the physical device or MIG instance; empty on the CPU
  std::string cpu_reason{};    // why `auto` chose the CPU; empty otherwise
  bool driver_unused = false;  // a driver is loaded, and `auto` could not use it
};

// "cpu"; "cuda" (a usage error when CUDA is not available); "auto" (CUDA where a driver and its libraries are available, else the CPU); the
// name of a device that an extension has registered with torch as PrivateUse1.
// Call it before any other tensor work: torch remembers "no CUDA" from the first call that asks. The CUDA library is loaded only here.
// Each of several processes on a machine takes the device of its number.
DeviceChoice choose_device(const std::string& name, int64_t local_rank = 0);
c10::Device resolve_device(const std::string& name, int64_t local_rank = 0);

std::vector<std::string> device_names();  // that choose_device() takes

// The other devices of its type that this process sees; none of the CPU.
std::vector<c10::Device> devices_beside(c10::Device device);

// The first line of a log: "device: cuda:0 NVIDIA H100", "device: cpu", "device: cpu, since no NVIDIA driver is loaded".
std::string device_line(const DeviceChoice& choice);

// The device of a process among the `count` visible ones of a type. A process that sees one device owns it, whatever its number: SLURM's
// --gpus-per-task and Kubernetes show each process its own. A resource error where there are fewer devices than processes otherwise.
c10::Device own_device(c10::DeviceType type, int64_t local_rank, int64_t count);

// How a device computes. The CPU ignores this: it rounds no factor, and sums in a fixed order.
struct DeviceArithmetic {
  bool tf32 = false;           // float32 products and convolutions of factors rounded to TF32 (10 bits of mantissa)
  bool deterministic = false;  // only kernels that give the same bytes each time; an operator without one throws
};
// For the whole process, before its first product on a device (cuBLAS reads CUBLAS_WORKSPACE_CONFIG, which is set where it is not, once).
void set_arithmetic(const DeviceArithmetic& arithmetic);

// The text of dlerror() as a reason: "libcudnn.so.9 was not found" for a missing library, otherwise its own text.
std::string load_failure(const std::string& dlerror_text);

// Facts of the CUDA driver on a device, read through libcuda.so.1 itself: no program here is linked against CUDA.
struct CudaDevice {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;  // 32 hexadecimal digits: one physical device, or one MIG instance of it
};

// The device with that index among the visible ones; nothing where the driver is missing or has no such device. `library` is for tests.
std::optional<CudaDevice> describe_cuda_device(int index, const char* library = "libcuda.so.1");

// True if a kernel driver for NVIDIA devices is loaded: natively, or under WSL 2.
bool cuda_driver_is_loaded();

// Number of threads of torch.

// From now on `asked`, or else what torch would take, but no more than the processors that this process may use. A resource error where so
// many cannot run at a time: OpenMP would end the process without them, or wait for them for ever.
void use_threads(std::optional<int64_t> asked = {});

// Tensors of the host on a device.

// A tensor of the host on a device, without a wait for the device: from pinned memory. On the CPU, itself.
at::Tensor upload(const at::Tensor& host, c10::Device device);

}  // namespace debias

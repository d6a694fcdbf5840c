// A device of our own for tests: what CUDA would be asked for, done by the CPU behind memory that the host may not touch.
//
// Registered with torch as PrivateUse1 under the name of `kDoubleName`. Its memory lies on pages without any access outside a kernel, so
// that a host that reads it stops at once. Kernels are the CPU's, on copies (a boxed fall-back). A copy that does not block is done when
// its stream is next waited for, and the memory holds NaN until then, so that what does not wait is seen. Two devices, each with streams of
// its own. Tensors of the host beside those of the device are an error. What it cannot show: CUDA's own kernels, their speed, and their determinism.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <thread>

namespace debias {

constexpr const char* kDoubleName = "double";
constexpr int kDoubleDevices = 2;

// What was asked of the devices since the last reset.
struct DoubleLog {
  std::map<std::string, int64_t> kernels;  // calls by the operator's name
  int64_t host_waits = 0;                  // reads by the host, results whose size it must know, copies from memory that is not pinned
  int64_t deferred_copies = 0;             // that did not block
  std::set<std::thread::id> threads;       // that called kernels
  std::map<int, int64_t> devices;          // calls by the device's number

  int64_t calls() const;
};

// Registers the devices, once; the same log from then on.
void use_device_double();
DoubleLog double_log();
void reset_double_log();
void begin_double_kernel(const std::string& name);  // by kernels that stand in files of their own
int64_t double_bytes();                             // allocated now, of both devices

// Convolutions give half of their weights' gradients, as a device with a fault might.
void halve_gradients(bool on);

inline c10::Device double_device(int index = 0) { return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(index)}; }

}  // namespace debias

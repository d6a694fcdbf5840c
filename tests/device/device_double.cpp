#include "tests/device/device_double.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/device/double_memory.h"
#include "tests/support/waiting_operators.h"

namespace debias {
namespace {

constexpr auto kType = c10::DeviceType::PrivateUse1;

struct Logged {
  std::mutex mutex;
  DoubleLog log;
};

Logged& logged() {
  static Logged all;
  return all;
}

// Devices and streams.

thread_local c10::DeviceIndex current_device = 0;
thread_local std::map<c10::DeviceIndex, c10::StreamId> current_streams;

c10::Stream stream_of(c10::DeviceIndex device) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(kType, device), current_streams.contains(device) ? current_streams[device] : 0);
}

std::atomic<bool> gradients_are_halved = false;
thread_local int kernels_under_way = 0;  // what a kernel copies is its own affair

// A kernel waits for what its own stream has before it, and for no other stream.
void begin_kernel(const std::string& name, bool host_waits = false) {
  if (kernels_under_way > 0) return;
  const c10::Stream stream = stream_of(current_device);
  streams().run(DoubleStreams::key(stream));
  Logged& all = logged();
  const std::lock_guard lock(all.mutex);
  ++all.log.kernels[name];
  ++all.log.devices[current_device];
  all.log.host_waits += host_waits;
  all.log.threads.insert(std::this_thread::get_id());
}

struct DoubleEvent {
  DoubleStreams::Key stream;
  int64_t mark = 0;
};

class DoubleGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {kType, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.has_index() ? device.index() : current_device; }
  void uncheckedSetDevice(c10::Device device) const noexcept override { setDevice(device); }
  c10::Stream getStream(c10::Device device) const override { return stream_of(device.has_index() ? device.index() : current_device); }
  c10::Stream getDefaultStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool = false) const override { return getNewStream(device); }
  c10::Stream getNewStream(c10::Device device, int = 0) const override {
    static std::atomic<c10::StreamId> next{1};
    return c10::Stream(c10::Stream::UNSAFE, device, next++);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    current_streams[stream.device_index()] = stream.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDoubleDevices; }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) *event = new DoubleEvent;
    *static_cast<DoubleEvent*>(*event) = {DoubleStreams::key(stream), streams().last(DoubleStreams::key(stream))};
  }
  void block(void* event, const c10::Stream&) const override { wait(event); }
  void synchronizeEvent(void* event) const override { wait(event); }
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override { delete static_cast<DoubleEvent*>(event); }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream& stream) const override { streams().run(DoubleStreams::key(stream)); }
  void synchronizeDevice(const c10::DeviceIndex) const override {}
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}

 private:
  static void wait(void* event) {
    if (event == nullptr) return;
    const auto& recorded = *static_cast<DoubleEvent*>(event);
    streams().run_until(recorded.stream, recorded.mark);
  }
};

// Allocators.

void release_pages(void* begin) {
  if (begin != nullptr) pages().release(begin);
}

class DoubleAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(kType, current_device);
    if (bytes == 0) return {nullptr, nullptr, &release_pages, device};
    void* begin = pages().allocate(bytes);
    return {begin, begin, &release_pages, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_pages; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    pages().open(to);
    pages().open(const_cast<void*>(from));
    std::memcpy(to, from, bytes);
    pages().close(const_cast<void*>(from));
    pages().close(to);
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak = pages().peak();
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
};

class DoubleHooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return kDoubleDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
  bool isPinnedPtr(const void* data) const override { return pinned_memory().holds(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_memory(); }
};

// Kernels.

c10::Device of(std::optional<at::Device> device) { return device && device->has_index() ? *device : c10::Device(kType, current_device); }

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>, std::optional<at::Device> device,
                 std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard on(of(device));
  return at::detail::empty_generic(size, c10::GetAllocator(kType), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                         std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard on(of(device));
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(kType), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard on(self.device());
  const auto bytes = static_cast<size_t>(c10::multiply_integers(size) + self.storage_offset()) * self.itemsize();
  c10::Storage storage = self.storage();
  if (bytes > storage.nbytes()) {
    c10::DataPtr larger = c10::GetAllocator(kType)->allocate(bytes);
    if (storage.nbytes() > 0) c10::GetAllocator(kType)->copy_data(larger.get(), storage.data_ptr().get(), storage.nbytes());
    storage.set_data_ptr_noswap(std::move(larger));
    storage.set_nbytes(bytes);
  }
  self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
  if (format && *format != at::MemoryFormat::Contiguous) self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return self;
}

void copy_now(const at::Tensor& from, const at::Tensor& to) {
  const std::unique_ptr<Opened> source = from.device().type() == kType ? std::make_unique<Opened>(from) : nullptr;
  const std::unique_ptr<Opened> target = to.device().type() == kType ? std::make_unique<Opened>(to) : nullptr;
  const at::NoGradGuard no_grad;
  (target ? target->host : to).copy_(source ? source->host : from);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  const c10::DeviceGuard on(to.device().type() == kType ? to.device() : self.device());
  const bool defers = non_blocking && self.is_cpu() && self.is_pinned() && self.scalar_type() == to.scalar_type();
  begin_kernel("_copy_from", to.is_cpu() || (self.is_cpu() && !defers));
  if (defers) {
    {
      const std::lock_guard lock(logged().mutex);
      ++logged().log.deferred_copies;
    }
    streams().later(DoubleStreams::key(stream_of(current_device)), [self, to] { copy_now(self, to); });
    return to;
  }
  copy_now(self, to);
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& to) {
  if (to.sizes() != self.sizes()) to.resize_(self.sizes());  // a view keeps its strides
  return copy_from(self, to, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const c10::DeviceGuard on(self.device());
  begin_kernel("_local_scalar_dense", true);
  return Opened(self).host.item();
}

at::Tensor& set_source_tensor(at::Tensor& self, const at::Tensor& source) {
  self.unsafeGetTensorImpl()->set_storage_keep_dtype(source.storage());
  self.unsafeGetTensorImpl()->set_storage_offset(source.storage_offset());
  self.unsafeGetTensorImpl()->set_sizes_and_strides(source.sizes(), source.strides());
  return self;
}

at::Tensor host_copy(const at::Tensor& tensor) {  // a kernel's own, which is no wait of the host
  if (tensor.device().type() != kType) return tensor;
  const Opened opened(tensor);
  return opened.host.clone();
}

at::Tensor device_copy(const at::Tensor& tensor, c10::Device device) {
  at::Tensor there = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device));
  copy_now(tensor, there);
  return there;
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups) {
  const c10::DeviceGuard on(input.device());
  begin_kernel("convolution");
  const std::optional<at::Tensor> own = bias && bias->defined() ? std::optional(host_copy(*bias)) : std::nullopt;
  return device_copy(
      at::convolution(host_copy(input), host_copy(weight), own, stride, padding, dilation, transposed, output_padding, groups),
      input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(const at::Tensor& gradient, const at::Tensor& input,
                                                                    const at::Tensor& weight, at::IntArrayRef stride,
                                                                    at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                                                                    at::IntArrayRef output_padding, int64_t groups,
                                                                    std::array<bool, 3> mask) {
  const c10::DeviceGuard on(input.device());
  begin_kernel("convolution_backward");
  const std::vector<int64_t> bias = {transposed ? weight.size(1) * groups : weight.size(0)};
  auto [of_input, of_weight, of_bias] =
      at::convolution_backward(host_copy(gradient), host_copy(input), host_copy(weight), at::OptionalIntArrayRef(bias), stride, padding,
                               dilation, transposed, output_padding, groups, mask);
  if (gradients_are_halved && of_weight.defined()) of_weight.mul_(0.5);
  const auto there = [&](const at::Tensor& tensor) { return tensor.defined() ? device_copy(tensor, input.device()) : tensor; };
  return {there(of_input), there(of_weight), there(of_bias)};
}

// Its schema does not say that it writes the running statistics, so that the fall-back would lose them.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& mean,
                                                          const std::optional<at::Tensor>& variance, bool training, double momentum,
                                                          double eps) {
  const c10::DeviceGuard on(input.device());
  begin_kernel("native_batch_norm");
  const auto host = [](const std::optional<at::Tensor>& tensor) {
    return tensor && tensor->defined() ? std::optional(host_copy(*tensor)) : std::nullopt;
  };
  const auto own_mean = host(mean), own_variance = host(variance);
  const auto [out, batch_mean, batch_scale] =
      at::native_batch_norm(host_copy(input), host(weight), host(bias), own_mean, own_variance, training, momentum, eps);
  if (training && own_mean) copy_now(*own_mean, *mean);
  if (training && own_variance) copy_now(*own_variance, *variance);
  const c10::Device device = input.device();
  return {device_copy(out, device), device_copy(batch_mean, device), device_copy(batch_scale, device)};
}

// Numbers of the host are taken by every kernel, and its indices by some.
void require_one_device(const c10::OperatorHandle& op, const c10::Stack& stack) {
  static const std::set<std::string> takes_indices = {"aten::index", "aten::index_put_", "aten::_index_put_impl_"};
  if (takes_indices.contains(op.schema().name())) return;
  bool here = false, there = false;
  const auto look = [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    there = there || tensor.device().type() == kType;
    here = here || (tensor.device().is_cpu() && tensor.dim() > 0);
  };
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
    if (stack[i].isTensor()) look(stack[i].toTensor());
    if (!stack[i].isTensorList()) continue;
    for (const at::Tensor& tensor : stack[i].toTensorVector()) look(tensor);
  }
  if (here && there) throw std::runtime_error("device double: " + op.schema().name() + " is given tensors of the host and of the device");
}

// Of the first tensor of the device among the arguments.
c10::Device device_of(const c10::OperatorHandle& op, const c10::Stack& stack) {
  for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
    if (stack[i].isTensor() && stack[i].toTensor().defined() && stack[i].toTensor().device().type() == kType) {
      return stack[i].toTensor().device();
    }
    if (!stack[i].isTensorList()) continue;
    for (const at::Tensor& tensor : stack[i].toTensorVector()) {
      if (tensor.defined() && tensor.device().type() == kType) return tensor.device();
    }
  }
  return of({});
}

void fall_back(const c10::OperatorHandle& op, c10::Stack* stack) {
  require_one_device(op, *stack);
  const c10::DeviceGuard on(device_of(op, *stack));
  begin_kernel(op.schema().name(), is_waited_for(op.schema().name()));
  ++kernels_under_way;
  const auto end = [](int*) { --kernels_under_way; };
  const std::unique_ptr<int, decltype(end)> under_way(&kernels_under_way, end);
  at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("resize_", &resize_);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("alias", &at::native::alias);
  m.impl("_reshape_alias", &at::native::_reshape_alias);
  m.impl("unfold", &at::native::unfold);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("set_.source_Tensor", &set_source_tensor);
  m.impl("_has_compatible_shallow_copy_type", [](const at::Tensor&, const at::Tensor&) { return true; });  // Module::to()
  m.impl("record_stream", [](at::Tensor&, at::Stream) {});
  m.impl("native_batch_norm", &batch_norm);
  m.impl("convolution_overrideable", &convolution);
  m.impl("convolution_backward_overrideable", &convolution_backward);
  // CUDA has one kernel for such a list; the others of the family go tensor by tensor there, where shapes differ.
  for (const char* name : {"_foreach_add.List", "_foreach_add_.List", "_foreach_sub_.List", "_foreach_mul_.Scalar", "_foreach_mul_.Tensor",
                           "_foreach_norm.Scalar", "_foreach_copy_"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fall_back>());
  }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>()); }
TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

using namespace at::autocast;  // NOLINT: what torch's macros name

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1,
                   m){KERNEL_PRIVATEUSEONE(conv2d, lower_precision_fp) KERNEL_PRIVATEUSEONE(linear, lower_precision_fp)
                          KERNEL_PRIVATEUSEONE(matmul, lower_precision_fp) KERNEL_PRIVATEUSEONE(mm, lower_precision_fp)
                              KERNEL_PRIVATEUSEONE(addmm, lower_precision_fp)}

C10_REGISTER_GUARD_IMPL(PrivateUse1, DoubleGuard);

}  // namespace

int64_t DoubleLog::calls() const {
  return std::accumulate(kernels.begin(), kernels.end(), int64_t{0}, [](int64_t sum, const auto& each) { return sum + each.second; });
}

void use_device_double() {
  static const bool once = [] {
    c10::register_privateuse1_backend(kDoubleName);
    static auto* allocator = new DoubleAllocator;
    static auto* hooks = new DoubleHooks;
    c10::SetAllocator(kType, allocator);
    at::RegisterPrivateUse1HooksInterface(hooks);
    return true;
  }();
  static_cast<void>(once);
}

DoubleLog double_log() {
  const std::lock_guard lock(logged().mutex);
  return logged().log;
}

void begin_double_kernel(const std::string& name) { begin_kernel(name); }

void reset_double_log() {
  const std::lock_guard lock(logged().mutex);
  logged().log = {};
}

int64_t double_bytes() { return pages().bytes(); }

void halve_gradients(bool on) { gradients_are_halved = on; }

}  // namespace debias

// The memory of the device double: pages without any access outside a kernel, and host memory that says of itself that it is pinned.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace debias {

class DoublePages {
 public:
  void* allocate(size_t bytes);  // holds NaN, or -1: nobody may count on what is there
  void release(void* begin);
  void open(void* begin);  // for a kernel; as often as closed
  void close(void* begin);
  int64_t bytes();  // allocated now
  int64_t peak();

 private:
  struct Region {
    size_t size = 0;
    int opened = 0;
  };
  std::mutex mutex_;
  std::map<void*, Region> regions_;
  int64_t bytes_ = 0, peak_ = 0;
};

class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, size_t bytes) const override;
  bool holds(const void* at);
  void forget(void* begin);

 private:
  std::mutex mutex_;
  std::map<void*, size_t> pinned_;
};

// They stay to the end of the process: tensors may outlive statics.
DoublePages& pages();
PinnedMemory& pinned_memory();

// The host's view of a tensor of the device, while a kernel runs.
class Opened {
 public:
  explicit Opened(const at::Tensor& tensor) : begin_(tensor.storage().data_ptr().get()) {
    if (begin_ != nullptr) pages().open(begin_);
    char* first = static_cast<char*>(begin_) + static_cast<size_t>(tensor.storage_offset()) * tensor.itemsize();
    host = at::from_blob(begin_ == nullptr ? nullptr : first, tensor.sizes(), tensor.strides(), at::TensorOptions(tensor.scalar_type()));
  }
  ~Opened() {
    if (begin_ != nullptr) pages().close(begin_);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  at::Tensor host;

 private:
  void* begin_;
};

}  // namespace debias

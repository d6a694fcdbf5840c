// The memory and the streams of the device double: pages without any access outside a kernel, host memory that says of itself that it is
// pinned, and copies that wait on their stream until somebody waits for it.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

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

class DoubleStreams {
 public:
  using Key = std::pair<c10::DeviceIndex, c10::StreamId>;
  static Key key(const c10::Stream& stream) { return {stream.device_index(), stream.id()}; }

  void later(const Key& stream, std::function<void()> work);
  int64_t last(const Key& stream);                  // the number of what came last
  void run_until(const Key& stream, int64_t mark);  // and with it
  void run(const Key& stream) { run_until(stream, last(stream)); }

 private:
  struct Queue {
    int64_t last = 0;
    std::vector<std::pair<int64_t, std::function<void()>>> work;
  };
  std::mutex mutex_;
  std::map<Key, Queue> queues_;
};

DoubleStreams& streams();

}  // namespace debias

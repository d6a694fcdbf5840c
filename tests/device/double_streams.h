// The streams of the device double: copies that wait on theirs until somebody waits for it.
#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace debias {

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

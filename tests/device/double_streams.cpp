#include "tests/device/double_streams.h"

namespace debias {

void DoubleStreams::later(const Key& stream, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  Queue& queue = queues_[stream];
  queue.work.emplace_back(++queue.last, std::move(work));
}

int64_t DoubleStreams::last(const Key& stream) {
  const std::lock_guard lock(mutex_);
  return queues_[stream].last;
}

void DoubleStreams::run_until(const Key& stream, int64_t mark) {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    Queue& queue = queues_[stream];
    while (!queue.work.empty() && queue.work.front().first <= mark) {
      due.push_back(std::move(queue.work.front().second));
      queue.work.erase(queue.work.begin());
    }
  }
  for (const auto& work : due) work();
}

DoubleStreams& streams() {
  static auto* all = new DoubleStreams;
  return *all;
}

}  // namespace debias

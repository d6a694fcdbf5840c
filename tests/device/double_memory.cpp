#include "tests/device/double_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <stdexcept>

namespace debias {
namespace {

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::max<size_t>(1, (bytes + page - 1) / page) * page;
}

void protect(void* begin, size_t size, int rights) {
  if (mprotect(begin, size, rights) != 0) throw std::runtime_error("device double: mprotect failed");
}

void release_pinned(void* begin) {
  pinned_memory().forget(begin);
  ::operator delete(begin);
}

}  // namespace

void* DoublePages::allocate(size_t bytes) {
  const size_t size = whole_pages(bytes);
  void* begin = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  std::memset(begin, 0xff, size);
  const std::lock_guard lock(mutex_);
  protect(begin, size, PROT_NONE);
  regions_[begin] = {size, 0};
  bytes_ += static_cast<int64_t>(size);
  peak_ = std::max(peak_, bytes_);
  return begin;
}

void DoublePages::release(void* begin) {
  const std::lock_guard lock(mutex_);
  const auto found = regions_.find(begin);
  bytes_ -= static_cast<int64_t>(found->second.size);
  munmap(begin, found->second.size);
  regions_.erase(found);
}

void DoublePages::open(void* begin) {
  const std::lock_guard lock(mutex_);
  Region& region = regions_.at(begin);
  if (region.opened++ == 0) protect(begin, region.size, PROT_READ | PROT_WRITE);
}

void DoublePages::close(void* begin) {
  const std::lock_guard lock(mutex_);
  Region& region = regions_.at(begin);
  if (--region.opened == 0) protect(begin, region.size, PROT_NONE);
}

int64_t DoublePages::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

int64_t DoublePages::peak() {
  const std::lock_guard lock(mutex_);
  return peak_;
}

c10::DataPtr PinnedMemory::allocate(size_t bytes) {
  void* begin = ::operator new(std::max<size_t>(1, bytes));
  const std::lock_guard lock(mutex_);
  pinned_[begin] = bytes;
  return {begin, begin, &release_pinned, c10::Device(c10::kCPU)};
}

c10::DeleterFnPtr PinnedMemory::raw_deleter() const { return &release_pinned; }

void PinnedMemory::copy_data(void* to, const void* from, size_t bytes) const { std::memcpy(to, from, bytes); }

bool PinnedMemory::holds(const void* at) {
  const std::lock_guard lock(mutex_);
  const auto after = pinned_.upper_bound(const_cast<void*>(at));
  if (after == pinned_.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return static_cast<const char*>(at) < static_cast<char*>(begin) + std::max<size_t>(1, bytes);
}

void PinnedMemory::forget(void* begin) {
  const std::lock_guard lock(mutex_);
  pinned_.erase(begin);
}

DoublePages& pages() {
  static auto* all = new DoublePages;
  return *all;
}

PinnedMemory& pinned_memory() {
  static auto* all = new PinnedMemory;
  return *all;
}

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

#include "debias/ranks/rank_beats.h"

#include <algorithm>

namespace debias {

RankBeats::RankBeats(const StorePointer& store, std::string key, std::chrono::milliseconds interval)
    : store_(store->clone()), key_(std::move(key)), interval_(interval), thread_([this] { beat(); }) {}

RankBeats::~RankBeats() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void RankBeats::beat() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    lock.unlock();
    try {
      store_->add(key_, 1);
    } catch (const std::exception&) {  // the store is gone, which the main thread will find
    }
    lock.lock();
    over_.wait_for(lock, interval_, [this] { return is_over_; });
  }
}

void Nap::take() {
  constexpr std::chrono::milliseconds kLongest{100};
  std::this_thread::sleep_for(length_);
  length_ = std::min(2 * length_, kLongest);
}

}  // namespace debias

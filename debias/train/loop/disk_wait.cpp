#include "debias/train/loop/disk_wait.h"

#include <algorithm>
#include <thread>

namespace debias {

void DiskWait::run(const std::function<void()>& write) const {
  for (bool waited = false;; waited = true) {
    try {
      write();
      if (waited) log_.info("the disk has free space again: training continues");
      return;
    } catch (const DiskFull& full) {
      if (policy_ == OnFullDisk::kStop || is_stopped_()) throw;
      if (!waited) log_.warn(fmt::format("{}; waiting for space, checking every minute (train.on_full_disk: wait)", full.what()));
      pause(full);
    }
  }
}

// What is free says nothing about a quota, so that less than the need is waited for only where there is less on the disk itself.
void DiskWait::pause(const DiskFull& full) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kNap{100};
  do {
    for (const auto end = Clock::now() + interval_; Clock::now() < end && !is_stopped_();) {
      std::this_thread::sleep_for(std::min(kNap, interval_));
    }
  } while (!is_stopped_() && free_bytes(full.path()).value_or(full.needed()) < full.needed());
}

}  // namespace debias

// Writing that waits for room on a full disk (`train.on_full_disk: wait`).
#pragma once

#include <chrono>
#include <functional>

#include "debias/core/atomic_file.h"
#include "debias/core/progress.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

class DiskWait {
 public:
  // `is_stopped` is true once a stop of the run was requested.
  DiskWait(OnFullDisk policy, std::chrono::milliseconds interval, std::function<bool()> is_stopped, Log& log)
      : policy_(policy), interval_(interval), is_stopped_(std::move(is_stopped)), log_(log) {}

  // Calls `write`; while that throws DiskFull, logs it once, and calls `write` again after each interval with enough room.
  // Throws DiskFull with kStop, and when the run was stopped meanwhile and one more attempt failed.
  void run(const std::function<void()>& write) const;

 private:
  void pause(const DiskFull& full) const;

  OnFullDisk policy_;
  std::chrono::milliseconds interval_;
  std::function<bool()> is_stopped_;
  Log& log_;
};

}  // namespace debias

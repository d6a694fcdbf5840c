// The lock of a run folder: one training process at a time, however many start at the same moment.
//
// It is an flock of RUN/.lock. That file is never replaced nor removed by a run, so that all who try have the same one; config.yaml, which
// is replaced, would be another file for each. It is taken before the folder is read, and is released when the process ends. Readers
// (eval, report, checkpoint) take none.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "debias/core/input_file.h"
#include "debias/core/progress.h"

namespace debias {

class RunLock {
 public:
  using Flock = std::function<int(int descriptor, int operation)>;

  // Locks an existing folder. Throws a usage error while another process has it; if the file system has no locks (`lock` fails with ENOLCK,
  // ENOSYS or EOPNOTSUPP), warns in `log` and continues without one.
  static RunLock take(const std::string& folder, Log& log);
  static RunLock take(const std::string& folder, Log& log, const Flock& lock);

 private:
  explicit RunLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

inline constexpr const char* kLockFile = ".lock";

// Waits until nobody holds the lock of the folder, which need not exist, at most so long: a process that was killed a moment ago has its lock
// until the system has taken its memory back. False where somebody holds it still.
bool wait_until_unlocked(const std::string& folder, std::chrono::milliseconds patience);

}  // namespace debias

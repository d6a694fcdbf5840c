// A run is its folder: config.yaml, metrics, logs, environment.json, checkpoints/, evaluation/, exported/, .lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/input_file.h"
#include "debias/core/progress.h"

namespace debias {

// The lock of a run folder: one training process at a time, however many start at the same moment.
//
// It is an flock of RUN/.lock. That file is never replaced nor removed by a run, so that all who try have the same one; config.yaml, which
// is replaced, would be another file for each. It is taken before the folder is read, and is released when the process ends. Readers
// (eval, report, checkpoint) take none.
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

enum class ExistingFolder { kRefuse, kResume, kOverwrite };

class RunFolder {
 public:
  // Creates the folder with config.yaml and environment.json, or takes an existing one for --resume. Usage errors: the folder exists and
  // neither --resume nor --overwrite was given; it is inside one of `data_roots`;
  // --overwrite of a folder that is not a run; another process is training in it; --resume with a recipe that trains otherwise (the first
  // differing key is named), or if config.yaml is not a recipe any more.
  static RunFolder open(const std::string& path, ExistingFolder existing, const Config& resolved,
                        const std::vector<std::string>& data_roots, Log& log);
  void put_in_force(const Config& resolved);  // into config.yaml, whole or not at all

  const std::string& path() const { return path_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  bool resumed() const { return resumed_; }

 private:
  RunFolder(std::string path, RunLock lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  bool resumed_ = false;
  RunLock lock_;
};

struct ConfigChange {
  std::string key;  // "train.epochs"
  std::string then, now;
};

// Differences of two resolved recipes, key by key. Options that the optimizer of one lacks have their defaults there.
std::vector<ConfigChange> config_changes(const Config& then, const Config& now);

}  // namespace debias

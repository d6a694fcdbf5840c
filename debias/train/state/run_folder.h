// A run is its folder: config.yaml, metrics, logs, environment.json, checkpoints/, evaluation/, exported/, .lock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"
#include "debias/train/state/run_lock.h"

namespace debias {

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

// A run is its folder: config.yaml, metrics, logs, environment.json, checkpoints/, evaluation/, exported/.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/core/progress.h"

namespace debias {

enum class ExistingFolder { kRefuse, kResume, kOverwrite };

class RunFolder {
 public:
  // Creates the folder with config.yaml and environment.json, or takes an existing one for --resume. Usage errors: the folder exists and
  // neither --resume nor --overwrite was given; it lies inside one of `data_roots`; --overwrite of a folder that is not a run; another
  // process is training in it; --resume with another recipe (the first differing key is named).
  static RunFolder open(const std::string& path, ExistingFolder existing, const Config& resolved,
                        const std::vector<std::string>& data_roots, Log& log);
  ~RunFolder();
  RunFolder(RunFolder&&) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string checkpoints() const { return path_ + "/checkpoints"; }
  bool resumed() const { return resumed_; }

 private:
  RunFolder() = default;
  std::string path_;
  bool resumed_ = false;
  int lock_ = -1;
};

// The first key at which two resolved recipes differ in a way that changes the run ("" when none does): workers, prefetch, threads and
// checkpoint_every may differ.
std::string first_difference(const Config& a, const Config& b);

void refuse_inside_data(const std::string& output, const std::vector<std::string>& data_roots);

}  // namespace debias

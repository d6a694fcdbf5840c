#include "debias/train/run_folder.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <utility>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

bool may_differ(const std::string& path) {
  return path == "train.workers" || path == "train.prefetch" || path == "train.threads" || path == "train.checkpoint_every" ||
         path == "output" || path == "expected" || path == "name";
}

std::string difference(const Config& a, const Config& b, const std::string& path) {
  if (may_differ(path)) return "";
  if (a.is_map() && b.is_map()) {
    const auto visit = [&](const Config& from, const Config& to) -> std::string {
      for (const auto& [key, value] : from.entries()) {
        const std::string sub = path.empty() ? key : path + "." + key;
        const Config* other = to.find(key);
        const std::string found = difference(value, other == nullptr ? Config() : *other, sub);
        if (!found.empty()) return found;
      }
      return "";
    };
    const std::string forward = visit(a, b);
    return forward.empty() ? visit(b, a) : forward;
  }
  return a.to_json() == b.to_json() ? "" : path;
}

nlohmann::ordered_json environment() {
  utsname system{};
  uname(&system);
  return {{"debias", DEBIAS_VERSION},
          {"libtorch", TORCH_VERSION},
          {"compiler", __VERSION__},
          {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
          {"cpu_threads", std::thread::hardware_concurrency()},
          {"instruction_set", at::get_cpu_capability()}};
}

// Empty, or stopped while config.yaml was being written.
bool holds_nothing(const std::string& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (name == "config.yaml" || !name.starts_with("config.yaml")) return false;
  }
  return true;
}

void create(const std::string& path) {
  for (const char* sub : {"checkpoints", "evaluation", "exported"}) {
    std::error_code code;
    fs::create_directories(fs::path(path) / sub, code);
    if (code) throw resource_error("creating run folder '{}': {}; choose another output", path, code.message());
  }
}

}  // namespace

std::string first_difference(const Config& a, const Config& b) { return difference(a, b, ""); }

void refuse_inside_data(const std::string& output, const std::vector<std::string>& data_roots) {
  const fs::path target = fs::weakly_canonical(fs::absolute(output));
  for (const auto& root : data_roots) {
    std::error_code code;
    const fs::path folder = fs::weakly_canonical(fs::absolute(root), code);
    const auto mismatch = std::mismatch(folder.begin(), folder.end(), target.begin(), target.end());
    if (!code && mismatch.first == folder.end()) {
      throw usage_error("output '{}' lies inside the data folder '{}'; nothing is written there: choose another output", output, root);
    }
  }
}

RunFolder RunFolder::open(const std::string& path, ExistingFolder existing, const Config& resolved,
                          const std::vector<std::string>& data_roots, Log& log) {
  refuse_inside_data(path, data_roots);
  RunFolder run;
  run.path_ = path;
  std::error_code code;
  const bool present = fs::exists(path, code);
  const std::string config_path = path + "/config.yaml";
  const bool is_run = present && fs::exists(config_path);
  if (present && !fs::is_directory(path)) throw usage_error("output '{}' is a file; choose another output", path);
  const bool empty = present && holds_nothing(path);
  if (present && !empty) {
    if (existing == ExistingFolder::kRefuse) {
      throw usage_error("output '{}' exists; go on with --resume, start again with --overwrite, or choose another output", path);
    }
    if (!is_run) throw usage_error("output '{}' exists and is no run folder (it has no config.yaml); choose another output", path);
  }
  if (present && is_run) {
    run.lock_ = ::open(config_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (run.lock_ < 0 || flock(run.lock_, LOCK_EX | LOCK_NB) != 0) {
      throw usage_error("output '{}' is in use by another training process; wait for it or choose another output", path);
    }
  }
  if (is_run && existing == ExistingFolder::kResume) {
    const std::string differs = first_difference(read_yaml_file(config_path), resolved);
    if (!differs.empty()) {
      throw usage_error("resuming '{}': the recipe differs from the run's config.yaml at '{}'; resume with the run's own recipe", path,
                        differs);
    }
    run.resumed_ = true;
    create(path);
    return run;
  }
  if (existing == ExistingFolder::kResume) log.warn(fmt::format("nothing to resume in '{}': starting from the beginning", path));
  if (is_run) {  // --overwrite: only what a run consists of
    for (const auto& entry : fs::directory_iterator(path)) {
      const std::string name = entry.path().filename();
      if (name == "checkpoints" || name == "evaluation" || name == "exported" || name.starts_with("metrics.") || name == "train.log" ||
          name == "environment.json" || name == "report.html" || name.starts_with("events.out.tfevents.")) {
        fs::remove_all(entry.path(), code);
      }
    }
    if (run.lock_ >= 0) close(run.lock_);
    run.lock_ = -1;
  }
  fs::create_directories(path, code);
  if (code) throw resource_error("creating run folder '{}': {}; choose another output", path, code.message());
  write_file_atomically(config_path, resolved.to_yaml());
  create(path);
  write_file_atomically(path + "/environment.json", environment().dump(2) + "\n");
  run.lock_ = ::open(config_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (run.lock_ < 0 || flock(run.lock_, LOCK_EX | LOCK_NB) != 0) {
    throw usage_error("output '{}' is in use by another training process; wait for it or choose another output", path);
  }
  return run;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), resumed_(other.resumed_), lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

}  // namespace debias

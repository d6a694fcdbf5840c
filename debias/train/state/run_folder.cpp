#include "debias/train/state/run_folder.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/recipe_keys.h"
#include "debias/encoders/encoder.h"
#include "debias/optim/optimizer.h"
#include "debias/results/run_files.h"
#include "debias/train/recipe/recipe.h"

namespace debias {
namespace {

Descriptor open_lock_file(const std::string& path) {
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);  // over NFS an exclusive lock wants a file open for writing
  if (file < 0 && errno == EACCES) file = open(path.c_str(), O_RDONLY | O_CLOEXEC);  // of another user of a shared folder
  if (file < 0) throw resource_error("opening '{}': {}; check the folder, its permissions and the disk", path, std::strerror(errno));
  return Descriptor(file);
}

// Somebody may have removed the folder, or the file, and made it again: the lock of one that has no name says nothing.
bool is_still_at(const std::string& path, int descriptor) {
  struct stat opened {
  }, present{};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &present) == 0 && opened.st_ino == present.st_ino &&
         opened.st_dev == present.st_dev;
}

// 0, or the reason as errno has it.
int tried(const RunLock::Flock& lock, int descriptor) {
  while (lock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

bool has_no_locks(int reason) { return reason == ENOLCK || reason == ENOSYS || reason == EOPNOTSUPP; }

}  // namespace

RunLock RunLock::take(const std::string& folder, Log& log) { return take(folder, log, ::flock); }

RunLock RunLock::take(const std::string& folder, Log& log, const Flock& lock) {
  const std::string path = folder + "/" + kLockFile;
  while (true) {
    RunLock held(open_lock_file(path));
    const int reason = tried(lock, held.file_.value());
    if (reason == EWOULDBLOCK) {
      throw usage_error("output '{}' is in use by another training process; wait for it or choose another output", folder);
    }
    if (has_no_locks(reason)) {
      log.warn(fmt::format("output '{}': its file system has no locks ({}); make sure that no other process trains there", folder,
                           std::strerror(reason)));
      return held;
    }
    if (reason != 0) throw resource_error("locking '{}': {}; choose another output", path, std::strerror(reason));
    if (is_still_at(path, held.file_.value())) return held;
  }
}

bool wait_until_unlocked(const std::string& folder, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause(20);
  const auto until = std::chrono::steady_clock::now() + patience;
  const Descriptor file(open((folder + "/" + kLockFile).c_str(), O_RDONLY | O_CLOEXEC));
  while (file.value() >= 0 && tried(::flock, file.value()) == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;  // and unlocked again when the file is closed
}

namespace {

namespace fs = std::filesystem;

void collect_changes(const Config& then, const Config& now, const std::string& path, std::vector<ConfigChange>& changes) {
  const bool has_keys = (then.is_map() || then.is_null()) && (now.is_map() || now.is_null());
  if (!has_keys) {
    if (then.to_json() != now.to_json()) changes.push_back({path, then.to_json().dump(), now.to_json().dump()});
    return;
  }
  const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  for (const auto& [key, value] : then.entries()) {
    const Config* other = now.find(key);
    collect_changes(value, other == nullptr ? Config() : *other, below(key), changes);
  }
  for (const auto& [key, value] : now.entries()) {
    if (then.find(key) == nullptr) collect_changes(Config(), value, below(key), changes);
  }
}

// A resolved recipe of an older program lacks the options that have been gained since; their defaults are what it did.
Config in_full(Config recipe) {
  if (const Config* train = recipe.find("train")) recipe.set("train", with_defaults(*train, option_specs<TrainOptions>()));
  const Config* optimizer = recipe.find("optimizer");
  if (optimizer != nullptr) recipe.set("optimizer", read_optimizer(*optimizer).section);
  const Config* encoder = recipe.find("encoder");
  if (encoder != nullptr) recipe.set("encoder", read_encoder(*encoder).section);
  return recipe;
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

void write_environment(const std::string& folder) { write_file_atomically(folder + "/environment.json", environment().dump(2) + "\n"); }

// Empty, or stopped while config.yaml was being written.
bool holds_nothing(const std::string& path) {
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (name != kLockFile && (name == "config.yaml" || !name.starts_with("config.yaml"))) return false;
  }
  return true;
}

void create_folder(const std::string& path, const std::string& folder) {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code) throw resource_error("creating run folder '{}': {}; choose another output", path, code.message());
}

void create_parts(const std::string& path) {
  for (const char* part : {"checkpoints", "evaluation", "exported"}) create_folder(path, path + "/" + part);
}

Error no_run_folder(const std::string& path) {
  return usage_error("output '{}' exists and is not a run folder (no config.yaml); choose another output", path);
}

// Ahead of the lock, so that not even that is left in somebody's folder. A run that is being made at this moment has its lock file before
// it has anything else.
void refuse_what_is_no_run(const std::string& path) {
  std::error_code code;
  if (!fs::exists(path, code)) return;
  if (!fs::is_directory(path)) throw usage_error("output '{}' is a file; choose another output", path);
  if (holds_nothing(path) || fs::exists(path + "/config.yaml") || fs::exists(path + "/" + kLockFile)) return;
  throw no_run_folder(path);
}

// --overwrite: only what a run consists of, less the lock.
void empty_run(const std::string& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (name == "checkpoints" || name == "evaluation" || name == "exported" || name.starts_with("metrics.") || name == "train.log" ||
        name == kEpochTimesFile || name == "environment.json" || name == "classes.json" || name == "data" || name == "report.html" ||
        name == "replay.pictures" || name == "nearest_sentences.json" || name.starts_with("events.out.tfevents.")) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

// NAME.tmp-PROCESS-NUMBER of a process that has ended (atomic_file.h): killed before it could remove it. A process of ours in a container
// often has the number of the one before it.
bool is_abandoned(const std::string& name) {
  const size_t mark = name.rfind(".tmp-");
  if (mark == std::string::npos) return false;
  const std::string numbers = name.substr(mark + 5);
  const size_t dash = numbers.find('-');
  int64_t process = 0, count = 0;
  if (dash == std::string::npos || !parse_integer(numbers.substr(0, dash), &process) || !parse_integer(numbers.substr(dash + 1), &count)) {
    return false;
  }
  return process == getpid() || (kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH);
}

void remove_abandoned(const std::string& path) {
  std::error_code ignored;
  std::vector<fs::path> abandoned;
  for (const auto& entry : fs::recursive_directory_iterator(path, ignored)) {
    if (is_abandoned(entry.path().filename())) abandoned.push_back(entry.path());
  }
  for (const auto& found : abandoned) fs::remove_all(found, ignored);
}

Error emptied_config(const std::string& path) {
  return usage_error("resuming '{}': its config.yaml is empty or damaged; restore it: debias checkpoint show {} --recipe > {}/config.yaml",
                     path, path, path);
}

void require_same_training(const std::string& path, const Config& resolved) {
  const Config written = read_yaml_file(path + "/config.yaml");
  if (!written.is_map()) throw emptied_config(path);
  for (const auto& change : config_changes(written, resolved)) {
    if (!changes_training(change.key)) continue;
    throw usage_error("resuming '{}': the recipe differs from the run's config.yaml at '{}' ({} there, {} now); resume with the run's own",
                      path, change.key, change.then, change.now);
  }
}

}  // namespace

std::vector<ConfigChange> config_changes(const Config& then, const Config& now) {
  std::vector<ConfigChange> changes;
  collect_changes(in_full(then), in_full(now), "", changes);
  return changes;
}

RunFolder RunFolder::open(const std::string& path, ExistingFolder existing, const Config& resolved,
                          const std::vector<std::string>& data_roots, Log& log) {
  std::error_code ignored;
  if (existing == ExistingFolder::kResume && fs::exists(path + "/config.yaml", ignored)) {
    refuse_run_inside_data(path, data_roots);
  } else {
    refuse_inside_data(path, data_roots);
  }
  refuse_what_is_no_run(path);
  create_folder(path, path);
  RunFolder run(path, RunLock::take(path, log));
  const bool is_run = fs::exists(path + "/config.yaml");
  if (!holds_nothing(path)) {
    if (existing == ExistingFolder::kRefuse) {
      throw usage_error("output '{}' exists; continue with --resume, start again with --overwrite, or choose another output", path);
    }
    if (!is_run) throw no_run_folder(path);
  }
  if (is_run && existing == ExistingFolder::kResume) {
    require_same_training(path, resolved);
    run.resumed_ = true;
    remove_abandoned(path);
    create_parts(path);
    if (!fs::exists(path + "/environment.json")) write_environment(path);  // killed as the folder was made
    return run;
  }
  if (existing == ExistingFolder::kResume) log.warn(fmt::format("nothing to resume in '{}': starting from the beginning", path));
  if (is_run) empty_run(path);
  write_file_atomically(path + "/config.yaml", resolved.to_yaml());
  create_parts(path);
  write_environment(path);
  remove_abandoned(path);
  return run;
}

void RunFolder::put_in_force(const Config& resolved) {
  const std::string config_path = path_ + "/config.yaml";
  const std::string text = resolved.to_yaml();
  if (read_yaml_file(config_path).to_yaml() != text) write_file_atomically(config_path, text);
}

}  // namespace debias

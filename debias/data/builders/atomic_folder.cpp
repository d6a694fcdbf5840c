#include "debias/data/builders/atomic_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "debias/core/error.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

Error exists_error(const std::string& path) { return usage_error("'{}' exists already; choose another folder, or remove it first", path); }

Error write_error(const std::string& path, const std::string& action, const std::string& reason) {
  return resource_error("writing '{}': {} failed: {}; check the folder, its permissions and the disk", path, action, reason);
}

void flush_file_system_of(const std::string& folder) {  // one call in place of an fsync for each of many small files
  const Descriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.value() < 0) return;
  if (syncfs(opened.value()) != 0) throw write_error(folder, "flushing", std::strerror(errno));
}

// rename() would replace an empty folder that appeared in the meantime.
bool rename_unless_there(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;  // a file system without this flag
  if (fs::exists(fs::symlink_status(to))) {
    errno = EEXIST;
    return false;
  }
  return rename(from.c_str(), to.c_str()) == 0;
}

// `from` has then what `to` had.
bool exchange_folders(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;  // a file system without this flag
  const std::string old = from + "-old";
  return rename(to.c_str(), old.c_str()) == 0 && rename(from.c_str(), to.c_str()) == 0 && rename(old.c_str(), from.c_str()) == 0;
}

// A descriptor of the folder under a lock of our own; -1 where somebody else has one, or the folder is gone. Without locks in the file
// system it is a bare descriptor, if `even_unlocked`.
Descriptor locked(const std::string& folder, bool even_unlocked) {
  Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (lock.value() < 0) return lock;
  const bool held = flock(lock.value(), LOCK_EX | LOCK_NB) == 0 || (even_unlocked && errno != EWOULDBLOCK);
  struct stat opened {
  }, present{};
  const bool there = fstat(lock.value(), &opened) == 0 && lstat(folder.c_str(), &present) == 0 && opened.st_ino == present.st_ino;
  if (!held || !there) lock.shut();
  return lock;
}

// "PREFIX12-3"
bool is_temporary(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const size_t dash = std::min(name.find('-'), name.size());
  return is_number(name.substr(0, dash)) && dash < name.size() && is_number(name.substr(dash + 1));
}

void remove_abandoned(const fs::path& target) {
  const std::string prefix = target.filename().string() + ".tmp-";
  std::error_code failure;
  std::vector<std::string> candidates;
  for (fs::directory_iterator entry(target.parent_path(), failure), end; !failure && entry != end; entry.increment(failure)) {
    if (is_temporary(entry->path().filename().string(), prefix)) candidates.push_back(entry->path().string());
  }
  for (const std::string& folder : candidates) {
    const Descriptor lock = locked(folder, false);
    if (lock.value() >= 0) fs::remove_all(folder, failure);
  }
}

}  // namespace

AtomicFolder::AtomicFolder(const std::string& path, Present present) : present_(present) {
  if (path.empty()) throw usage_error("no output folder is given");
  fs::path target = fs::absolute(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/"
  std::error_code failure;
  if (fs::exists(fs::symlink_status(target, failure))) {
    if (present == Present::kRefuse) throw exists_error(path);
    if (!fs::is_directory(target, failure)) throw usage_error("'{}' is not a folder; choose another, or remove it first", path);
    target = fs::canonical(target);  // a link stays one
  }
  path_ = target.string();
  fs::create_directories(target.parent_path(), failure);
  if (failure) throw write_error(path, "making the folder above it", failure.message());
  remove_abandoned(target);
  static std::atomic<uint64_t> count{0};
  constexpr int kAttempts = 100;  // a name may be taken, or removed as abandoned before it is locked
  for (int attempt = 0; attempt < kAttempts && lock_.value() < 0 && !failure; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, getpid(), count++);
    if (!fs::create_directory(temporary_, failure)) continue;
    lock_ = locked(temporary_, true);
    std::error_code ignored;
    if (lock_.value() < 0) fs::remove(temporary_, ignored);
  }
  if (lock_.value() < 0) {
    temporary_.clear();
    throw write_error(path, "making it", failure ? failure.message() : std::strerror(errno));
  }
  unfinished_ = Unfinished(temporary_);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  flush_file_system_of(temporary_);
  if (present_ == Present::kReplace && fs::is_directory(path_)) {
    if (!exchange_folders(temporary_, path_)) throw write_error(path_, "renaming", std::strerror(errno));
    flush_file_system_of(fs::path(path_).parent_path().string());
    return;  // the destructor removes what was replaced
  }
  if (!rename_unless_there(temporary_, path_)) {
    if (errno == EEXIST) throw exists_error(path_);
    throw write_error(path_, "renaming", std::strerror(errno));
  }
  temporary_.clear();
  flush_file_system_of(fs::path(path_).parent_path().string());
}

void write_into_folder(const std::string& path, const std::vector<uint8_t>& bytes) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  bool good = file.value() >= 0;
  size_t written = 0;
  while (good && written < bytes.size()) {
    const ssize_t count = write(file.value(), bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    good = count >= 0;
    if (good) written += static_cast<size_t>(count);
  }
  good = good && close(file.release()) == 0;  // over a network it may be the first to say that the disk is full
  if (!good) throw resource_error("writing '{}' failed: {}; check the folder and the disk", path, std::strerror(errno));
}

}  // namespace debias

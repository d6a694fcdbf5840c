#include "debias/data/atomic_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "debias/core/error.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

Error exists_error(const std::string& path) { return usage_error("'{}' exists already; choose another folder, or remove it first", path); }

Error write_error(const std::string& path, const std::string& action, const std::string& reason) {
  return resource_error("writing '{}': {} failed: {}; check the folder, its permissions and the disk", path, action, reason);
}

void flush_file_system_of(const std::string& folder) {  // one call in place of an fsync for each of many small files
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  const bool flushed = syncfs(descriptor) == 0;
  const int reason = errno;
  close(descriptor);
  if (!flushed) throw write_error(folder, "flushing", std::strerror(reason));
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

}  // namespace

AtomicFolder::AtomicFolder(const std::string& path) {
  if (path.empty()) throw usage_error("no output folder is given");
  fs::path target = fs::absolute(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/"
  path_ = target.string();
  std::error_code failure;
  if (fs::exists(fs::symlink_status(target, failure))) throw exists_error(path);
  fs::create_directories(target.parent_path(), failure);
  if (failure) throw write_error(path, "making the folder above it", failure.message());
  static std::atomic<uint64_t> count{0};
  do {  // a name is taken where a killed process with the same number left its folder
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, getpid(), count++);
  } while (!fs::create_directory(temporary_, failure) && !failure);
  if (failure) {
    temporary_.clear();
    throw write_error(path, "making it", failure.message());
  }
}

AtomicFolder::~AtomicFolder() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void AtomicFolder::commit() {
  flush_file_system_of(temporary_);
  if (!rename_unless_there(temporary_, path_)) {
    if (errno == EEXIST) throw exists_error(path_);
    throw write_error(path_, "renaming", std::strerror(errno));
  }
  temporary_.clear();
  flush_file_system_of(fs::path(path_).parent_path().string());
}

}  // namespace debias

#include "debias/sweep/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "debias/core/error.h"

namespace debias {
namespace {

// Not inherited by children, which may outlive the process.
int opened(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw resource_error("opening '{}': {}; check its permissions", path, std::strerror(errno));
  return descriptor;
}

// False while another process has it. Where the file system has no locks, the lock is had.
bool locked(int descriptor, int operation) {
  while (flock(descriptor, operation) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return true;
  }
  return true;
}

}  // namespace

FolderLock FolderLock::wait(const std::string& folder, const std::string& name) {
  FolderLock lock(opened(folder + "/" + name));
  locked(lock.descriptor_, LOCK_EX);
  return lock;
}

FolderLock FolderLock::take(const std::string& folder, const std::string& name, const std::string& otherwise) {
  FolderLock lock(opened(folder + "/" + name));
  if (!locked(lock.descriptor_, LOCK_EX | LOCK_NB)) throw Error(ErrorKind::kUsage, otherwise);
  return lock;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

}  // namespace debias

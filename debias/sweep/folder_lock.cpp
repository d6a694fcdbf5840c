#include "debias/sweep/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "debias/core/error.h"

namespace debias {
namespace {

// Not inherited by children, which may outlive the process.
Descriptor opened(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.value() < 0) throw resource_error("opening '{}': {}; check its permissions", path, std::strerror(errno));
  return file;
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
  locked(lock.file_.value(), LOCK_EX);
  return lock;
}

FolderLock FolderLock::take(const std::string& folder, const std::string& name, const std::string& otherwise) {
  FolderLock lock(opened(folder + "/" + name));
  if (!locked(lock.file_.value(), LOCK_EX | LOCK_NB)) throw Error(ErrorKind::kUsage, otherwise);
  return lock;
}

}  // namespace debias

#include "debias/train/state/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "debias/core/error.h"

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

}  // namespace debias

#include "debias/core/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "debias/core/descriptor.h"
#include "debias/core/disk_full.h"
#include "debias/core/error.h"

namespace debias {
namespace {

[[noreturn]] void cannot_write(const std::string& path, const char* action) {
  if (errno == EFBIG) throw file_too_large(path);
  throw resource_error("writing '{}': {} failed: {}; check the folder, its permissions and the disk", path, action, std::strerror(errno));
}

// A rename lives in the folder; until that is on disk too, a power cut can undo it.
void flush_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  const Descriptor opened(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.value() < 0) return;  // a folder may be writable and not readable: the file is whole all the same
  const bool flushed = fsync(opened.value()) == 0 || errno == EINVAL;  // EINVAL: this file system flushes no folders
  if (!flushed) cannot_write(path, "flushing its folder");
}

// Renaming over /dev/null or a pipe would replace it for everyone.
void refuse_what_is_no_file(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
    throw resource_error("writing '{}': it exists and is not a regular file; give another path", path);
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path, uint64_t bytes) : path_(std::move(path)), bytes_(bytes) {
  static std::atomic<uint64_t> count{0};
  refuse_what_is_no_file(path_);
  do {  // a name is taken where a killed process with the same number left its file
    temporary_ = fmt::format("{}.tmp-{}-{}", path_, getpid(), count++);
    descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("opening");
  }
  unfinished_ = Unfinished(temporary_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* action) const {
  if (!means_full_disk(errno)) cannot_write(path_, action);
  const int reason = errno;
  struct stat about {};
  const bool known = !temporary_.empty() && stat(temporary_.c_str(), &about) == 0;
  errno = reason;
  constexpr uint64_t kBlock = 512;  // of st_blocks, whatever the disk's own is
  throw DiskFull(path_, bytes_, known ? kBlock * static_cast<uint64_t>(about.st_blocks) : 0);
}

void AtomicFile::write(const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  bytes_ = std::max(bytes_, written_ + bytes);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, from, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("writing");
    from += count;
    written_ += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail("flushing");
  if (close(std::exchange(descriptor_, -1)) != 0) fail("closing");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("renaming");
  temporary_.clear();
  flush_folder_of(path_);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path, text.size());
  file.write(text.data(), text.size());
  file.commit();
}

void rename_durably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) cannot_write(to, fmt::format("renaming '{}'", from).c_str());
  flush_folder_of(to);
}

}  // namespace debias

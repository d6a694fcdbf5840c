#include "debias/core/atomic_file.h"

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

[[noreturn]] void fail(const std::string& path, const char* doing) {
  throw resource_error("writing '{}': {} failed: {}; check the folder, its permissions and the disk", path, doing, std::strerror(errno));
}

void flush_folder(const std::string& path) {
  const auto parent = std::filesystem::absolute(path).parent_path();
  const int folder = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);  // best effort: some file systems refuse to flush folders
  close(folder);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  static std::atomic<uint64_t> count{0};
  temporary_ = fmt::format("{}.tmp-{}-{}", path_, getpid(), count++);
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(path_, "opening");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::write(descriptor_, from, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(path_, "writing");
    from += count;
    bytes -= static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0 && errno != EINVAL) fail(path_, "flushing");
  const int descriptor = descriptor_;
  if (close(descriptor) != 0) {
    descriptor_ = -1;
    unlink(temporary_.c_str());
    fail(path_, "closing");
  }
  descriptor_ = -1;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    unlink(temporary_.c_str());
    errno = reason;
    fail(path_, "renaming");
  }
  flush_folder(path_);
}

void write_file_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

void rename_durably(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) fail(to, "renaming");
  flush_folder(to);
}

}  // namespace debias

#include "debias/core/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "debias/core/descriptor.h"
#include "debias/core/file_error.h"
#include "debias/core/start_of_path.h"

namespace debias {

std::vector<uint8_t> read_file_bytes(const std::string& path, int64_t limit) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang; it has no effect on regular files.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value() < 0) {
    const int reason = errno;
    throw FileError(path, fmt::format("cannot be opened: {}{}", std::strerror(reason), reason == ENOENT ? start_of(path) : ""));
  }
  struct stat status {};
  if (fstat(file.value(), &status) != 0) throw FileError(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) throw FileError(path, "is not a regular file");
  if (status.st_size > limit) throw FileError(path, fmt::format("has {} bytes, more than the {} allowed", status.st_size, limit));
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = read(file.value(), bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) throw FileError(path, "became shorter while it was read");
    filled += static_cast<size_t>(got);
  }
  return bytes;
}

void require_root(const std::string& root, const std::string& what, const std::string& looked_for) {
  if (root.empty()) throw usage_error("{}: no root is given; write root: DIR, the folder with {}", what, looked_for);
  std::error_code failure;
  if (std::filesystem::is_directory(root, failure)) return;
  throw FileError(root, fmt::format("{}: no such folder{}, to look in for {}; put the data there, or name their folder: root=DIR, and in a "
                                    "recipe data.train.root=DIR data.test.root=DIR",
                                    what, start_of(root), looked_for));
}

}  // namespace debias

#include "debias/core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "debias/core/error.h"

namespace debias {

// Without O_NONBLOCK, opening a named pipe would wait for somebody to write into it.
InputFile::InputFile(std::string path) : path_(std::move(path)), file_(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
  if (file_.value() < 0) throw data_error("opening '{}': {}; check the path", path_, std::strerror(errno));
  struct stat about {};
  if (fstat(file_.value(), &about) != 0 || !S_ISREG(about.st_mode)) {
    throw data_error("opening '{}': it is not a regular file; check the path", path_);
  }
  size_ = static_cast<uint64_t>(about.st_size);
}

void InputFile::read(uint64_t offset, void* out, size_t bytes) const {
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t count = pread(file_.value(), to, bytes, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw data_error("reading '{}': {}", path_, std::strerror(errno));
    if (count == 0) throw data_error("reading '{}': it ends at byte {}, {} more were expected: it is cut", path_, offset, bytes);
    to += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
}

}  // namespace debias

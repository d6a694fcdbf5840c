#include "fuzz/fuzz_target.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace debias::fuzz {
namespace {

namespace fs = std::filesystem;

void require_call(bool worked, const char* call) {
  if (worked) return;
  std::perror(call);
  std::abort();
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

MemoryFile::MemoryFile() : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  require_call(descriptor_ >= 0, "memfd_create");
}

MemoryFile::~MemoryFile() { close(descriptor_); }

void MemoryFile::hold(Bytes bytes) {
  require_call(ftruncate(descriptor_, 0) == 0, "ftruncate");
  require_call(pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "pwrite");
}

MemoryFolder::MemoryFolder(const std::vector<std::string>& names)
    : path_((fs::temp_directory_path() / "debias_fuzz_XXXXXX").string()), files_(names.size()) {
  require_call(mkdtemp(path_.data()) != nullptr, "mkdtemp");
  for (size_t i = 0; i < names.size(); ++i) {
    const fs::path link = fs::path(path_) / names[i];
    fs::create_directories(link.parent_path());
    fs::create_symlink(files_[i].path(), link);
  }
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void MemoryFolder::hold(size_t file, Bytes bytes) { files_.at(file).hold(bytes); }

Bytes take(Bytes& rest, size_t count) {
  const Bytes first = rest.first(std::min(count, rest.size()));
  rest = rest.subspan(first.size());
  return first;
}

uint32_t take_number(Bytes& rest, size_t bytes) {
  uint32_t number = 0;
  uint32_t shift = 0;
  for (const uint8_t byte : take(rest, bytes)) {
    number |= uint32_t{byte} << shift;
    shift += 8;
  }
  return number;
}

std::vector<uint8_t> repeated(Bytes pattern, size_t size) {
  std::vector<uint8_t> bytes(size);
  if (pattern.empty()) return bytes;
  for (size_t i = 0; i < size; ++i) bytes[i] = pattern[i % pattern.size()];
  return bytes;
}

void require(bool condition, const char* law) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: this does not hold: %s\n", law);
  std::abort();
}

void refused_only_as(ErrorKind kind, const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string message = error.what();
    require(error.kind() == kind, "bad input is refused with its own kind of error");
    require(!message.empty(), "a refusal says why");
    require(kind != ErrorKind::kData || std::none_of(message.begin(), message.end(), is_control),
            "a message about data is one line without control characters");
  }
}

}  // namespace debias::fuzz

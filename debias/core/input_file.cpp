#include "debias/core/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/stand_in.h"

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

void Descriptor::shut() {
  if (value_ >= 0) close(release());
}

namespace {

constexpr size_t kLooked = 64;

std::string first_bytes(const InputFile& file) {
  std::string bytes(std::min<uint64_t>(kLooked, file.size()), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

// A header's length below 4 GB, and the header.
bool is_safetensors(const std::string& bytes) { return bytes.size() > 8 && bytes.substr(4, 4) == std::string(4, '\0') && bytes[8] == '{'; }

// A zip archive, or a pickle of protocol 2 to 5, the first of which torch wrote before 1.6.
bool is_of_torch(const std::string& bytes) {
  if (bytes.starts_with("PK\x03\x04")) return true;
  return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

// A protobuf whose field 1, the format's version, is a small number, with the producer's name or the graph behind it.
bool is_onnx(const std::string& bytes, const std::string& path) {
  constexpr char kMostVersions = 64, kProducer = 0x12, kDomain = 0x22, kGraph = 0x3a;
  if (path.ends_with(".onnx")) return true;
  return bytes.size() > 2 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < kMostVersions &&
         (bytes[2] == kProducer || bytes[2] == kDomain || bytes[2] == kGraph);
}

// ASCII for the most part, and nothing that text has not.
bool is_text(const std::string& bytes) {
  const auto is_ascii = [](unsigned char c) { return std::isprint(c) != 0 || std::isspace(c) != 0; };
  const auto ascii = static_cast<size_t>(std::ranges::count_if(bytes, is_ascii));
  const auto others = static_cast<size_t>(std::ranges::count_if(bytes, [](unsigned char c) { return c >= 0x80; }));
  return ascii > others && ascii + others == bytes.size();
}

}  // namespace

ForeignFile foreign_file(const InputFile& file) {
  const std::string bytes = first_bytes(file);
  if (is_safetensors(bytes)) return {};
  if (bytes.starts_with("\x93NUMPY")) {
    return {"a NumPy array", "embeddings are read by --embeddings of debias audit, fix, eval, pairs, prior, loss and study estimators"};
  }
  if (is_of_torch(bytes)) {
    return {"a file of torch.save or another archive", "convert it: python -m debias.weights convert FILE weights.safetensors"};
  }
  if (const ForeignFile other = stand_in(bytes); !other.what.empty()) return other;
  if (is_onnx(bytes, file.path())) return {"an ONNX network", "debias writes ONNX (debias export) and does not read it"};
  if (is_text(bytes)) return {"a text file", "a recipe is trained first: debias train RECIPE.yaml", true};
  return {};
}

}  // namespace debias

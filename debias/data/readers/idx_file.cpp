#include "debias/data/readers/idx_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "debias/core/dtype.h"
#include "debias/core/error.h"

namespace debias {
namespace {

constexpr int64_t kLargestArray = int64_t{1} << 30;  // twenty times MNIST; compressed data may unpack to so much
constexpr int64_t kChunk = int64_t{1} << 20;

// Bytes of a file, decompressed where it is gzip.
class ByteStream {
 public:
  explicit ByteStream(const std::string& path) : path_(path) {
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) throw FileError(path, "is not a regular file");
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw FileError(path, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }

  int64_t read(uint8_t* out, int64_t count) {  // fewer than `count` only at the end
    const int got = gzread(file_.get(), out, static_cast<unsigned>(count));
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_BUF_ERROR) throw FileError(path_, "truncated: the compressed data ends early");
    if (code == Z_ERRNO) throw FileError(path_, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got < 0) throw FileError(path_, fmt::format("damaged compression: {}", message));
    return got;
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

int64_t big_endian(const uint8_t* bytes) {
  return (int64_t{bytes[0]} << 24) | (int64_t{bytes[1]} << 16) | (int64_t{bytes[2]} << 8) | int64_t{bytes[3]};
}

std::vector<int64_t> read_shape(ByteStream& stream, const std::string& path, int dimensions) {
  std::vector<uint8_t> header(4 * (static_cast<size_t>(dimensions) + 1));
  const int64_t got = stream.read(header.data(), static_cast<int64_t>(header.size()));
  if (got == 0) throw FileError(path, "is empty");
  const int64_t expected = 0x800 | dimensions;
  if (got >= 4 && big_endian(header.data()) != expected) {
    throw FileError(path, fmt::format("is not an IDX file of bytes in {} dimensions: expected magic 0x{:08x}, found 0x{:08x}", dimensions,
                                      expected, big_endian(header.data())));
  }
  if (got < static_cast<int64_t>(header.size())) throw FileError(path, fmt::format("truncated: {} of {} header bytes", got, header.size()));
  std::vector<int64_t> shape;
  for (int d = 1; d <= dimensions; ++d) shape.push_back(big_endian(header.data() + 4 * d));
  return shape;
}

}  // namespace

IdxArray read_idx(const std::string& path, int dimensions) {
  ByteStream stream(path);
  IdxArray array;
  array.shape = read_shape(stream, path, dimensions);
  const int64_t promised = checked_product(array.shape).value_or(kLargestArray + 1);
  if (promised < 1 || promised > kLargestArray) {
    throw FileError(
        path, fmt::format("the header promises {} bytes; expected 1 to {}", promised > kLargestArray ? "too many" : "0", kLargestArray));
  }
  while (static_cast<int64_t>(array.values.size()) < promised) {
    const auto filled = static_cast<int64_t>(array.values.size());
    const int64_t wanted = std::min(kChunk, promised - filled);
    array.values.resize(static_cast<size_t>(filled + wanted));
    const int64_t got = stream.read(array.values.data() + filled, wanted);
    if (got < wanted) throw FileError(path, fmt::format("truncated: the header promises {} bytes, found {}", promised, filled + got));
  }
  uint8_t extra;
  if (stream.read(&extra, 1) != 0) throw FileError(path, fmt::format("continues after the {} bytes that the header promises", promised));
  return array;
}

}  // namespace debias

#include "debias/data/readers/mnist.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/readers/packed_dataset.h"

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

namespace {

constexpr int kSide = 28;
constexpr int kClasses = 10;

std::string existing_file(const std::string& root, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    const std::string path = (std::filesystem::path(root) / (name + suffix)).string();
    std::error_code failure;
    if (std::filesystem::exists(path, failure)) return path;
  }
  throw FileError(root, fmt::format("data set 'mnist': found neither {} nor {}.gz in it", name, name));
}

std::unique_ptr<Dataset> read_part(const std::string& root, bool train) {
  const std::string prefix = train ? "train" : "t10k";
  require_root(root, "data set 'mnist'", fmt::format("{}-images-idx3-ubyte and {}-labels-idx1-ubyte, plain or .gz", prefix, prefix));
  const std::string image_path = existing_file(root, prefix + "-images-idx3-ubyte");
  const std::string label_path = existing_file(root, prefix + "-labels-idx1-ubyte");
  IdxArray images = read_idx(image_path, 3);
  IdxArray labels = read_idx(label_path, 1);
  if (images.shape[1] != kSide || images.shape[2] != kSide) {
    throw FileError(image_path, fmt::format("expected images of {}x{}, found {}x{}", kSide, kSide, images.shape[1], images.shape[2]));
  }
  if (images.shape[0] != labels.shape[0]) {
    throw FileError(label_path, fmt::format("{} labels for the {} images of {}", labels.shape[0], images.shape[0], image_path));
  }
  for (size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] >= kClasses) throw FileError(label_path, fmt::format("record {}: label {}, expected 0 to 9", i, labels.values[i]));
  }
  PackedImages packed;
  packed.info.name = "mnist";
  packed.info.split = train ? "train" : "test";
  for (int digit = 0; digit < kClasses; ++digit) packed.info.class_names.push_back(std::to_string(digit));
  packed.info.channels = 1;
  packed.info.height = packed.info.width = kSide;
  packed.info.mean = {0.1307};  // of the training images
  packed.info.std = {0.3081};
  packed.files = {{std::filesystem::path(image_path).filename().string(), images.shape[0]}};
  packed.pixels = std::move(images.values);
  packed.labels = std::move(labels.values);
  return std::make_unique<PackedDataset>(std::move(packed));
}

}  // namespace

std::unique_ptr<Dataset> make_mnist(const MnistOptions& options) {
  if (options.split == Split::kTest) return read_part(options.root, false);
  return take_hold_out_part(read_part(options.root, true), options.hold_out,
                            options.split == Split::kHeldOut ? HoldOutPart::kHeldOut : HoldOutPart::kKept);
}

}  // namespace debias

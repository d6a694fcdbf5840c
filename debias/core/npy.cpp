#include "debias/core/npy.h"

#include <cassert>
#include <cstring>
#include <limits>

#include "debias/core/checked_math.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/npy_header.h"

namespace debias {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kMaxHeader = 1 << 16;  // a plain array's is about 120 bytes
constexpr size_t kAlignment = 64;         // of the data, as in NumPy's writer

struct HeaderText {
  std::string header;
  uint64_t data_start = 0;
};

HeaderText read_header_text(const InputFile& file) {
  unsigned char start[12];
  const auto read_start = [&](size_t bytes) {
    if (file.size() < bytes) throw data_error("reading '{}': it has {} bytes, too few for an .npy file", file.path(), file.size());
    file.read(0, start, bytes);
  };
  read_start(10);
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) throw data_error("reading '{}': it is not an .npy file", file.path());
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0) {
    throw data_error("reading '{}': expected .npy version 1.0, 2.0 or 3.0, found {}.{}", file.path(), version, start[7]);
  }
  uint64_t prefix = 10;
  uint64_t length = start[8] | uint64_t{start[9]} << 8;
  if (version > 1) {
    read_start(12);
    prefix = 12;
    length |= uint64_t{start[10]} << 16 | uint64_t{start[11]} << 24;
  }
  if (length > kMaxHeader)
    throw data_error("reading '{}': its header claims {} bytes, at most {} are read", file.path(), length, kMaxHeader);
  if (length > file.size() - prefix) {
    throw data_error("reading '{}': its header claims {} bytes, {} are left: it is cut", file.path(), length, file.size() - prefix);
  }
  HeaderText layout{std::string(length, '\0'), prefix + length};
  file.read(prefix, layout.header.data(), length);
  return layout;
}

template <class T>
std::vector<int64_t> widened(const NpyArray& array, const std::string& path) {
  std::vector<int64_t> result;
  result.reserve(array.as<T>().size());
  for (const T value : array.as<T>()) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        throw data_error("reading '{}': {} at index {} is beyond a 64-bit signed integer", path, value, result.size());
      }
    }
    result.push_back(static_cast<int64_t>(value));
  }
  return result;
}

size_t data_bytes(DType dtype, const std::vector<int64_t>& shape) {
  const auto elements = checked_product(shape);
  assert(elements && checked_multiply(*elements, static_cast<int64_t>(size_of(dtype))));
  return static_cast<size_t>(*elements) * size_of(dtype);
}

// All that precedes the data.
std::string file_start(const std::string& path, DType dtype, const std::vector<int64_t>& shape) {
  std::string header = npy_header_text(dtype, shape, path) + "\n";
  const size_t unaligned = (kMagic.size() + 4 + header.size()) % kAlignment;
  if (unaligned != 0) header.insert(header.size() - 1, kAlignment - unaligned, ' ');
  assert(header.size() <= 0xffff);
  std::string start(kMagic);
  start += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return start + header;
}

}  // namespace

int64_t NpyArray::count() const { return static_cast<int64_t>(bytes.size() / size_of(dtype)); }

NpyLayout read_npy_layout(const InputFile& file) {
  const std::string& path = file.path();
  const HeaderText text = read_header_text(file);
  NpyHeader header = parse_npy_header(text.header, path);
  if (header.fortran_order && header.shape.size() > 1) {
    throw data_error("reading '{}': it is in Fortran order; save numpy.ascontiguousarray(array)", path);
  }
  const auto elements = checked_product(header.shape);
  const auto bytes = elements ? checked_multiply(*elements, static_cast<int64_t>(size_of(header.dtype))) : std::nullopt;
  if (!bytes) throw data_error("reading '{}': the size of its shape overflows", path);
  const uint64_t present = file.size() - text.data_start;
  if (static_cast<uint64_t>(*bytes) != present) {
    throw data_error("reading '{}': its shape needs {} bytes of data, it has {}: it {}", path, *bytes, present,
                     present < static_cast<uint64_t>(*bytes) ? "is cut" : "has a tail");
  }
  return {header.dtype, std::move(header.shape), text.data_start};
}

NpyArray read_npy(const std::string& path) {
  const InputFile file(path);
  NpyLayout layout = read_npy_layout(file);
  NpyArray array{layout.dtype, std::move(layout.shape), std::vector<std::byte>(file.size() - layout.data_start)};
  file.read(layout.data_start, array.bytes.data(), array.bytes.size());
  return array;
}

std::vector<int64_t> npy_integers(const NpyArray& array, const std::string& path) {
  switch (array.dtype) {
    case DType::kBool: {
      std::vector<int64_t> result = widened<uint8_t>(array, path);
      for (int64_t& value : result) value = value != 0;
      return result;
    }
    case DType::kUInt8:
      return widened<uint8_t>(array, path);
    case DType::kUInt16:
      return widened<uint16_t>(array, path);
    case DType::kUInt32:
      return widened<uint32_t>(array, path);
    case DType::kUInt64:
      return widened<uint64_t>(array, path);
    case DType::kInt8:
      return widened<int8_t>(array, path);
    case DType::kInt16:
      return widened<int16_t>(array, path);
    case DType::kInt32:
      return widened<int32_t>(array, path);
    case DType::kInt64:
      return widened<int64_t>(array, path);
    default:
      throw data_error("reading '{}': integers were expected, found {}; save array.astype('int64')", path, name_of(array.dtype));
  }
}

NpyWriter::NpyWriter(const std::string& path, DType dtype, const std::vector<int64_t>& shape)
    : NpyWriter(path, file_start(path, dtype, shape), data_bytes(dtype, shape)) {}

NpyWriter::NpyWriter(const std::string& path, const std::string& start, size_t bytes) : file_(path, start.size() + bytes) {
  file_.write(start.data(), start.size());
}

void write_npy(const std::string& path, DType dtype, const std::vector<int64_t>& shape, const void* data) {
  NpyWriter file(path, dtype, shape);
  file.write(data, data_bytes(dtype, shape));
  file.commit();
}

}  // namespace debias

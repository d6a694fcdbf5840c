#include "debias/core/npy.h"

#include <fmt/ranges.h>

#include <array>
#include <cassert>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/core/printable.h"
#include "debias/core/stand_in.h"

namespace debias {
namespace {

// The header of an `.npy` file: a Python dictionary in text form.
struct NpyHeader {
  DType dtype = DType::kFloat32;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

constexpr size_t kNpyDimensions = 64;  // NumPy's own

// Kind and bytes, without the byte order.
constexpr std::array<std::pair<std::string_view, DType>, 12> kCodes = {{{"b1", DType::kBool},
                                                                        {"u1", DType::kUInt8},
                                                                        {"u2", DType::kUInt16},
                                                                        {"u4", DType::kUInt32},
                                                                        {"u8", DType::kUInt64},
                                                                        {"i1", DType::kInt8},
                                                                        {"i2", DType::kInt16},
                                                                        {"i4", DType::kInt32},
                                                                        {"i8", DType::kInt64},
                                                                        {"f2", DType::kFloat16},
                                                                        {"f4", DType::kFloat32},
                                                                        {"f8", DType::kFloat64}}};

class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    const auto first = [this](bool& seen) {
      if (std::exchange(seen, true)) malformed();
    };
    expect('{');
    while (!accept('}')) {
      const std::string_view key = text_value();
      expect(':');
      if (key == "descr") {
        first(has_descr);
        header.dtype = element_type();
      } else if (key == "fortran_order") {
        first(has_order);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        first(has_shape);
        header.shape = tuple();
      } else {
        malformed();
      }
      if (!accept(',') && peek() != '}') malformed();
    }
    skip_space();
    if (at_ != text_.size() || !has_descr || !has_order || !has_shape) malformed();
    return header;
  }

 private:
  [[noreturn]] void malformed() const {
    throw data_error("reading '{}': its .npy header is malformed at byte {}: {}; save it again with numpy.save", path_, at_,
                     printable(text_));
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }

  std::string_view text_value() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    const size_t begin = at_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) malformed();
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    malformed();
  }

  // As Python reads tuples: (), (3,), (2, 3) and (2, 3,), but not (3), which is a number.
  std::vector<int64_t> tuple() {
    std::vector<int64_t> extents;
    bool comma = false;
    expect('(');
    while (!accept(')')) {
      if (!extents.empty() && !comma) malformed();
      extents.push_back(number());
      comma = accept(',');
      if (extents.size() > kNpyDimensions) malformed();
    }
    if (extents.size() == 1 && !comma) malformed();
    return extents;
  }

  int64_t number() {
    int64_t value = 0;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!is_digit(peek())) malformed();
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) || __builtin_add_overflow(value, int64_t{text_[at_] - '0'}, &value)) {
        throw data_error("reading '{}': an extent of its shape overflows", path_);
      }
    }
    return value;
  }

  DType element_type() {
    if (peek() == '[') refuse_type("structured", "array['field']");
    const std::string_view descr = text_value();
    if (descr.empty()) malformed();
    const char order = descr[0];
    const std::string_view code = descr.substr(1);
    for (const auto& [known, dtype] : kCodes) {
      if (code != known) continue;
      if (order == '<' || (order == '|' && size_of(dtype) == 1)) return dtype;
      if (order == '>') refuse_type(fmt::format("big endian ({})", printable(descr)), fmt::format("array.astype('<{}')", code));
    }
    if (descr.find('O') != std::string_view::npos) refuse_type("object (a pickle)", "array.astype('<f4')");
    if (code.starts_with('c')) refuse_type(fmt::format("complex ({})", printable(descr)), "array.real");
    refuse_type(printable(descr), "array.astype('<f4')");
  }

  [[noreturn]] void refuse_type(const std::string& found, const std::string& remedy) const {
    throw data_error("reading '{}': elements were expected to be little-endian real numbers or booleans, found {}; save {}", path_, found,
                     remedy);
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
};

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else: each of the three keys once, in any order, no
// other values than such. Data errors name `path` and the fault.
NpyHeader parse_npy_header(std::string_view text, const std::string& path) { return Parser(text, path).parse(); }

// The same text as NumPy writes it, without padding; a usage error for bfloat16, which NumPy does not have.
std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape, const std::string& path) {
  for (const auto& [code, known] : kCodes) {
    if (known != dtype) continue;
    return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size_of(dtype) == 1 ? '|' : '<', code,
                       fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  }
  throw usage_error("writing '{}': NumPy has no {}; convert to float32 first", path, name_of(dtype));
}

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
  if (std::memcmp(start, kMagic.data(), kMagic.size()) != 0) {
    std::string text(std::min<uint64_t>(file.size(), 64), ' ');
    file.read(0, text.data(), text.size());
    const ForeignFile other = stand_in(text);
    throw data_error("reading '{}': it is {}", file.path(),
                     other.what.empty() ? "not an .npy file" : fmt::format("{}, not an .npy file; {}", other.what, other.advice));
  }
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

#include "debias/core/npy_header.h"

#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

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

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& path) { return Parser(text, path).parse(); }

std::string npy_header_text(DType dtype, const std::vector<int64_t>& shape, const std::string& path) {
  for (const auto& [code, known] : kCodes) {
    if (known != dtype) continue;
    return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size_of(dtype) == 1 ? '|' : '<', code,
                       fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  }
  throw usage_error("writing '{}': NumPy has no {}; convert to float32 first", path, name_of(dtype));
}

}  // namespace debias

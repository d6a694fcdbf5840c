#include "debias/image/decoders.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/image/image.h"

namespace debias {
namespace {

enum class Packing : uint32_t { kNone = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3 };

using Colour = std::array<uint8_t, 3>;

class BmpBytes {  // little endian
 public:
  BmpBytes(std::span<const uint8_t> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  size_t size() const { return bytes_.size(); }
  FileError fault(const std::string& reason) const { return {path_, reason}; }
  FileError truncated() const { return fault("truncated BMP image"); }
  std::span<const uint8_t> part(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) throw truncated();
    return bytes_.subspan(at, size);
  }
  uint32_t number(size_t at, size_t size) const {
    uint32_t value = 0;
    for (const uint8_t byte : part(at, size)) value = value >> 8 | static_cast<uint32_t>(byte) << 24;
    return value >> (32 - 8 * size);
  }

 private:
  std::span<const uint8_t> bytes_;
  const std::string& path_;
};

struct BmpHeader {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0;
  Packing packing = Packing::kNone;
  size_t pixels_at = 0;
  std::vector<Colour> palette;  // of up to 8 bits
  std::array<uint32_t, 3> masks{};

  size_t row_bytes() const { return static_cast<size_t>((width * bits + 31) / 32 * 4); }
};

constexpr size_t kFileHeader = 14, kShortHeader = 12, kLongHeader = 40;

void read_palette(const BmpBytes& bytes, size_t at, size_t entry, uint32_t count, BmpHeader& header) {
  const uint32_t most = 1u << header.bits;
  if (count == 0) count = most;
  if (count > most) throw bytes.fault(fmt::format("corrupt BMP image: {} colours where {} bits distinguish {}", count, header.bits, most));
  if (header.pixels_at == 0) header.pixels_at = at + entry * count;
  if (header.pixels_at < at + entry * count) throw bytes.fault("corrupt BMP image: the pixels begin within the palette");
  for (uint32_t i = 0; i < count; ++i) {
    const auto colour = bytes.part(at + i * entry, 3);
    header.palette.push_back({colour[2], colour[1], colour[0]});
  }
}

void read_masks(const BmpBytes& bytes, size_t at, BmpHeader& header) {
  for (size_t c = 0; c < 3; ++c) header.masks[c] = bytes.number(at + 4 * c, 4);
  if (header.masks == std::array<uint32_t, 3>{} && header.bits == 32) header.masks = {0xff0000, 0xff00, 0xff};
  for (const uint32_t mask : header.masks) {
    const uint32_t most = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    if (most == 0 || most > 255 || std::popcount(most + 1) != 1) {
      throw bytes.fault(fmt::format("unsupported BMP image: the mask {:08x} of a colour; 1 to 8 adjacent bits are read", mask));
    }
  }
}

BmpHeader read_header(const BmpBytes& bytes, const std::string& path) {
  BmpHeader header;
  header.pixels_at = bytes.number(10, 4);
  const size_t size = bytes.number(kFileHeader, 4);
  const bool is_short = size == kShortHeader;
  if (!is_short && (size < kLongHeader || size > 124)) throw bytes.fault(fmt::format("unsupported BMP image: a header of {} bytes", size));
  bytes.part(kFileHeader, size);
  const size_t side = is_short ? 2 : 4, after_sides = kFileHeader + 4 + 2 * side;
  header.width = bytes.number(kFileHeader + 4, side);
  header.height = bytes.number(kFileHeader + 4 + side, side);
  if (!is_short && header.height > 0x7fffffff) {
    header.top_down = true;
    header.height = (int64_t{1} << 32) - header.height;
  }
  require_allowed_size(header.height, header.width, path);
  header.bits = bytes.number(after_sides + 2, 2);
  const uint32_t packing = is_short ? 0 : bytes.number(after_sides + 4, 4);
  header.packing = static_cast<Packing>(packing);

  const auto one_of = [&](std::initializer_list<uint32_t> depths) {
    return std::find(depths.begin(), depths.end(), header.bits) != depths.end();
  };
  const bool known = (header.packing == Packing::kNone && one_of({1, 4, 8, 16, 24, 32})) ||
                     (header.packing == Packing::kRuns8 && one_of({8})) || (header.packing == Packing::kRuns4 && one_of({4})) ||
                     (header.packing == Packing::kMasks && one_of({16, 24, 32}) && size != 64);  // 3 of OS/2's is another
  if (!known) throw bytes.fault(fmt::format("unsupported BMP image: {} bits a pixel with compression {}", header.bits, packing));

  const size_t after_header = kFileHeader + size;
  if (header.bits <= 8) {
    read_palette(bytes, after_header, is_short ? 3 : 4, is_short ? 0 : bytes.number(kFileHeader + 32, 4), header);
    return header;
  }
  if (header.packing == Packing::kMasks) {
    read_masks(bytes, kFileHeader + kLongHeader, header);
  } else if (header.bits == 16) {
    header.masks = {0x7c00, 0x3e0, 0x1f};
  } else {
    header.masks = {0xff0000, 0xff00, 0xff};
  }
  if (header.pixels_at == 0) header.pixels_at = after_header + (header.packing == Packing::kMasks && size == kLongHeader ? 12 : 0);
  return header;
}

// Palette indices row by row as they are stored, from runs of one colour (of two in turn with 4 bits), literal pixels and moves.
std::vector<uint8_t> unpacked_runs(const BmpBytes& bytes, const BmpHeader& header) {
  const auto total = static_cast<size_t>(header.width * header.height), width = static_cast<size_t>(header.width);
  const bool halves = header.packing == Packing::kRuns4;
  std::vector<uint8_t> indices;
  size_t at = header.pixels_at, column = 0;
  const auto skip = [&](size_t count) { indices.resize(std::min(total, indices.size() + count)); };
  while (indices.size() < total) {
    const size_t count = bytes.number(at, 1), value = bytes.number(at + 1, 1);
    at += 2;
    if (count > 0) {
      const size_t fitting = std::min(count, width - std::min(column, width));
      for (size_t i = 0; i < fitting; ++i) indices.push_back(static_cast<uint8_t>(!halves ? value : i % 2 == 0 ? value >> 4 : value & 15));
      column += fitting;
    } else if (value == 0) {  // the end of a row
      skip((width - indices.size() % width) % width);
      column = 0;
    } else if (value == 1) {
      throw bytes.fault(fmt::format("truncated BMP image: its runs end after {} of {} pixels", indices.size(), total));
    } else if (value == 2) {
      skip(bytes.number(at, 1) + bytes.number(at + 1, 1) * width);
      at += 2;
      column = indices.size() % width;
    } else {
      const auto literal = bytes.part(at, halves ? (value + 1) / 2 : value);
      for (size_t i = 0; i < value; ++i) indices.push_back(!halves ? literal[i] : i % 2 == 0 ? literal[i / 2] >> 4 : literal[i / 2] & 15);
      at += literal.size() + literal.size() % 2;
      column += value;
    }
  }
  indices.resize(total);
  return indices;
}

const Colour& colour_of(const BmpBytes& bytes, const BmpHeader& header, uint32_t index) {
  if (index < header.palette.size()) return header.palette[index];
  throw bytes.fault(fmt::format("corrupt BMP image: colour {} of a palette of {}", index, header.palette.size()));
}

Colour colour_of_masks(const BmpHeader& header, uint32_t pixel) {
  Colour colour{};
  for (size_t c = 0; c < 3; ++c) {
    const int shift = std::countr_zero(header.masks[c]);
    colour[c] = static_cast<uint8_t>(((pixel & header.masks[c]) >> shift) * 255 / (header.masks[c] >> shift));
  }
  return colour;
}

Colour pixel_of_row(const BmpBytes& bytes, const BmpHeader& header, std::span<const uint8_t> row, size_t x) {
  if (header.bits <= 8) {
    const size_t bit = x * header.bits;
    return colour_of(bytes, header, row[bit / 8] >> (8 - header.bits - bit % 8) & ((1u << header.bits) - 1));
  }
  uint32_t pixel = 0;
  const size_t size = header.bits / 8;
  for (size_t i = size; i > 0; --i) pixel = pixel << 8 | row[x * size + i - 1];
  return colour_of_masks(header, pixel);
}

}  // namespace

Image decode_bmp(std::span<const uint8_t> file, const std::string& path) {
  const BmpBytes bytes(file, path);
  const BmpHeader header = read_header(bytes, path);
  const auto height = static_cast<size_t>(header.height), width = static_cast<size_t>(header.width);
  const bool runs = header.packing == Packing::kRuns8 || header.packing == Packing::kRuns4;
  const std::vector<uint8_t> indices = runs ? unpacked_runs(bytes, header) : std::vector<uint8_t>();
  const size_t used = (width * header.bits + 7) / 8;  // of a row; what fills the last one up may be missing
  if (!runs) bytes.part(header.pixels_at, header.row_bytes() * (height - 1) + used);

  Image image{static_cast<int>(height), static_cast<int>(width), 3, std::vector<uint8_t>(height * width * 3)};
  for (size_t stored = 0; stored < height; ++stored) {
    uint8_t* out = image.pixels.data() + (header.top_down ? stored : height - 1 - stored) * width * 3;
    const auto row = runs ? std::span<const uint8_t>(indices).subspan(stored * width, width)
                          : bytes.part(header.pixels_at + stored * header.row_bytes(), used);
    for (size_t x = 0; x < width; ++x) {
      const Colour colour = runs ? colour_of(bytes, header, row[x]) : pixel_of_row(bytes, header, row, x);
      out = std::copy(colour.begin(), colour.end(), out);
    }
  }
  return image;
}

}  // namespace debias

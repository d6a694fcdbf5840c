#include "debias/image/decoders.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/image/image.h"

namespace debias {
namespace {

constexpr int64_t kDeep = 65535;  // the largest value of 16 bits

// Reads words and bytes from front to back.
class PnmReader {
 public:
  PnmReader(std::span<const uint8_t> bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::span<const uint8_t> rest() const { return bytes_; }
  FileError fault(const std::string& reason) const { return {path_, reason}; }
  FileError truncated() const { return fault("truncated PNM image"); }

  uint8_t byte() {
    if (bytes_.empty()) throw truncated();
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }

  uint8_t first_of_word() {
    for (bool comment = false;;) {
      const uint8_t c = byte();
      comment = comment ? c != '\n' && c != '\r' : c == '#';
      if (!comment && std::isspace(c) == 0) return c;
    }
  }

  // A number and the one space after it, which may be missing at the end of the file.
  int64_t number(int64_t most) {
    int64_t value = 0;
    for (uint8_t c = first_of_word(); std::isspace(c) == 0; c = byte()) {
      if (std::isdigit(c) == 0) throw fault(fmt::format("corrupt PNM image: a number was expected, found byte {:02x}", c));
      value = value * 10 + (c - '0');
      if (value > most) throw fault(fmt::format("corrupt PNM image: a number above {}", most));
      if (bytes_.empty()) break;
    }
    return value;
  }

 private:
  std::span<const uint8_t> bytes_;
  const std::string& path_;
};

struct PnmHeader {
  bool plain = false, bitmap = false;
  int channels = 1;
  int64_t width = 0, height = 0, most = 1;

  int64_t samples() const { return width * height * channels; }
  int64_t least_bytes() const {
    if (plain) return bitmap ? samples() : samples() * 2 - 1;
    return bitmap ? (width + 7) / 8 * height : samples() * (most > 255 ? 2 : 1);
  }
};

PnmHeader read_sizes(PnmReader& reader, const std::string& path) {
  constexpr int64_t kLongestSide = 1'000'000'000;
  reader.byte();
  const int kind = reader.byte() - '0';
  PnmHeader header;
  header.plain = kind <= 3;
  header.bitmap = kind == 1 || kind == 4;
  header.channels = kind == 3 || kind == 6 ? 3 : 1;
  header.width = reader.number(kLongestSide);
  header.height = reader.number(kLongestSide);
  require_allowed_size(header.height, header.width, path);
  if (!header.bitmap) header.most = reader.number(kDeep);
  if (header.most == 0) throw reader.fault("corrupt PNM image: the largest value is 0");
  return header;
}

PnmHeader read_header(PnmReader& reader, const std::string& path) {
  const PnmHeader header = read_sizes(reader, path);
  if (static_cast<int64_t>(reader.rest().size()) < header.least_bytes()) {
    throw reader.fault(
        fmt::format("truncated PNM image: {} bytes cannot hold {}x{} pixels", reader.rest().size(), header.height, header.width));
  }
  return header;
}

// 0 to 255 of each value, rounded as Pillow does where the file alone says how.
std::vector<uint8_t> scale_to_bytes(int64_t most, const SampleScale& scale) {
  std::vector<uint8_t> scaled;
  const bool by_scale = (most > 255 && scale.window) || (most == kDeep && !scale.keeps_high_byte());
  for (int64_t value = 0; value <= most; ++value) {
    if (by_scale) {
      scaled.push_back(scale.byte_of(static_cast<uint16_t>(value)));
      continue;
    }
    scaled.push_back(static_cast<uint8_t>(std::nearbyint(static_cast<double>(value) / static_cast<double>(most) * 255)));
  }
  return scaled;
}

std::vector<uint8_t> read_bits(PnmReader& reader, const PnmHeader& header) {
  std::vector<uint8_t> samples;
  samples.reserve(static_cast<size_t>(header.samples()));
  for (int64_t y = 0; y < header.height; ++y) {
    uint8_t packed = 0;
    for (int64_t x = 0; x < header.width; ++x) {
      if (header.plain) {
        const uint8_t digit = reader.first_of_word();
        if (digit != '0' && digit != '1')
          throw reader.fault(fmt::format("corrupt PNM image: 0 or 1 was expected, found byte {:02x}", digit));
        packed = digit == '1' ? 0x80 : 0;
      } else {
        packed = x % 8 == 0 ? reader.byte() : static_cast<uint8_t>(packed << 1);
      }
      samples.push_back((packed & 0x80) != 0 ? 0 : 255);
    }
  }
  return samples;
}

std::vector<uint8_t> read_samples(PnmReader& reader, const PnmHeader& header, DeepSamples& deep) {
  const auto count = static_cast<size_t>(header.samples());
  if (!header.plain && header.most == 255) return {reader.rest().begin(), reader.rest().begin() + static_cast<ptrdiff_t>(count)};
  const std::vector<uint8_t> scaled = scale_to_bytes(header.most, deep.scale());
  std::vector<uint8_t> samples(count);
  for (uint8_t& sample : samples) {
    int64_t value = header.plain ? reader.number(header.most) : reader.byte();
    if (!header.plain && header.most > 255) value = value << 8 | reader.byte();
    value = std::min(value, header.most);
    if (header.most == kDeep) deep.byte_of(static_cast<uint16_t>(value));
    sample = scaled[static_cast<size_t>(value)];
  }
  return samples;
}

}  // namespace

ImageLook look_at_pnm(std::span<const uint8_t> start) {
  try {
    const std::string unnamed;
    PnmReader reader(start, unnamed);
    return {.deep = read_sizes(reader, unnamed).most == kDeep};
  } catch (const FileError&) {
    return {};
  }
}

Image decode_pnm(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& deep) {
  PnmReader reader(bytes, path);
  const PnmHeader header = read_header(reader, path);
  std::vector<uint8_t> samples = header.bitmap ? read_bits(reader, header) : read_samples(reader, header, deep);
  Image image{static_cast<int>(header.height), static_cast<int>(header.width), 3, {}};
  if (header.channels == 3) {
    image.pixels = std::move(samples);
    return image;
  }
  image.pixels.reserve(samples.size() * 3);
  for (const uint8_t value : samples) image.pixels.insert(image.pixels.end(), 3, value);
  return image;
}

}  // namespace debias

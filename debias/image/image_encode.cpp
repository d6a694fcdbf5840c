#include "debias/image/image_encode.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "debias/core/error.h"
#include "debias/image/image_decode.h"

namespace debias {

std::vector<uint8_t> encode_png(const Image& image) {
  const size_t expected = static_cast<size_t>(image.height) * static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  if (image.height < 1 || image.width < 1 || (image.channels != 1 && image.channels != 3) || image.pixels.size() != expected) {
    throw usage_error("PNG: expected an image of 1 or 3 channels, found {}x{}x{} with {} bytes", image.height, image.width, image.channels,
                      image.pixels.size());
  }
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::vector<uint8_t> bytes(size);
  const int written = png_image_write_to_memory(&header, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr);
  const std::string message = header.message;
  png_image_free(&header);
  if (written == 0) throw resource_error("PNG: {}x{} pixels could not be encoded: {}", image.height, image.width, message);
  bytes.resize(size);
  return bytes;
}

namespace {

constexpr int kBits = 5, kLevels = 1 << kBits, kCodes = kLevels * kLevels * kLevels;  // colours, in 15 bits
constexpr size_t kColours = 255;
constexpr uint8_t kTransparent = 255;

int code_of(const uint8_t* pixel) {
  constexpr int kDrop = 8 - kBits;
  return ((pixel[0] >> kDrop) * kLevels + (pixel[1] >> kDrop)) * kLevels + (pixel[2] >> kDrop);
}

int level(int code, int channel) { return code >> (kBits * (2 - channel)) & (kLevels - 1); }

struct Colours {
  std::array<int64_t, kCodes> count{};
  std::array<std::array<int64_t, 3>, kCodes> sum{};  // of the pixels' values
};

using ColourBox = std::vector<int>;  // codes

int spread(const ColourBox& box, int channel) {
  const auto [least, most] =
      std::minmax_element(box.begin(), box.end(), [&](int a, int b) { return level(a, channel) < level(b, channel); });
  return level(*most, channel) - level(*least, channel);
}

int widest_channel(const ColourBox& box) {
  int widest = 0;
  for (int channel = 1; channel < 3; ++channel) {
    if (spread(box, channel) > spread(box, widest)) widest = channel;
  }
  return widest;
}

// Along its widest channel, with as many pixels on either side as may be.
std::pair<ColourBox, ColourBox> halves(ColourBox box, const Colours& colours) {
  const int channel = widest_channel(box);
  std::stable_sort(box.begin(), box.end(), [&](int a, int b) { return level(a, channel) < level(b, channel); });
  int64_t all = 0, below = 0;
  for (const int code : box) all += colours.count[static_cast<size_t>(code)];
  size_t cut = 0;
  while (cut + 1 < box.size() && (cut == 0 || 2 * below < all)) below += colours.count[static_cast<size_t>(box[cut++])];
  const auto middle = box.begin() + static_cast<std::ptrdiff_t>(cut);
  return {ColourBox(box.begin(), middle), ColourBox(middle, box.end())};
}

std::vector<ColourBox> boxes_of(const Colours& colours) {
  ColourBox all;
  for (int code = 0; code < kCodes; ++code) {
    if (colours.count[static_cast<size_t>(code)] > 0) all.push_back(code);
  }
  std::vector<ColourBox> boxes = {all};
  while (boxes.size() < kColours) {
    const auto widest = std::max_element(boxes.begin(), boxes.end(), [](const ColourBox& a, const ColourBox& b) {
      return spread(a, widest_channel(a)) < spread(b, widest_channel(b));
    });
    if (widest->size() < 2) break;
    auto [below, above] = halves(std::move(*widest), colours);
    *widest = std::move(below);
    boxes.push_back(std::move(above));
  }
  return boxes;
}

struct Palette {
  std::array<uint8_t, 3 * 256> colours{};
  std::array<uint8_t, kCodes> of_code{};
};

Palette palette_of(const std::vector<Image>& images) {
  Colours colours;
  for (const auto& image : images) {
    for (size_t i = 0; i < image.pixels.size(); i += 3) {
      const auto code = static_cast<size_t>(code_of(&image.pixels[i]));
      ++colours.count[code];
      for (size_t c = 0; c < 3; ++c) colours.sum[code][c] += image.pixels[i + c];
    }
  }
  Palette palette;
  const std::vector<ColourBox> boxes = boxes_of(colours);
  for (size_t entry = 0; entry < boxes.size(); ++entry) {
    std::array<int64_t, 3> sum{};
    int64_t count = 0;
    for (const int code : boxes[entry]) {
      const auto of = static_cast<size_t>(code);
      palette.of_code[of] = static_cast<uint8_t>(entry);
      count += colours.count[of];
      for (size_t c = 0; c < 3; ++c) sum[c] += colours.sum[of][c];
    }
    for (size_t c = 0; c < 3; ++c) palette.colours[3 * entry + c] = static_cast<uint8_t>(sum[c] / count);
  }
  return palette;
}

class ByteSink {
 public:
  void text(std::string_view words) { bytes_.insert(bytes_.end(), words.begin(), words.end()); }
  void byte(int value) { bytes_.push_back(static_cast<uint8_t>(value)); }
  void pair(int64_t value) {
    byte(static_cast<int>(value & 255));
    byte(static_cast<int>(value >> 8 & 255));
  }
  // In blocks of at most 255 bytes, then an empty one.
  void blocks(const std::vector<uint8_t>& data) {
    for (size_t at = 0; at < data.size(); at += 255) {
      const size_t size = std::min<size_t>(255, data.size() - at);
      byte(static_cast<int>(size));
      bytes_.insert(bytes_.end(), data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + size));
    }
    byte(0);
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

// LZW with codes of 9 to 12 bits, as GIF has it for 256 colours.
std::vector<uint8_t> compressed(const std::vector<uint8_t>& indices) {
  constexpr int kClear = 256, kEnd = 257, kMost = 4096;
  std::vector<uint8_t> out;
  uint32_t held = 0;
  int bits = 0, width = 9, next = kEnd + 1;
  const auto put = [&](int code) {
    held |= static_cast<uint32_t>(code) << bits;
    for (bits += width; bits >= 8; bits -= 8, held >>= 8) out.push_back(static_cast<uint8_t>(held));
  };
  std::unordered_map<uint32_t, int> table;
  put(kClear);
  int prefix = indices[0];
  for (size_t i = 1; i < indices.size(); ++i) {
    const uint32_t key = static_cast<uint32_t>(prefix) << 8 | indices[i];
    if (const auto known = table.find(key); known != table.end()) {
      prefix = known->second;
      continue;
    }
    put(prefix);
    prefix = indices[i];
    if (next == kMost) {
      put(kClear);
      table.clear();
      width = 9;
      next = kEnd + 1;
      continue;
    }
    table.emplace(key, next);
    if (next++ == 1 << width) ++width;
  }
  put(prefix);
  put(kEnd);
  if (bits > 0) out.push_back(static_cast<uint8_t>(held));
  return out;
}

void check_images(const std::vector<Image>& images) {
  if (images.empty()) throw usage_error("GIF: no images are given; give one or more");
  for (const auto& image : images) {
    if (image.channels == 3 && image.width == images[0].width && image.height == images[0].height && !image.pixels.empty()) continue;
    throw usage_error("GIF: expected RGB images of one size, {} x {}, found one of {} x {} with {} channels", images[0].width,
                      images[0].height, image.width, image.height, image.channels);
  }
}

}  // namespace

std::vector<uint8_t> encode_gif(const std::vector<Image>& images, int64_t hundredths) {
  check_images(images);
  const Palette palette = palette_of(images);
  const int width = images[0].width, height = images[0].height;
  ByteSink out;
  out.text("GIF89a");
  out.pair(width);
  out.pair(height);
  out.byte(0xF7);  // a palette of 256 colours, of 8 bits
  out.byte(0);
  out.byte(0);
  for (const uint8_t value : palette.colours) out.byte(value);
  out.byte(0x21);
  out.byte(0xFF);
  out.byte(11);
  out.text("NETSCAPE2.0");
  for (const int value : {3, 1, 0, 0, 0}) out.byte(value);  // for ever
  std::vector<uint8_t> shown;
  for (const auto& image : images) {
    std::vector<uint8_t> indices(static_cast<size_t>(width) * height);
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = palette.of_code[static_cast<size_t>(code_of(&image.pixels[3 * i]))];
    std::vector<uint8_t> written = indices;
    for (size_t i = 0; i < shown.size(); ++i) {
      if (shown[i] == indices[i]) written[i] = kTransparent;
    }
    for (const int value : {0x21, 0xF9, 4, 0x05}) out.byte(value);  // it stays under the next one; a colour is transparent
    out.pair(std::max<int64_t>(2, hundredths));
    out.byte(kTransparent);
    out.byte(0);
    out.byte(0x2C);
    for (const int value : {0, 0, width, height}) out.pair(value);
    out.byte(0);
    out.byte(8);
    out.blocks(compressed(written));
    shown = std::move(indices);
  }
  out.byte(0x3B);
  return out.take();
}

namespace {

Image as_rgb(const Image& image) {
  if (image.channels == 3) return image;
  Image rgb{image.height, image.width, 3, {}};
  for (const uint8_t value : image.pixels) rgb.pixels.insert(rgb.pixels.end(), 3, value);
  return rgb;
}

}  // namespace

Image contact_sheet(const std::vector<std::vector<Image>>& rows) {
  constexpr int kGap = 2;
  int height = 0, width = 0;
  for (const auto& row : rows) {
    for (const auto& image : row) height = std::max(height, image.height), width = std::max(width, image.width);
  }
  const int columns = static_cast<int>(rows.front().size());
  Image sheet{static_cast<int>(rows.size()) * (height + kGap) + kGap, columns * (width + kGap) + kGap, 3, {}};
  if (int64_t{sheet.height} * sheet.width > kLargestImage)
    throw usage_error("contact sheet: it would have {} x {} pixels; show fewer", sheet.height, sheet.width);
  sheet.pixels.assign(static_cast<size_t>(sheet.height) * sheet.width * 3, 128);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const Image cell = as_rgb(rows[r][c]);
      const int top = kGap + static_cast<int>(r) * (height + kGap), left = kGap + static_cast<int>(c) * (width + kGap);
      for (int y = 0; y < cell.height; ++y) {
        std::copy_n(cell.row(y), cell.width * 3, sheet.pixels.begin() + (static_cast<ptrdiff_t>(top + y) * sheet.width + left) * 3);
      }
    }
  }
  return sheet;
}

}  // namespace debias

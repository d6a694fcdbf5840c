#include "debias/image/exif.h"

#include <algorithm>
#include <array>
#include <utility>

#include "debias/image/image_decode.h"

namespace debias {
namespace {

enum class ByteOrder { kLittle, kBig };

// Zero beyond the end.
uint64_t number(std::span<const uint8_t> bytes, size_t at, size_t size, ByteOrder order) {
  if (at > bytes.size() || size > bytes.size() - at) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | bytes[at + (order == ByteOrder::kBig ? i : size - 1 - i)];
  return value;
}

constexpr std::string_view kExifMark("Exif\0\0", 6);

std::span<const uint8_t> block_of_jpeg(std::span<const uint8_t> file) {
  constexpr uint8_t kApp1 = 0xe1;
  std::span<const uint8_t> block;
  for_each_jpeg_segment(file, [&](uint8_t marker, std::span<const uint8_t> content) {
    if (marker == kApp1 && begins_with(content, kExifMark)) block = content;
    return block.empty();
  });
  return block;
}

std::span<const uint8_t> block_of_png(std::span<const uint8_t> file) {
  std::span<const uint8_t> block;
  for_each_png_chunk(file, [&](std::string_view type, std::span<const uint8_t> content) {
    if (type == "eXIf") block = content;
    return block.empty();
  });
  return block;
}

std::span<const uint8_t> block_of_webp(std::span<const uint8_t> file) {
  for (size_t at = 12; at + 8 <= file.size();) {
    const size_t size = number(file, at + 4, 4, ByteOrder::kLittle);
    if (begins_with(part_of(file, at, 4), "EXIF")) return part_of(file, at + 8, size);
    at += 8 + size + size % 2;
  }
  return {};
}

std::span<const uint8_t> exif_block(std::span<const uint8_t> file) {
  switch (image_format(file).value_or(ImageFormat::kTiff)) {
    case ImageFormat::kJpeg:
      return block_of_jpeg(file);
    case ImageFormat::kPng:
      return block_of_png(file);
    case ImageFormat::kWebp:
      return block_of_webp(file);
    default:
      return {};
  }
}

struct ExifDirectory {
  std::span<const uint8_t> block;  // from its byte order on; empty where there is none
  ByteOrder order = ByteOrder::kLittle;
};

ExifDirectory exif_directory(std::span<const uint8_t> file) {
  std::span<const uint8_t> block = exif_block(file);
  if (begins_with(block, kExifMark)) block = block.subspan(kExifMark.size());
  if (!begins_with(block, "II") && !begins_with(block, "MM")) return {};
  return {block, block[0] == 'I' ? ByteOrder::kLittle : ByteOrder::kBig};
}

// Where the entry of this tag and type begins in the directory at `first`; 0 where there is none.
size_t exif_entry(const ExifDirectory& directory, size_t first, uint64_t tag, uint64_t type) {
  constexpr size_t kEntry = 12;
  const size_t entries = number(directory.block, first, 2, directory.order);
  for (size_t i = 0, at = first + 2; i < entries && at + kEntry <= directory.block.size(); ++i, at += kEntry) {
    if (number(directory.block, at, 2, directory.order) != tag) continue;
    return number(directory.block, at + 2, 2, directory.order) == type ? at : 0;
  }
  return 0;
}

size_t first_directory(const ExifDirectory& directory) { return number(directory.block, 4, 4, directory.order); }

// The directory of the photograph's own values, to which an entry of the first one points; 0 where there is none.
size_t photograph_directory(const ExifDirectory& directory) {
  constexpr uint64_t kPointer = 0x8769, kLong = 4;
  const size_t entry = exif_entry(directory, first_directory(directory), kPointer, kLong);
  return entry == 0 ? 0 : number(directory.block, entry + 8, 4, directory.order);
}

std::string exif_text(const ExifDirectory& directory, size_t first, uint64_t tag) {
  constexpr uint64_t kAscii = 2;
  constexpr size_t kLongest = 64, kInPlace = 4;
  const size_t entry = exif_entry(directory, first, tag, kAscii);
  if (entry == 0) return "";
  const size_t size = number(directory.block, entry + 4, 4, directory.order);
  const size_t at = size <= kInPlace ? entry + 8 : number(directory.block, entry + 8, 4, directory.order);
  const auto bytes = part_of(directory.block, at, std::min(size, kLongest));
  std::string text(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

Orientation exif_orientation(std::span<const uint8_t> file) {
  constexpr uint64_t kOrientation = 0x0112, kShort = 3;
  const ExifDirectory directory = exif_directory(file);
  const size_t entry = exif_entry(directory, first_directory(directory), kOrientation, kShort);
  return entry == 0 ? Orientation{} : orientation_of(static_cast<int64_t>(number(directory.block, entry + 8, 2, directory.order)));
}

std::string exif_camera(std::span<const uint8_t> file) {
  constexpr uint64_t kMake = 0x010f, kModel = 0x0110;
  const ExifDirectory directory = exif_directory(file);
  const size_t first = first_directory(directory);
  const std::string make = exif_text(directory, first, kMake), model = exif_text(directory, first, kModel);
  return make.empty() || model.empty() ? make + model : make + " " + model;
}

std::string exif_software(std::span<const uint8_t> file) {
  constexpr uint64_t kSoftware = 0x0131;
  const ExifDirectory directory = exif_directory(file);
  return exif_text(directory, first_directory(directory), kSoftware);
}

std::string exif_time(std::span<const uint8_t> file) {
  constexpr uint64_t kTaken = 0x9003;
  const ExifDirectory directory = exif_directory(file);
  const size_t own = photograph_directory(directory);
  return own == 0 ? "" : exif_text(directory, own, kTaken);
}

std::string exif_month(std::span<const uint8_t> file) {
  constexpr uint64_t kChanged = 0x0132;
  constexpr size_t kMonth = 7;  // of "2026:05:14 10:00:00"
  const std::string taken = exif_time(file);
  const ExifDirectory directory = exif_directory(file);
  return (taken.empty() ? exif_text(directory, first_directory(directory), kChanged) : taken).substr(0, kMonth);
}

namespace {

int divided(int size, int denominator) { return (size + denominator - 1) / denominator; }

// A box of the shown image of that size to the stored one, or back: both are the same but for the order of the two steps.
Box stored_box(const Box& box, const Orientation& orientation, int stored_height, int stored_width) {
  Box stored = orientation.transposed ? Box{box.left, box.top, box.width, box.height} : box;
  if (orientation.rows_flipped) stored.top = stored_height - stored.top - stored.height;
  if (orientation.columns_flipped) stored.left = stored_width - stored.left - stored.width;
  return stored;
}

Box shown_box(Box box, const Orientation& orientation, int stored_height, int stored_width) {
  if (orientation.rows_flipped) box.top = stored_height - box.top - box.height;
  if (orientation.columns_flipped) box.left = stored_width - box.left - box.width;
  return orientation.transposed ? Box{box.left, box.top, box.width, box.height} : box;
}

Image turned_pixels(const Image& stored, const Orientation& orientation) {
  Image shown{stored.height, stored.width, stored.channels, std::vector<uint8_t>(stored.pixels.size())};
  if (orientation.transposed) std::swap(shown.height, shown.width);
  const ptrdiff_t pixel = stored.channels, row = pixel * stored.width;
  const uint8_t* first = stored.pixels.data();
  if (orientation.rows_flipped) first += row * (stored.height - 1);
  if (orientation.columns_flipped) first += pixel * (stored.width - 1);
  ptrdiff_t down = orientation.rows_flipped ? -row : row, right = orientation.columns_flipped ? -pixel : pixel;
  if (orientation.transposed) std::swap(down, right);
  constexpr int kBlock = 32;  // rows and columns at once, so that a transposition stays within the cache
  for (int top = 0; top < shown.height; top += kBlock) {
    for (int left = 0; left < shown.width; left += kBlock) {
      const int columns = std::min(kBlock, shown.width - left);
      for (int y = top; y < std::min(top + kBlock, shown.height); ++y) {
        const uint8_t* from = first + down * y + right * left;
        uint8_t* to = shown.pixels.data() + (static_cast<ptrdiff_t>(y) * shown.width + left) * pixel;
        for (int x = 0; x < columns; ++x, from += right, to += pixel) std::copy_n(from, pixel, to);
      }
    }
  }
  return shown;
}

}  // namespace

Orientation orientation_of(int64_t tag) {
  constexpr std::array<Orientation, 9> kKnown = {{{},
                                                  {},
                                                  {false, false, true},
                                                  {false, true, true},
                                                  {false, true, false},
                                                  {true, false, false},
                                                  {true, true, false},
                                                  {true, true, true},
                                                  {true, false, true}}};
  return tag >= 1 && tag <= 8 ? kKnown[static_cast<size_t>(tag)] : Orientation{};
}

PartialImage turned(PartialImage part, const Orientation& orientation) {
  if (orientation.upright()) return part;
  const int denominator = part.region.denominator;
  const Box box = shown_box(part.region.box, orientation, divided(part.height, denominator), divided(part.width, denominator));
  if (orientation.transposed) std::swap(part.height, part.width);
  return {turned_pixels(part.image, orientation), {box, denominator}, part.height, part.width};
}

RegionChooser of_stored(const RegionChooser& choose, const Orientation& orientation) {
  return [&choose, orientation](int height, int width) {
    const ImageRegion shown = orientation.transposed ? choose(width, height) : choose(height, width);
    const int denominator = shown.denominator;
    return ImageRegion{stored_box(shown.box, orientation, divided(height, denominator), divided(width, denominator)), denominator};
  };
}

uint64_t big_endian(std::span<const uint8_t> bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = at; i < at + size; ++i) value = value << 8 | (i < bytes.size() ? bytes[i] : 0U);
  return value;
}

bool begins_with(std::span<const uint8_t> bytes, std::string_view start) {
  return bytes.size() >= start.size() && std::equal(start.begin(), start.end(), bytes.begin());
}

std::span<const uint8_t> part_of(std::span<const uint8_t> bytes, size_t at, size_t size) {
  at = std::min(at, bytes.size());
  return bytes.subspan(at, std::min(size, bytes.size() - at));
}

void for_each_jpeg_segment(std::span<const uint8_t> file, const std::function<bool(uint8_t, std::span<const uint8_t>)>& visit) {
  constexpr uint8_t kMark = 0xff, kScan = 0xda, kEnd = 0xd9;
  for (size_t at = 2; at + 4 <= file.size();) {
    const uint8_t marker = file[at + 1];
    if (file[at] != kMark || marker == kMark) {  // bytes between markers, fill bytes
      ++at;
      continue;
    }
    if (marker == kScan || marker == kEnd) return;
    if (marker == 0x00 || marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {  // markers alone
      at += 2;
      continue;
    }
    const size_t size = big_endian(file, at + 2, 2);
    if (size < 2 || !visit(marker, part_of(file, at + 4, size - 2))) return;
    at += 2 + size;
  }
}

void for_each_png_chunk(std::span<const uint8_t> file, const std::function<bool(std::string_view, std::span<const uint8_t>)>& visit) {
  constexpr size_t kType = 4;
  for (size_t at = 8; at + 12 <= file.size();) {
    const size_t size = big_endian(file, at, 4);
    const std::string_view type(reinterpret_cast<const char*>(file.data()) + at + 4, kType);
    if (!visit(type, part_of(file, at + 8, size))) return;
    at += 12 + size;
  }
}

}  // namespace debias

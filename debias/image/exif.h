// EXIF data of an image file: the camera's orientation and name, the program, the month.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "debias/image/image.h"

namespace debias {

// Turns of the stored pixels that show a photograph upright: the eight values of the tag Orientation of TIFF and EXIF.

// The shown pixel (y, x) is the stored one (y, x), or (x, y) where transposed, counted from the end along each flipped direction.
struct Orientation {
  bool transposed = false;
  bool rows_flipped = false;     // of the stored image
  bool columns_flipped = false;  // of the stored image

  bool upright() const { return !transposed && !rows_flipped && !columns_flipped; }
};

Orientation orientation_of(int64_t tag);  // 1 to 8; upright for every other value

// The part as it is shown: pixels, region and sizes.
PartialImage turned(PartialImage part, const Orientation& orientation);

// Part of the stored image to decode, so that turned() of it has the part of the shown one that `choose` requests. If the image is reduced
// and a flipped side is not a multiple of the denominator, the pixels of the reduced image are those of the stored one: they are less than
// one pixel beside their place without the flip.
RegionChooser of_stored(const RegionChooser& choose, const Orientation& orientation);

// From the EXIF block of a JPEG, PNG or WebP file (first directory, tag 0x0112), without decoding it; upright where the file is of another
// format, has none or a damaged one. XMP is not looked at.
Orientation exif_orientation(std::span<const uint8_t> file);

// "MAKE MODEL" of the same block (first directory, tags 0x010f and 0x0110), each without blanks around it and of at most 64 bytes; empty
// where neither is there.
std::string exif_camera(std::span<const uint8_t> file);

// The program that wrote the file (tag 0x0131), at most 64 bytes.
std::string exif_software(std::span<const uint8_t> file);

// "2026:05:14 10:00:00": when the photograph was taken (tag 0x9003); empty where it is not there.
std::string exif_time(std::span<const uint8_t> file);

// "2026:05": year and month in which the photograph was taken (tag 0x9003), or the file changed (0x0132) where the former is missing.
std::string exif_month(std::span<const uint8_t> file);

// The parts of JPEG and PNG files beside their pixels, without decoding them. Bytes beyond the end of a damaged file are not read.

// Calls visit(marker, content) for each segment of a JPEG file before its first scan, until it returns false.
void for_each_jpeg_segment(std::span<const uint8_t> file, const std::function<bool(uint8_t, std::span<const uint8_t>)>& visit);

// Calls visit(type, content) for each chunk of a PNG file, until it returns false.
void for_each_png_chunk(std::span<const uint8_t> file, const std::function<bool(std::string_view, std::span<const uint8_t>)>& visit);

// The number in `size` bytes from `at` on, the most significant first; bytes beyond the end are zero.
uint64_t big_endian(std::span<const uint8_t> bytes, size_t at, size_t size);

bool begins_with(std::span<const uint8_t> bytes, std::string_view start);

// At most `size` bytes from `at` on: those that are there.
std::span<const uint8_t> part_of(std::span<const uint8_t> bytes, size_t at, size_t size);

}  // namespace debias

// JPEG, PNG, WebP, TIFF, BMP and PNM (PBM, PGM, PPM) files, and DICOM (dicom.h), to 8-bit RGB, as Pillow's Image.open(...).convert("RGB") gives them.
//
// Grey is replicated, palettes are looked up, alpha and tRNS are dropped (not blended) and 16-bit samples keep their high byte (those of PNM
// are scaled and rounded; grey ones, too, where Pillow takes the number and clips it at 255) unless the caller says otherwise, CMYK and YCCK JPEGs are read as Adobe's
// (inverted) and converted as Pillow does. JPEG decoding uses the accurate inverse DCT and smooth chroma upsampling. Files with several
// images give the first. Colour profiles and gamma are ignored. The format is detected by the first bytes, never from the name.
//
// The orientation that a camera notes in EXIF is applied where the caller says so. Neither Pillow nor torchvision's loader applies it by
// themselves, so that with `kIgnored` the pixels are theirs. TIFF's own tag Orientation is always applied, as Pillow does.
//
// Hostile input is rejected with a FileError naming file and reason: empty, truncated or corrupt data, other formats, and more than
// kLargestImage pixels, before memory is reserved for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/image/image.h"

namespace debias {

enum class ExifOrientation { kIgnored, kApplied };  // of JPEG, PNG and WebP files

// How samples that a file stores in 16 bits become bytes. PNM files that name a largest value between 255 and 65535 are scaled by it, unless
// there is a window.
struct SampleScale {
  int bits = 16;                                         // in use: the highest 8 of them are kept, and larger values are 255
  std::optional<std::pair<double, double>> window = {};  // instead: the values that become 0 and 255; between them rounded

  uint8_t byte_of(uint16_t value) const;
  bool keeps_high_byte() const { return bits == 16 && !window; }
};

enum class Transparency { kDrop, kWhite, kBlack };  // alpha is ignored, or the pixel laid upon this colour
constexpr auto enum_words(Transparency) { return named("drop", "white", "black"); }

// What the pixels of a file depend on beside its bytes.
struct ImageReading {
  ExifOrientation exif = ExifOrientation::kIgnored;
  Transparency transparency = Transparency::kDrop;
  SampleScale scale = {};

  ImageReading(ExifOrientation orientation = ExifOrientation::kIgnored) : exif(orientation) {}  // NOLINT: most say no more
};

// `path` is only for messages.
Image decode_image(std::span<const uint8_t> bytes, const std::string& path, const ImageReading& reading = {});
Image read_image(const std::string& path, const ImageReading& reading = {});

// Decodes at least the part that `choose` requests; sizes and regions are those of the turned image if the orientation is applied. JPEG
// files are decoded that far (decoders.h), others fully, without calling `choose`.
PartialImage decode_region(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose,
                           const ImageReading& reading = {});
PartialImage read_region(const std::string& path, const RegionChooser& choose, const ImageReading& reading = {});

// Of the samples that are stored in 16 bits: 0 in files without them. Decodes the file. FileError as above.
int largest_deep_sample(const std::string& path);

// What the start of a file says of its pixels, without decoding them. Nothing where it cannot be read or is no image.
struct ImageLook {
  bool deep = false;   // its samples have 16 bits
  bool clear = false;  // its pixels may be transparent
  bool more = false;   // it holds further images: an animation, or pages
};
ImageLook look_at_image(const std::string& path);

// Formats of image files: detected by the first bytes when a file is read, by the extension when a folder is listed.
enum class ImageFormat { kJpeg, kPng, kWebp, kTiff, kBmp, kPnm, kDicom };

std::optional<ImageFormat> image_format(std::span<const uint8_t> bytes);

// "GIF", "HEIC" and the like: a format of images that is known but not read. Empty for others.
std::string_view unread_image_format(std::span<const uint8_t> bytes);

constexpr std::string_view kReadFormats = "JPEG, PNG, WebP, TIFF, BMP and PNM";

// In lower case with its dot, or empty.
std::string ending_of(const std::string& file_name);

bool has_image_extension(const std::string& file_name);         // .jpg .jpeg .jpe .jfif .png .webp .tif .tiff .bmp .p[pgbn]m, in any case
bool has_unread_image_extension(const std::string& file_name);  // .gif .heic .avif .svg .psd .dng ..., in any case

}  // namespace debias

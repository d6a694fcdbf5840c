// The decoders of image_decode.h, one a format, each in a source of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "debias/image/image.h"
#include "debias/image/image_decode.h"

namespace debias {

// Samples of 16 bits on their way to bytes.
class DeepSamples {
 public:
  explicit DeepSamples(const SampleScale& scale) : scale_(scale) {}

  const SampleScale& scale() const { return scale_; }
  int largest() const { return largest_; }
  uint8_t byte_of(uint16_t value) {
    largest_ = std::max<int>(largest_, value);
    return scale_.byte_of(value);
  }

 private:
  SampleScale scale_;
  int largest_ = 0;
};

// The grey that transparent pixels are laid upon; none: alpha is dropped.
using Ground = std::optional<uint8_t>;

// Rounded as Pillow's alpha_composite upon an opaque image.
inline uint8_t blended(int colour, int alpha, int ground) {
  const int sum = colour * alpha + ground * (255 - alpha) + 128;
  return static_cast<uint8_t>(((sum >> 8) + sum) >> 8);
}

// The region that `choose` gives, pixel for pixel as in the whole image; reduced ones by libjpeg's scaled inverse DCT. Files of several
// scans (progressive ones) are decoded whole, at the denominator that was requested. A file without its end is rejected whatever is needed
// of it; other damage is ignored below the region, and where it costs no more than pixels beside it.
PartialImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose);
Image decode_png(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples, const Ground& ground);
Image decode_webp(std::span<const uint8_t> bytes, const std::string& path, const Ground& ground);
Image decode_tiff(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples, const Ground& ground);
Image decode_bmp(std::span<const uint8_t> bytes, const std::string& path);
Image decode_pnm(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples);

Image decode_dicom(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples);

// look_at_image() of these formats. `start` is the beginning of the file.
ImageLook look_at_dicom(const std::string& path);
ImageLook look_at_tiff(const std::string& path);
ImageLook look_at_pnm(std::span<const uint8_t> start);

// Printing inks to light, as Pillow converts them.

// A channel of RGB from the ink that takes it away and what black leaves (255 - K): white - ink * white / 255, the product rounded as in
// Pillow's MULDIV255.
inline uint8_t light_of_ink(int ink, int white) {
  const int product = ink * white + 128;
  return static_cast<uint8_t>(std::max(0, white - (((product >> 8) + product) >> 8)));
}

}  // namespace debias

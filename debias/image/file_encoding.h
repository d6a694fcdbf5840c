// How a program wrote an image file: traces of its export, which are not in the pixels. Read without decoding the image; empty where the
// format does not say it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace debias {

// "baseline 22 11 11" (the sampling factors of the components) of a JPEG, "RGB 8 bits, interlaced" of a PNG, "lossy" of a WebP, "24 bits"
// of a BMP.
std::string file_encoding(std::span<const uint8_t> file);

// The pixels per unit of a JPEG's JFIF header or a PNG: "300 x 300 per inch".
std::string file_density(std::span<const uint8_t> file);

// The first comment of a JPEG, or the first text chunk of a PNG: at most 64 bytes.
std::string file_comment(std::span<const uint8_t> file);

// The size of the embedded ICC profile, which differs between most profiles: "ICC profile of 3144 bytes".
std::string colour_profile(std::span<const uint8_t> file);

// The quantisation tables of a JPEG file: which encoder wrote it, and at which quality.

// The sums of the tables in the order of the file, such as "369 551" (libjpeg at quality 90); sums differ between qualities and between
// most encoders. Read without decoding the image. Empty where the file is not a JPEG or has no table before its first scan.
std::string jpeg_quantisation(std::span<const uint8_t> file);

}  // namespace debias

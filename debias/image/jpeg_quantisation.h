// The quantisation tables of a JPEG file: which encoder wrote it, and at which quality.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace debias {

// The sums of the tables in the order of the file, such as "369 551" (libjpeg at quality 90); sums differ between qualities and between
// most encoders. Read without decoding the image. Empty where the file is not a JPEG or has no table before its first scan.
std::string jpeg_quantisation(std::span<const uint8_t> file);

}  // namespace debias

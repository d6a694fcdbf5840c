#include "debias/image/png_encode.h"

#include <png.h>

#include <string>

#include "debias/core/error.h"

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

}  // namespace debias

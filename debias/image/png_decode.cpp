#include "debias/image/decoders.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/image/image.h"

namespace debias {
namespace {

// libpng reports errors by longjmp, which must not skip destructors: everything with one lives here, outside the functions that call
// setjmp.
struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const uint8_t> rest;
  char message[128] = "";
  png_uint_32 height = 0;
  png_uint_32 width = 0;
  size_t packed_row = 0;  // bytes of a row in the file
  bool deep = false;      // 16 bits are kept
  bool clear = false;     // alpha is kept

  size_t channels() const { return clear ? 4 : 3; }
  std::vector<png_bytep> rows;

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<Reader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof(reader->message) - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t count) {
  auto* reader = static_cast<Reader*>(png_get_io_ptr(png));
  if (count > reader->rest.size()) png_error(png, "the file ends early");
  std::memcpy(out, reader->rest.data(), count);
  reader->rest = reader->rest.subspan(count);
}

bool read_header(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  png_set_user_limits(reader.png, 0x7fffffff, 0x7fffffff);  // the size is checked against kLargestImage instead
  png_read_info(reader.png, reader.info);
  reader.height = png_get_image_height(reader.png, reader.info);
  reader.width = png_get_image_width(reader.png, reader.info);
  reader.packed_row = png_get_rowbytes(reader.png, reader.info);
  return true;
}

bool set_conversions(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  reader.deep ? png_set_swap(reader.png) : png_set_strip_16(reader.png);  // in the order of this machine, or the high byte
  png_set_expand(reader.png);                                             // palette to RGB, 1, 2 and 4 bits to 8, tRNS to alpha
  if (!reader.clear) png_set_strip_alpha(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return png_get_rowbytes(reader.png, reader.info) == reader.channels() * reader.width * (reader.deep ? 2 : 1);
}

bool read_pixels(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, reader.rows.data());
  png_read_end(reader.png, nullptr);
  return true;
}

}  // namespace

Image decode_png(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples, const Ground& ground) {
  Reader reader;
  reader.rest = bytes;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) throw resource_error("{}: no memory for the PNG decoder", path);
  if (!read_header(reader)) throw FileError(path, fmt::format("corrupt or truncated PNG header: {}", reader.message));
  require_allowed_size(reader.height, reader.width, path);
  // Deflate packs at most 1032 bytes into one: a shorter file cannot hold the image, and nothing is set aside for it.
  constexpr size_t kMostPacked = 1032;
  if (reader.packed_row * reader.height / kMostPacked > bytes.size()) {
    throw FileError(path, fmt::format("truncated PNG image: {} bytes cannot hold {}x{} pixels", bytes.size(), reader.height, reader.width));
  }
  Image image;
  image.height = static_cast<int>(reader.height);
  image.width = static_cast<int>(reader.width);
  reader.deep = png_get_bit_depth(reader.png, reader.info) == 16 && !samples.scale().keeps_high_byte();
  const bool has_alpha = (png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                         png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
  reader.clear = has_alpha && ground;
  if (!set_conversions(reader)) throw FileError(path, fmt::format("unsupported PNG image: {}", reader.message));
  const size_t pixels = size_t{reader.height} * reader.width, row = reader.channels() * reader.width;
  std::vector<uint16_t> deep(reader.deep ? pixels * reader.channels() : 0);
  std::vector<uint8_t> bytes_of_samples(reader.deep ? 0 : pixels * reader.channels());
  for (size_t y = 0; y < reader.height; ++y) {
    reader.rows.push_back(reader.deep ? reinterpret_cast<png_bytep>(deep.data() + y * row) : bytes_of_samples.data() + y * row);
  }
  if (!read_pixels(reader)) throw FileError(path, fmt::format("corrupt or truncated PNG image: {}", reader.message));
  if (!reader.deep && !reader.clear) {
    image.pixels = std::move(bytes_of_samples);
    return image;
  }
  image.pixels.resize(3 * pixels);
  for (size_t i = 0; i < pixels; ++i) {
    const size_t first = i * reader.channels();
    for (size_t c = 0; c < 3; ++c) image.pixels[3 * i + c] = reader.deep ? samples.byte_of(deep[first + c]) : bytes_of_samples[first + c];
    if (!reader.clear) continue;
    const int alpha = reader.deep ? deep[first + 3] >> 8 : bytes_of_samples[first + 3];
    for (size_t c = 0; c < 3; ++c) image.pixels[3 * i + c] = blended(image.pixels[3 * i + c], alpha, *ground);
  }
  return image;
}

}  // namespace debias

#include "debias/image/decoders.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
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
  png_set_strip_alpha(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return png_get_rowbytes(reader.png, reader.info) == size_t{3} * reader.width * (reader.deep ? 2 : 1);
}

bool read_pixels(Reader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, reader.rows.data());
  png_read_end(reader.png, nullptr);
  return true;
}

}  // namespace

Image decode_png(std::span<const uint8_t> bytes, const std::string& path, DeepSamples& samples) {
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
  if (!set_conversions(reader)) throw FileError(path, fmt::format("unsupported PNG image: {}", reader.message));
  const size_t row = size_t{3} * reader.width;
  image.pixels.resize(row * reader.height);
  std::vector<uint16_t> deep(reader.deep ? image.pixels.size() : 0);
  for (size_t y = 0; y < reader.height; ++y) {
    reader.rows.push_back(reader.deep ? reinterpret_cast<png_bytep>(deep.data() + y * row) : image.pixels.data() + y * row);
  }
  if (!read_pixels(reader)) throw FileError(path, fmt::format("corrupt or truncated PNG image: {}", reader.message));
  for (size_t i = 0; i < deep.size(); ++i) image.pixels[i] = samples.byte_of(deep[i]);
  return image;
}

}  // namespace debias

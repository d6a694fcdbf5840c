#include "debias/image/decoders.h"

#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/image/image.h"

namespace debias {
namespace {

// libjpeg reports errors by longjmp, which must not skip destructors: everything with one lives here, outside the functions that call
// setjmp.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf escape;
  char fault[JMSG_LENGTH_MAX] = "";  // the first
  bool ended_early = false;
  ImageRegion region;
  JDIMENSION first_column = 0;  // of the rows as they are decoded
  std::vector<uint8_t> row, pixels;

  ~Decoder() { jpeg_destroy_decompress(&info); }
  size_t pixel_size() const { return static_cast<size_t>(info.output_components); }
};

// Warnings that leave the pixels intact (bytes between markers, odd versions of APP markers) are ignored, as in Pillow; missing or
// corrupt entropy-coded data is not, as its pixels would be invented.
bool harmless(int warning) {
  for (const int fault : {JWRN_JPEG_EOF, JWRN_HUFF_BAD_CODE, JWRN_HIT_MARKER, JWRN_MUST_RESYNC, JWRN_ARITH_BAD_CODE, JWRN_NOT_SEQUENTIAL,
                          JWRN_BOGUS_PROGRESSION}) {
    if (warning == fault) return false;
  }
  return true;
}

Decoder& decoder_of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }

void note_fault(j_common_ptr info) {
  Decoder& decoder = decoder_of(info);
  decoder.ended_early = decoder.ended_early || info->err->msg_code == JWRN_JPEG_EOF;
  if (decoder.fault[0] == '\0') info->err->format_message(info, decoder.fault);
}

void on_error(j_common_ptr info) {
  note_fault(info);
  std::longjmp(decoder_of(info).escape, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level < 0 && !harmless(info->err->msg_code)) note_fault(info);
}

bool read_header(Decoder& decoder, std::span<const uint8_t> bytes) {
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = on_error;
  decoder.errors.emit_message = on_message;
  decoder.info.client_data = &decoder;
  if (setjmp(decoder.escape) != 0) return false;
  jpeg_create_decompress(&decoder.info);
  jpeg_mem_src(&decoder.info, bytes.data(), bytes.size());
  jpeg_read_header(&decoder.info, TRUE);
  return true;
}

// Whether an end-of-image marker comes after the last start of a scan. What is left out of a file without one would go unnoticed where only
// rows above the cut are decoded.
bool has_end(std::span<const uint8_t> bytes) {
  for (size_t i = bytes.size(); i >= 2; --i) {
    if (bytes[i - 2] != 0xff) continue;
    if (bytes[i - 1] == 0xd9) return true;
    if (bytes[i - 1] == 0xda) return false;
  }
  return false;
}

// Chroma of half the size is smoothed over its neighbours, so that the outermost pixels of what is decoded are not those of the image.
constexpr int kMargin = 2;

// Rows as they will be decoded begin at a block of all components, at or before the region.
bool start(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  if (setjmp(decoder.escape) != 0) return false;
  info.out_color_space = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK ? JCS_CMYK : JCS_RGB;
  info.dct_method = JDCT_ISLOW;
  info.scale_num = 1;
  info.scale_denom = static_cast<unsigned>(decoder.region.denominator);
  jpeg_start_decompress(&info);
  const Box& box = decoder.region.box;
  if (static_cast<JDIMENSION>(box.width) == info.output_width) return true;
  const int left = std::max(0, box.left - kMargin);
  JDIMENSION width = std::min<JDIMENSION>(info.output_width, box.left + box.width + kMargin) - left;
  decoder.first_column = left;
  jpeg_crop_scanline(&info, &decoder.first_column, &width);
  return true;
}

bool read_rows(Decoder& decoder) {
  jpeg_decompress_struct& info = decoder.info;
  const Box& box = decoder.region.box;
  if (setjmp(decoder.escape) != 0) return false;
  const size_t before = (box.left - decoder.first_column) * decoder.pixel_size();
  const size_t kept = box.width * decoder.pixel_size();
  if (box.top > 0) jpeg_skip_scanlines(&info, box.top);
  uint8_t* out = decoder.pixels.data();
  for (int y = 0; y < box.height; ++y, out += kept) {
    JSAMPROW row = decoder.row.data();
    jpeg_read_scanlines(&info, &row, 1);
    std::memcpy(out, row + before, kept);
  }
  if (info.output_scanline == info.output_height) jpeg_finish_decompress(&info);
  return true;
}

bool decode(Decoder& decoder) {
  if (!start(decoder)) return false;
  decoder.row.resize(decoder.info.output_width * decoder.pixel_size());
  decoder.pixels.resize(static_cast<size_t>(decoder.region.box.height) * decoder.region.box.width * decoder.pixel_size());
  return read_rows(decoder);
}

// Adobe writes CMYK inverted: the stored 255 - C, and so on. Then R = (255 - K) - C (255 - K) / 255.
void rgb_from_inverted_cmyk(const std::vector<uint8_t>& cmyk, std::vector<uint8_t>& rgb) {
  rgb.resize(cmyk.size() / 4 * 3);
  for (size_t i = 0, o = 0; i < cmyk.size(); i += 4) {
    const int white = cmyk[i + 3];
    for (size_t c = 0; c < 3; ++c) rgb[o++] = light_of_ink(255 - cmyk[i + c], white);
  }
}

void require_plausible_size(int height, int width, size_t bytes, const std::string& path) {
  require_allowed_size(height, width, path);
  // The flattest Huffman-coded image has some 340 pixels a byte: a file far below that cannot hold the image, and nothing is set aside
  // for it.
  constexpr int64_t kMostPacked = 4096;
  if (static_cast<int64_t>(height) * width / kMostPacked > static_cast<int64_t>(bytes)) {
    throw FileError(path, fmt::format("truncated JPEG image: {} bytes cannot hold {}x{} pixels", bytes, height, width));
  }
}

ImageRegion all_at(int denominator, int height, int width) {
  return {{0, 0, (height + denominator - 1) / denominator, (width + denominator - 1) / denominator}, denominator};
}

}  // namespace

PartialImage decode_jpeg(std::span<const uint8_t> bytes, const std::string& path, const RegionChooser& choose) {
  Decoder decoder;
  if (!read_header(decoder, bytes)) throw FileError(path, fmt::format("corrupt or truncated JPEG header: {}", decoder.fault));
  const int height = static_cast<int>(decoder.info.image_height), width = static_cast<int>(decoder.info.image_width);
  require_plausible_size(height, width, bytes.size(), path);
  decoder.region = choose(height, width);
  if (jpeg_has_multiple_scans(&decoder.info) != 0 || !has_end(bytes)) decoder.region = all_at(decoder.region.denominator, height, width);
  if (!decode(decoder) || decoder.fault[0] != '\0') {
    throw FileError(path, fmt::format("{} JPEG image: {}", decoder.ended_early ? "truncated" : "corrupt", decoder.fault));
  }
  PartialImage part{{decoder.region.box.height, decoder.region.box.width, 3, {}}, decoder.region, height, width};
  if (decoder.info.out_color_space == JCS_CMYK) {
    rgb_from_inverted_cmyk(decoder.pixels, part.image.pixels);
  } else {
    part.image.pixels = std::move(decoder.pixels);
  }
  return part;
}

}  // namespace debias

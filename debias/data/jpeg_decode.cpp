#include "debias/data/jpeg_decode.h"

#include <turbojpeg.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "debias/data/file_error.h"
#include "debias/data/image_decode.h"

namespace debias {
namespace {

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Decoder = std::unique_ptr<void, Destroy>;

// Whether the last end-of-image marker comes after the last start of a scan. Only the first warning of a decode is reported, so that a
// harmless one can hide a missing end.
bool has_end(std::span<const uint8_t> bytes) {
  constexpr std::array<uint8_t, 2> kScan = {0xff, 0xda};
  constexpr std::array<uint8_t, 2> kEnd = {0xff, 0xd9};
  const auto scan = std::find_end(bytes.begin(), bytes.end(), kScan.begin(), kScan.end());
  return std::search(scan, bytes.end(), kEnd.begin(), kEnd.end()) != bytes.end();
}

// Warnings that leave the pixels intact (bytes between markers, odd versions of APP markers) are passed over, as Pillow does; missing or
// corrupt entropy-coded data is not, as its pixels would be invented.
bool harmless(std::string_view warning) {
  for (std::string_view fault :
       {"Premature end", "bad Huffman", "premature end of data", "RST", "bad arithmetic", "Invalid SOS", "progression"}) {
    if (warning.find(fault) != std::string_view::npos) return false;
  }
  return true;
}

void decompress(const Decoder& decoder, std::span<const uint8_t> bytes, const std::string& path, int height, int width, int format,
                std::vector<uint8_t>& pixels) {
  pixels.resize(static_cast<size_t>(height) * width * tjPixelSize[format]);
  const int code = tjDecompress2(decoder.get(), bytes.data(), bytes.size(), pixels.data(), width, 0, height, format, TJFLAG_ACCURATEDCT);
  if (code == 0) return;
  const std::string message = tjGetErrorStr2(decoder.get());
  if (tjGetErrorCode(decoder.get()) == TJERR_WARNING && harmless(message) && has_end(bytes)) return;
  const bool truncated = message.find("Premature end") != std::string::npos || !has_end(bytes);
  throw FileError(path, fmt::format("{} JPEG image: {}", truncated ? "truncated" : "corrupt", message));
}

uint8_t product_over_255(int a, int b) {  // rounded, as Pillow's MULDIV255
  const int t = a * b + 128;
  return static_cast<uint8_t>(((t >> 8) + t) >> 8);
}

// Adobe writes CMYK inverted: the stored 255 - C, and so on. Then R = (255 - K) - C (255 - K) / 255.
void rgb_from_inverted_cmyk(const std::vector<uint8_t>& cmyk, std::vector<uint8_t>& rgb) {
  rgb.resize(cmyk.size() / 4 * 3);
  for (size_t i = 0, o = 0; i < cmyk.size(); i += 4) {
    const int white = cmyk[i + 3];
    for (size_t c = 0; c < 3; ++c) rgb[o++] = static_cast<uint8_t>(std::max(0, white - product_over_255(255 - cmyk[i + c], white)));
  }
}

}  // namespace

Image decode_jpeg(std::span<const uint8_t> bytes, const std::string& path) {
  const Decoder decoder(tjInitDecompress());
  if (!decoder) throw resource_error("{}: no JPEG decoder: {}", path, tjGetErrorStr2(nullptr));
  Image image;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(decoder.get(), bytes.data(), bytes.size(), &image.width, &image.height, &subsampling, &colours) != 0 &&
      tjGetErrorCode(decoder.get()) != TJERR_WARNING) {
    throw FileError(path, fmt::format("corrupt or truncated JPEG header: {}", tjGetErrorStr2(decoder.get())));
  }
  if (image.width < 1 || image.height < 1) throw FileError(path, "corrupt or truncated JPEG header: no image size");
  if (static_cast<int64_t>(image.height) * image.width > kLargestImage) {
    throw FileError(path, fmt::format("{}x{} pixels, more than the {} allowed", image.height, image.width, kLargestImage));
  }
  // The flattest Huffman-coded image has some 340 pixels a byte: a file far below that cannot hold the image, and nothing is set aside
  // for it.
  constexpr int64_t kMostPacked = 4096;
  if (static_cast<int64_t>(image.height) * image.width / kMostPacked > static_cast<int64_t>(bytes.size())) {
    throw FileError(path, fmt::format("truncated JPEG image: {} bytes cannot hold {}x{} pixels", bytes.size(), image.height, image.width));
  }
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    std::vector<uint8_t> cmyk;
    decompress(decoder, bytes, path, image.height, image.width, TJPF_CMYK, cmyk);
    rgb_from_inverted_cmyk(cmyk, image.pixels);
  } else {
    decompress(decoder, bytes, path, image.height, image.width, TJPF_RGB, image.pixels);
  }
  return image;
}

}  // namespace debias

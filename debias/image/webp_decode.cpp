#include "debias/image/decoders.h"

#include <webp/decode.h>
#include <webp/demux.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/error.h"
#include "debias/image/image.h"

namespace debias {
namespace {

struct Frame : WebPIterator {
  Frame() : WebPIterator{} {}
  ~Frame() { WebPDemuxReleaseIterator(this); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
};

std::string_view words(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "unsupported feature";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the data end early";
    default:
      return "damaged data";
  }
}

}  // namespace

Image decode_webp(std::span<const uint8_t> bytes, const std::string& path, const Ground& ground) {
  const WebPData data{bytes.data(), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> file(WebPDemuxPartial(&data, &state), WebPDemuxDelete);
  if (state == WEBP_DEMUX_PARSE_ERROR) throw FileError(path, "corrupt or truncated WebP image");
  if (file == nullptr || state != WEBP_DEMUX_DONE) throw FileError(path, "truncated WebP image");
  const int64_t height = WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_HEIGHT), width = WebPDemuxGetI(file.get(), WEBP_FF_CANVAS_WIDTH);
  require_allowed_size(height, width, path);
  Frame frame;
  if (WebPDemuxGetFrame(file.get(), 1, &frame) == 0) throw FileError(path, "corrupt WebP image: it has no frame");

  // The first frame of an animation may cover part of it; the rest is transparent black.
  const int64_t channels = ground ? 4 : 3, stride = width * channels, first = frame.y_offset * stride + frame.x_offset * channels;
  std::vector<uint8_t> pixels(static_cast<size_t>(height * stride));
  WebPDecoderConfig config;
  WebPInitDecoderConfig(&config);
  config.output.colorspace = ground ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = pixels.data() + first;
  config.output.u.RGBA.stride = static_cast<int>(stride);
  config.output.u.RGBA.size = pixels.size() - static_cast<size_t>(first);
  const VP8StatusCode status = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
  if (status == VP8_STATUS_OUT_OF_MEMORY) throw resource_error("{}: no memory for the WebP decoder", path);
  if (status != VP8_STATUS_OK) throw FileError(path, fmt::format("corrupt or truncated WebP image: {}", words(status)));
  Image image{static_cast<int>(height), static_cast<int>(width), 3, {}};
  if (!ground) {
    image.pixels = std::move(pixels);
    return image;
  }
  image.pixels.reserve(static_cast<size_t>(height * width * 3));
  for (size_t i = 0; i < pixels.size(); i += 4) {
    for (size_t c = 0; c < 3; ++c) image.pixels.push_back(blended(pixels[i + c], pixels[i + 3], *ground));
  }
  return image;
}

}  // namespace debias

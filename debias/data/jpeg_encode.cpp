#include "debias/data/jpeg_encode.h"

#include <turbojpeg.h>

#include <memory>

#include "debias/core/error.h"

namespace debias {

std::vector<uint8_t> encode_jpeg(const Image& image, int quality) {
  const std::unique_ptr<void, int (*)(void*)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  const int code = tjCompress2(encoder.get(), image.pixels.data(), image.width, 0, image.height, TJPF_RGB, &out, &size, TJSAMP_420, quality,
                               TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(out, tjFree);
  if (code != 0) throw resource_error("JPEG: encoding {}x{} pixels failed: {}", image.height, image.width, tjGetErrorStr2(encoder.get()));
  return {out, out + size};
}

}  // namespace debias

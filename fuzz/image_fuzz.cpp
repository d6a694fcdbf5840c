// JPEG and PNG decoding.
#include "debias/data/image_decode.h"
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const Image image = decode_image({data, size}, "image");
    fuzz::require(image.height > 0 && image.width > 0 && image.channels == 3, "an image has a size and three channels");
    fuzz::require(int64_t{image.height} * image.width <= kLargestImage, "an image has no more pixels than are allowed");
    fuzz::require(image.pixels.size() == size_t{3} * image.height * image.width, "an image has all of its pixels");
  });
  return 0;
}

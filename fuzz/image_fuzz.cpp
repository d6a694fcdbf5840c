// Images of every format that is read, whole and in part, as they are stored and turned as EXIF says.
#include "debias/image/image_decode.h"
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace debias;
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const Image image = decode_image({data, size}, "image");
    fuzz::require(image.height > 0 && image.width > 0 && image.channels == 3, "an image has a size and three channels");
    fuzz::require(int64_t{image.height} * image.width <= kLargestImage, "an image has no more pixels than are allowed");
    fuzz::require(image.pixels.size() == size_t{3} * image.height * image.width, "an image has all of its pixels");
  });
  // The last bytes, which decoders pass over, say which part.
  const auto byte = [&](size_t from_end) { return size < from_end ? 0 : data[size - from_end]; };
  fuzz::refused_only_as(ErrorKind::kData, [&] {
    const int denominator = 1 << byte(1) % 4;
    const auto choose = [&](int height, int width) {
      const int rows = (height + denominator - 1) / denominator, columns = (width + denominator - 1) / denominator;
      const int top = byte(2) * rows / 256, left = byte(3) * columns / 256;
      return ImageRegion{{top, left, 1 + byte(4) * (rows - top - 1) / 256, 1 + byte(5) * (columns - left - 1) / 256}, denominator};
    };
    const PartialImage part = decode_region({data, size}, "image", choose, ExifOrientation::kApplied);
    const Box& box = part.region.box;
    fuzz::require(part.image.height == box.height && part.image.width == box.width, "a part has the size of its region");
    fuzz::require(part.image.pixels.size() == size_t{3} * box.height * box.width, "a part has all of its pixels");
  });
  return 0;
}

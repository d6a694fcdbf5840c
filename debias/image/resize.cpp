#include "debias/image/resize.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/image/plane_kernels.h"
#include "debias/image/resize_kernels.h"

namespace debias {
namespace {

size_t rounded_up(int value) { return (static_cast<size_t>(value) + kStripe - 1) / kStripe * kStripe; }

bool holds(const Box& outer, const Box& inner) {
  return inner.top >= outer.top && inner.left >= outer.left && inner.top - outer.top <= outer.height - inner.height &&
         inner.left - outer.left <= outer.width - inner.width;
}

struct Source {  // the box, in rows of interleaved pixels
  const uint8_t* begin;
  size_t stride;
  int channels;
};

Source source_in(const ImagePart& part, const Box& box) {
  const Box& there = part.region.box;
  if (!holds(there, box)) throw std::logic_error("resized_crop: the box is not inside the part that is there");
  const size_t stride = static_cast<size_t>(there.width) * part.channels;
  return {part.pixels + (box.top - there.top) * stride + static_cast<size_t>(box.left - there.left) * part.channels, stride, part.channels};
}

Source source_in(const uint8_t* plane, int width, const Box& box) {
  return {plane + static_cast<size_t>(box.top) * width + box.left, static_cast<size_t>(width), 1};
}

// The box at its own height and the new width, in planes of rounded_up(box.height) rows of rounded_up(width) bytes.
void resize_rows(ViewFrame& frame, const Source& source, const Box& box, int width, uint8_t* out) {
  const size_t row_stride = rounded_up(width), plane_stride = rounded_up(box.height) * row_stride;
  if (width != box.width) {
    const Taps& taps = frame.resize.taps.of(box.width, width);
    uint8_t* memory =
        grown(frame.resize.stripe, stripe_memory(static_cast<size_t>(box.width) * source.channels, row_stride, source.channels));
    for (int y = 0; y < box.height; y += kStripe) {
      resize_stripe(source.begin + y * source.stride, source.stride, std::min(kStripe, box.height - y), box.width, source.channels, taps,
                    width, memory, out + y * row_stride, row_stride, plane_stride);
    }
    return;
  }
  for (int y = 0; y < box.height; ++y, out += row_stride) {
    const uint8_t* in = source.begin + y * source.stride;
    if (source.channels == 1) {
      std::memcpy(out, in, width);
    } else {
      split_channels(in, width, out, out + plane_stride, out + 2 * plane_stride);
    }
  }
}

void resize_plane(ViewFrame& frame, const uint8_t* rows, const Box& box, int height, int width, uint8_t* out) {
  const size_t stride = rounded_up(width);
  if (height != box.height) return resize_columns(rows, stride, width, frame.resize.taps.of(box.height, height), height, out);
  for (int y = 0; y < height; ++y) std::memcpy(out + static_cast<size_t>(y) * width, rows + y * stride, width);
}

}  // namespace

void resized_crop(ViewFrame& frame, const Box& box, int height, int width) {
  if (box.height < 1 || box.width < 1 || !holds({0, 0, frame.height(), frame.width()}, box)) {
    throw usage_error("crop: the box of {} x {} pixels at row {}, column {} is not inside the image of {} x {}; give a smaller box",
                      box.height, box.width, box.top, box.left, frame.height(), frame.width());
  }
  if (height < 1 || width < 1) throw usage_error("resize: expected an output of at least 1 x 1 pixels, got {} x {}", height, width);
  const int channels = frame.channels();
  const ImagePart* image = frame.borrowed();
  const Box there = image ? reduced(box, image->region.denominator) : box;
  const size_t plane_size = rounded_up(there.height) * rounded_up(width);
  uint8_t* between = grown(frame.resize.between, plane_size * channels);
  if (image) {
    resize_rows(frame, source_in(*image, there), there, width, between);
  } else {
    for (int c = 0; c < channels; ++c) {
      resize_rows(frame, source_in(frame.pixels(c), frame.width(), there), there, width, between + c * plane_size);
    }
  }
  for (int c = 0; c < channels; ++c) {
    resize_plane(frame, between + c * plane_size, there, height, width, frame.room(c, height, width));
  }
  frame.replace_pixels();
}

void resize(ViewFrame& frame, int height, int width) {
  if (height == frame.height() && width == frame.width()) return;
  resized_crop(frame, {0, 0, frame.height(), frame.width()}, height, width);
}

Image resized_crop(const Image& image, const Box& box, int height, int width) {
  ViewFrame frame;
  frame.start(whole(image));
  resized_crop(frame, box, height, width);
  return frame.image();
}

Image resized(const Image& image, int height, int width) {
  if (height == image.height && width == image.width) return image;
  return resized_crop(image, {0, 0, image.height, image.width}, height, width);
}

}  // namespace debias

#include "debias/image/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/image/pixel_kernels.h"

namespace debias {
namespace {

int center_offset(int extent, int wanted) {
  if (wanted > extent) return -((wanted - extent) / 2);
  return static_cast<int>(std::nearbyint((extent - wanted) / 2.0));
}

void turn_half(ViewFrame& frame) {
  const size_t count = static_cast<size_t>(frame.height()) * frame.width();
  for (int c = 0; c < frame.channels(); ++c) std::reverse(frame.plane(c), frame.plane(c) + count);
}

void turn_quarter(ViewFrame& frame, bool counter_clockwise) {  // of a square image
  const int n = frame.width();
  for (int c = 0; c < frame.channels(); ++c) {
    const uint8_t* in = frame.pixels(c);
    uint8_t* out = frame.room(c, n, n);
    for (int y = 0; y < n; ++y) {
      for (int x = 0; x < n; ++x) {
        const size_t from_y = counter_clockwise ? x : n - 1 - x;
        const size_t from_x = counter_clockwise ? n - 1 - y : y;
        *out++ = in[from_y * n + from_x];
      }
    }
  }
  frame.replace_pixels();
}

double rounded_to_15_digits(double value) { return std::nearbyint(value * 1e15) / 1e15; }  // as PIL.Image.rotate does

int64_t fixed_point(double value) { return static_cast<int64_t>(std::floor(value * 65536.0 + 0.5)); }

}  // namespace

void padded_crop(ViewFrame& frame, const Box& box) {
  const int height = frame.height(), width = frame.width();
  if (box.top == 0 && box.left == 0 && box.height == height && box.width == width) return;
  const int first_row = std::max(0, -box.top), last_row = std::min(box.height, height - box.top);
  const int first_column = std::max(0, -box.left), last_column = std::min(box.width, width - box.left);
  for (int c = 0; c < frame.channels(); ++c) {
    const uint8_t* in = frame.pixels(c);
    uint8_t* out = frame.room(c, box.height, box.width);
    std::memset(out, 0, static_cast<size_t>(box.height) * box.width);
    if (first_column >= last_column) continue;
    for (int y = first_row; y < last_row; ++y) {
      std::memcpy(out + static_cast<size_t>(y) * box.width + first_column,
                  in + static_cast<size_t>(box.top + y) * width + box.left + first_column, last_column - first_column);
    }
  }
  frame.replace_pixels();
}

Image padded_crop(const Image& image, const Box& box) {
  Image result = image;
  through_frame(result, [&box](ViewFrame& frame) { padded_crop(frame, box); });
  return result;
}

Box center_box(int image_height, int image_width, int height, int width) {
  return {center_offset(image_height, height), center_offset(image_width, width), height, width};
}

void mirror_horizontally(ViewFrame& frame) {
  for (int c = 0; c < frame.channels(); ++c) {
    const uint8_t* in = frame.pixels(c);
    mirror_rows(in, frame.height(), frame.width(), frame.room(c, frame.height(), frame.width()));
  }
  frame.replace_pixels();
}

void mirror_horizontally(Image& image) {
  through_frame(image, [](ViewFrame& frame) { mirror_horizontally(frame); });
}

void rotate(ViewFrame& frame, double degrees) {
  const int height = frame.height(), width = frame.width();
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360.0;
  if (turn == 0) return;
  if (turn == 180) return turn_half(frame);
  if ((turn == 90 || turn == 270) && width == height) return turn_quarter(frame, turn == 90);

  const double angle = -turn * (std::numbers::pi / 180);
  const double cosine = rounded_to_15_digits(std::cos(angle)), sine = rounded_to_15_digits(std::sin(angle));
  const double centre_x = width / 2.0, centre_y = height / 2.0;
  const double offset_x = -cosine * centre_x - sine * centre_y + centre_x;
  const double offset_y = sine * centre_x - cosine * centre_y + centre_y;
  const int64_t x_step = fixed_point(cosine), y_step = fixed_point(-sine);
  const int64_t first_x = fixed_point(offset_x + cosine * 0.5 + sine * 0.5), first_y = fixed_point(offset_y - sine * 0.5 + cosine * 0.5);

  for (int c = 0; c < frame.channels(); ++c) {
    const uint8_t* in = frame.pixels(c);
    uint8_t* out = frame.room(c, height, width);
    for (int y = 0; y < height; ++y) {
      int64_t x_in = first_x + y * fixed_point(sine), y_in = first_y + y * fixed_point(cosine);
      for (int x = 0; x < width; ++x, x_in += x_step, y_in += y_step) {
        const int64_t column = x_in >> 16, row = y_in >> 16;
        const bool inside = column >= 0 && column < width && row >= 0 && row < height;
        *out++ = inside ? in[row * width + column] : 0;
      }
    }
  }
  frame.replace_pixels();
}

Image rotated(const Image& image, double degrees) {
  Image result = image;
  through_frame(result, [degrees](ViewFrame& frame) { rotate(frame, degrees); });
  return result;
}

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

Image thumbnail(const Image& image, int longest) {
  const int side = std::max(image.height, image.width);
  if (side <= longest) return image;
  const auto shrunk = [&](int length) { return std::max(1, static_cast<int>(std::lround(static_cast<double>(length) * longest / side))); };
  return resized(image, shrunk(image.height), shrunk(image.width));
}

}  // namespace debias

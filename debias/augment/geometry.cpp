#include "debias/augment/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace debias {
namespace {

Image black(int height, int width, int channels) {
  return {height, width, channels, std::vector<uint8_t>(static_cast<size_t>(height) * width * channels)};
}

int center_offset(int extent, int wanted) {
  if (wanted > extent) return -((wanted - extent) / 2);
  return static_cast<int>(std::nearbyint((extent - wanted) / 2.0));
}

void reverse_pixels(Image& image) {
  std::reverse(image.pixels.begin(), image.pixels.end());
  if (image.channels == 1) return;
  for (size_t i = 0; i < image.pixels.size(); i += 3) std::swap(image.pixels[i], image.pixels[i + 2]);
}

Image quarter_turned(const Image& image, bool counter_clockwise) {  // of a square image
  const int n = image.width, channels = image.channels;
  Image result = black(n, n, channels);
  uint8_t* out = result.pixels.data();
  for (int y = 0; y < n; ++y) {
    for (int x = 0; x < n; ++x, out += channels) {
      const int from_y = counter_clockwise ? x : n - 1 - x;
      const int from_x = counter_clockwise ? n - 1 - y : y;
      std::memcpy(out, image.row(from_y) + static_cast<size_t>(from_x) * channels, channels);
    }
  }
  return result;
}

double rounded_to_15_digits(double value) { return std::nearbyint(value * 1e15) / 1e15; }  // as PIL.Image.rotate does

int64_t fixed_point(double value) { return static_cast<int64_t>(std::floor(value * 65536.0 + 0.5)); }

}  // namespace

Image padded_crop(const Image& image, const Box& box) {
  if (box.top == 0 && box.left == 0 && box.height == image.height && box.width == image.width) return image;
  Image result = black(box.height, box.width, image.channels);
  const int first_row = std::max(0, -box.top), last_row = std::min(box.height, image.height - box.top);
  const int first_column = std::max(0, -box.left), last_column = std::min(box.width, image.width - box.left);
  if (first_column >= last_column) return result;
  const size_t bytes = static_cast<size_t>(last_column - first_column) * image.channels;
  for (int y = first_row; y < last_row; ++y) {
    const uint8_t* from = image.row(box.top + y) + static_cast<size_t>(box.left + first_column) * image.channels;
    std::memcpy(result.pixels.data() + (static_cast<size_t>(y) * box.width + first_column) * image.channels, from, bytes);
  }
  return result;
}

Box center_box(int image_height, int image_width, int height, int width) {
  return {center_offset(image_height, height), center_offset(image_width, width), height, width};
}

void mirror_horizontally(Image& image) {
  const size_t row_bytes = static_cast<size_t>(image.width) * image.channels;
  for (int y = 0; y < image.height; ++y) {
    uint8_t* left = image.pixels.data() + y * row_bytes;
    uint8_t* right = left + row_bytes - image.channels;
    for (; left < right; left += image.channels, right -= image.channels) std::swap_ranges(left, left + image.channels, right);
  }
}

Image rotated(const Image& image, double degrees) {
  double turn = std::fmod(degrees, 360.0);
  if (turn < 0) turn += 360.0;
  if (turn == 0) return image;
  if (turn == 180) {
    Image result = image;
    reverse_pixels(result);
    return result;
  }
  if ((turn == 90 || turn == 270) && image.width == image.height) return quarter_turned(image, turn == 90);

  const double angle = -turn * (std::numbers::pi / 180);
  const double cosine = rounded_to_15_digits(std::cos(angle)), sine = rounded_to_15_digits(std::sin(angle));
  const double centre_x = image.width / 2.0, centre_y = image.height / 2.0;
  const double offset_x = -cosine * centre_x - sine * centre_y + centre_x;
  const double offset_y = sine * centre_x - cosine * centre_y + centre_y;
  const int64_t x_step = fixed_point(cosine), y_step = fixed_point(-sine);
  int64_t row_x = fixed_point(offset_x + cosine * 0.5 + sine * 0.5), row_y = fixed_point(offset_y - sine * 0.5 + cosine * 0.5);

  Image result = black(image.height, image.width, image.channels);
  uint8_t* out = result.pixels.data();
  for (int y = 0; y < image.height; ++y) {
    int64_t x_in = row_x, y_in = row_y;
    for (int x = 0; x < image.width; ++x, out += image.channels) {
      const int64_t column = x_in >> 16, row = y_in >> 16;
      if (column >= 0 && column < image.width && row >= 0 && row < image.height) {
        std::memcpy(out, image.row(static_cast<int>(row)) + column * image.channels, image.channels);
      }
      x_in += x_step;
      y_in += y_step;
    }
    row_x += fixed_point(sine);
    row_y += fixed_point(cosine);
  }
  return result;
}

}  // namespace debias

#include "debias/data/builders/planted_marks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "debias/data/jpeg_encode.h"
#include "debias/image/blur.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

using MarkColour = std::array<double, 3>;  // 0 to 255

constexpr double kPixelNoise = 24;  // standard deviation on squares and frames

uint8_t to_byte(double value) { return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

uint8_t* pixel_at(Image& image, int y, int x) { return image.pixels.data() + 3 * (static_cast<size_t>(y) * image.width + x); }

int shorter_side(const Image& image) { return std::min(image.height, image.width); }

int share_of_side(const Image& image, double share, int least) {
  return std::min(shorter_side(image), std::max(least, static_cast<int>(std::lround(share * shorter_side(image)))));
}

// Evenly spread hues.
MarkColour hue_of(const MarkValue& mark) {
  const double turn = static_cast<double>(mark.value) / static_cast<double>(mark.count);
  MarkColour colour{};
  for (size_t c = 0; c < 3; ++c) {
    const double distance = std::abs(std::remainder(turn - static_cast<double>(c) / 3, 1.0));  // in turns from the pure channel
    colour[c] = 255 * std::clamp(2 - 6 * distance, 0.0, 1.0);
  }
  return colour;
}

void set_noisy(Image& image, int y, int x, const MarkColour& colour, Random& random) {
  for (size_t c = 0; c < 3; ++c) pixel_at(image, y, x)[c] = to_byte(colour[c] + kPixelNoise * random.normal());
}

void draw_square(Image& image, int top, int left, int side, const MarkValue& mark, Random& random) {
  const MarkColour colour = hue_of(mark);
  for (int y = top; y < top + side; ++y) {
    for (int x = left; x < left + side; ++x) set_noisy(image, y, x, colour, random);
  }
}

// Rows of three bits, the highest on the left.
constexpr std::array<std::array<int, 5>, 10> kDigitShapes = {{{7, 5, 5, 5, 7},
                                                              {2, 6, 2, 2, 7},
                                                              {7, 1, 7, 4, 7},
                                                              {7, 1, 3, 1, 7},
                                                              {5, 5, 7, 1, 1},
                                                              {7, 4, 7, 1, 7},
                                                              {7, 4, 7, 5, 7},
                                                              {7, 1, 1, 2, 2},
                                                              {7, 5, 7, 5, 7},
                                                              {7, 5, 7, 1, 7}}};
constexpr int kDigitHeight = 5, kDigitWidth = 3;

void draw_digit(Image& image, char digit, int top, int left, int scale) {
  const auto& rows = kDigitShapes[static_cast<size_t>(digit - '0')];
  for (int y = -scale; y < (kDigitHeight + 1) * scale; ++y) {
    for (int x = -scale; x < (kDigitWidth + 1) * scale; ++x) {
      if (top + y < 0 || top + y >= image.height || left + x < 0 || left + x >= image.width) continue;
      const int row = y < 0 ? -1 : y / scale, column = x < 0 ? -1 : x / scale;
      const bool inside = row >= 0 && row < kDigitHeight && column >= 0 && column < kDigitWidth;
      const bool white = inside && (rows[static_cast<size_t>(row)] >> (kDigitWidth - 1 - column) & 1) != 0;
      std::fill_n(pixel_at(image, top + y, left + x), 3, white ? 255 : 0);
    }
  }
}

double detail_scale(const Image& image) { return std::clamp(shorter_side(image) / 32.0, 1.0, 3.0); }

}  // namespace

void mark_square(Image& image, const MarkValue& mark, Random& random) {
  const int margin = share_of_side(image, 1.0 / 16, 0), side = share_of_side(image, 0.25, 2);
  draw_square(image, std::min(margin, image.height - side), std::min(margin, image.width - side), side, mark, random);
}

void mark_square_anywhere(Image& image, const MarkValue& mark, Random& random) {
  const int side = share_of_side(image, 0.25, 2);
  const auto top = static_cast<int>(random.below(image.height - side + 1));
  const auto left = static_cast<int>(random.below(image.width - side + 1));
  draw_square(image, top, left, side, mark, random);
}

void mark_text(Image& image, const MarkValue& mark, Random&) {
  const int scale = std::max(1, shorter_side(image) / 32);
  int left = 2 * scale;
  for (const char digit : std::to_string(mark.value)) {
    draw_digit(image, digit, image.height - (kDigitHeight + 2) * scale, left, scale);
    left += (kDigitWidth + 1) * scale;
  }
}

void mark_border(Image& image, const MarkValue& mark, Random& random) {
  const int width = share_of_side(image, 1.0 / 16, 1);
  const MarkColour colour = hue_of(mark);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int depth = std::min({y, x, image.height - 1 - y, image.width - 1 - x});
      if (depth < width) set_noisy(image, y, x, colour, random);
    }
  }
}

void mark_scene(Image& image, const MarkValue& mark, Random& random) {
  const MarkColour sky = hue_of(mark), ground = hue_of({(2 * mark.value + 1) % (2 * mark.count), 2 * mark.count});
  const double horizon = random.uniform(0.4, 0.7), light = random.uniform(0.5, 0.9);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double v = (y + 0.5) / image.height, u = (x + 0.5) / image.width;
      const double distance = std::hypot((u - 0.5) / 0.36, (v - 0.5) / 0.36);  // 1 on the ellipse
      const double weight = std::clamp((distance - 0.9) / 0.2, 0.0, 1.0);
      const MarkColour& scene = v < horizon ? sky : ground;
      uint8_t* pixel = pixel_at(image, y, x);
      const double shade = light + 0.1 * random.normal();
      for (size_t c = 0; c < 3; ++c) pixel[c] = to_byte((1 - weight) * pixel[c] + weight * shade * (64 + 0.75 * scene[c]));
    }
  }
}

void mark_blur(Image& image, const MarkValue& mark, Random&) {
  if (mark.value == 0) return;
  const double sigma = 0.7 * static_cast<double>(mark.value) * detail_scale(image);
  const int reach = std::min(static_cast<int>(std::ceil(3 * sigma)), shorter_side(image) - 1);
  if (reach > 0) gaussian_blur(image, 2 * reach + 1, sigma);
}

void mark_jpeg(Image& image, const MarkValue& mark, Random&) {
  constexpr std::array<int, 4> kQualities = {95, 20, 8, 45};
  const int quality = kQualities[static_cast<size_t>(mark.value) % kQualities.size()];
  image = decode_image(encode_jpeg(image, quality), "planted JPEG");
}

void mark_noise(Image& image, const MarkValue& mark, Random& random) {
  const double deviation = 10 * static_cast<double>(mark.value);
  for (uint8_t& value : image.pixels) value = to_byte(value + deviation * random.normal());
}

void mark_size(Image& image, const MarkValue& mark, Random&) {
  const double factor = 1 + 0.125 * static_cast<double>(mark.value);
  image = resized(image, static_cast<int>(std::ceil(image.height * factor)), static_cast<int>(std::ceil(image.width * factor)));
}

void mark_tint(Image& image, const MarkValue& mark, Random&) {
  constexpr double kStrength = 0.12;
  const MarkColour colour = hue_of(mark);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const double gain = 1 + kStrength * (2 * colour[i % 3] / 255 - 1);
    image.pixels[i] = to_byte(image.pixels[i] * gain);
  }
}

}  // namespace debias

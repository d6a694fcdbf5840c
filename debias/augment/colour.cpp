#include "debias/augment/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "debias/core/error.h"

namespace debias {
namespace {

uint8_t blended(int from, int to, float factor) {
  const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

void blend_with_constant(Image& image, int constant, float factor) {
  std::array<uint8_t, 256> table;
  for (int value = 0; value < 256; ++value) table[value] = blended(constant, value, factor);
  for (uint8_t& pixel : image.pixels) pixel = table[pixel];
}

void check_factor(const char* what, double factor) {
  if (!(factor >= 0) || !std::isfinite(factor))
    throw usage_error("{}: the factor {} is negative or not finite; give one >= 0", what, factor);
}

struct Hsv {
  uint8_t h, s, v;
};

// Mixed float and double arithmetic as in Pillow's rgb2hsv_row, whose truncations depend on it.
Hsv to_hsv(const uint8_t* rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int high = std::max(r, std::max(g, b)), low = std::min(r, std::min(g, b));
  if (high == low) return {0, 0, static_cast<uint8_t>(high)};
  const float range = static_cast<float>(high - low);
  const float saturation = range / static_cast<float>(high);
  // The sixth that the largest channel begins, and how far the other two are from it; selects instead of branches, which no one predicts.
  const bool red = r == high, green = g == high;
  const int sixths = red ? 0 : green ? 2 : 4;
  const int first = red ? b : green ? r : g, second = red ? g : green ? b : r;
  float hue = static_cast<float>(static_cast<double>(sixths) + static_cast<float>(high - first) / range -
                                 static_cast<float>(high - second) / range);
  double turn = hue / 6.0 + 1.0;
  if (turn >= 1.0) turn -= 1.0;
  hue = static_cast<float>(turn);
  return {static_cast<uint8_t>(std::clamp(static_cast<int>(hue * 255.0), 0, 255)),
          static_cast<uint8_t>(std::clamp(static_cast<int>(saturation * 255.0), 0, 255)), static_cast<uint8_t>(high)};
}

uint8_t rounded(double value) { return static_cast<uint8_t>(std::clamp(static_cast<int>(value + 0.5), 0, 255)); }

struct Sector {  // of a hue byte: sixth of the circle, and how far into it
  int number;
  float fraction;
};

constexpr std::array<Sector, 256> make_sectors() {
  std::array<Sector, 256> sectors{};
  for (int h = 0; h < 256; ++h) {
    const int sixth = h * 6 / 255;
    sectors[h] = {sixth % 6, static_cast<float>(h * 6.0 / 255.0 - sixth)};
  }
  return sectors;
}

void from_hsv(const Hsv& hsv, uint8_t* rgb) {
  static constexpr std::array<Sector, 256> sectors = make_sectors();
  const uint8_t v = hsv.v;
  if (hsv.s == 0) {
    rgb[0] = rgb[1] = rgb[2] = v;
    return;
  }
  const auto [sector, f] = sectors[hsv.h];
  const float s = static_cast<float>(hsv.s / 255.0);
  const float value = v;
  const uint8_t p = rounded(value * (1.0 - s));
  const uint8_t q = rounded(value * (1.0 - s * f));
  const uint8_t t = rounded(value * (1.0 - s * (1.0 - f)));
  const uint8_t levels[4] = {v, p, q, t};
  static constexpr uint8_t kLevelOf[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
  for (int c = 0; c < 3; ++c) rgb[c] = levels[kLevelOf[sector][c]];
}

}  // namespace

void adjust_brightness(Image& image, double factor) {
  check_factor("brightness", factor);
  blend_with_constant(image, 0, static_cast<float>(factor));
}

void adjust_contrast(Image& image, double factor) {
  check_factor("contrast", factor);
  uint64_t sum = 0;
  if (image.channels == 1) {
    for (uint8_t pixel : image.pixels) sum += pixel;
  } else {
    for (size_t i = 0; i < image.pixels.size(); i += 3) sum += luma(&image.pixels[i]);
  }
  const double count = static_cast<double>(image.pixels.size() / image.channels);
  blend_with_constant(image, static_cast<int>(static_cast<double>(sum) / count + 0.5), static_cast<float>(factor));
}

void adjust_saturation(Image& image, double factor) {
  check_factor("saturation", factor);
  if (image.channels == 1) return;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    uint8_t* rgb = &image.pixels[i];
    const int grey = luma(rgb);
    for (int c = 0; c < 3; ++c) rgb[c] = blended(grey, rgb[c], static_cast<float>(factor));
  }
}

void adjust_hue(Image& image, double turns) {
  if (!(turns >= -0.5 && turns <= 0.5)) throw usage_error("hue: the factor {} is out of range; give turns in [-0.5, 0.5]", turns);
  if (image.channels == 1) return;
  const int shift = static_cast<int>(turns * 255.0);
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    Hsv hsv = to_hsv(&image.pixels[i]);
    hsv.h = static_cast<uint8_t>(hsv.h + shift);
    from_hsv(hsv, &image.pixels[i]);
  }
}

void make_grayscale(Image& image) {
  if (image.channels == 1) return;
  for (size_t i = 0; i < image.pixels.size(); i += 3) {
    const uint8_t grey = luma(&image.pixels[i]);
    std::fill_n(&image.pixels[i], 3, grey);
  }
}

}  // namespace debias

// What single pixels and passes are in Pillow, one at a time and without haste.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "debias/image/image.h"

namespace debias::definition {

inline int luma(const uint8_t* rgb) { return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16; }

inline uint8_t blended(int from, int to, float factor) {
  const float value = static_cast<float>(from) + factor * static_cast<float>(to - from);
  return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
}

// rgb2hsv_row and hsv2rgb of libImaging/Convert.c, with their mixture of float and double.
inline std::array<uint8_t, 3> hsv(const uint8_t* rgb) {
  const int r = rgb[0], g = rgb[1], b = rgb[2];
  const int high = std::max({r, g, b}), low = std::min({r, g, b});
  if (high == low) return {0, 0, static_cast<uint8_t>(high)};
  const auto range = static_cast<float>(high - low);
  const float saturation = range / static_cast<float>(high);
  const float rc = static_cast<float>(high - r) / range, gc = static_cast<float>(high - g) / range,
              bc = static_cast<float>(high - b) / range;
  float hue = 0;
  if (r == high) {
    hue = bc - gc;
  } else if (g == high) {
    hue = static_cast<float>(2.0 + rc - bc);
  } else {
    hue = static_cast<float>(4.0 + gc - rc);
  }
  hue = static_cast<float>(std::fmod(hue / 6.0 + 1.0, 1.0));
  return {static_cast<uint8_t>(std::clamp(static_cast<int>(hue * 255.0), 0, 255)),
          static_cast<uint8_t>(std::clamp(static_cast<int>(saturation * 255.0), 0, 255)), static_cast<uint8_t>(high)};
}

inline std::array<uint8_t, 3> rgb(const std::array<uint8_t, 3>& hsv) {
  const auto [h, s, v] = hsv;
  if (s == 0) return {v, v, v};
  const auto rounded = [](double value) { return static_cast<uint8_t>(std::clamp(static_cast<int>(std::floor(value + 0.5)), 0, 255)); };
  const auto sixth = static_cast<int>(std::floor(h * 6.0 / 255.0));
  const auto f = static_cast<float>(h * 6.0 / 255.0 - sixth), fs = static_cast<float>(s / 255.0);
  const uint8_t p = rounded(v * (1.0 - fs)), q = rounded(v * (1.0 - fs * f)), t = rounded(v * (1.0 - fs * (1.0 - f)));
  switch (sixth % 6) {
    case 0:
      return {v, t, p};
    case 1:
      return {q, v, p};
    case 2:
      return {p, v, t};
    case 3:
      return {p, q, v};
    case 4:
      return {t, p, v};
    default:
      return {v, p, q};
  }
}

inline std::array<uint8_t, 3> turned(const uint8_t* pixel, int shift) {
  auto bytes = hsv(pixel);
  bytes[0] = static_cast<uint8_t>(bytes[0] + shift);
  return rgb(bytes);
}

// ImagingResampleHorizontal_8bpc of libImaging/Resample.c on one line of `input` values to `output`.
inline std::vector<uint8_t> resized_line(const std::vector<uint8_t>& line, int output) {
  const auto input = static_cast<int>(line.size());
  const double scale = static_cast<double>(input) / output, filter_scale = std::max(scale, 1.0);
  std::vector<uint8_t> result(output);
  for (int i = 0; i < output; ++i) {
    const double centre = (i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(centre - filter_scale + 0.5));
    const int end = std::min(input, static_cast<int>(centre + filter_scale + 0.5));
    std::vector<double> weights;
    double total = 0;
    for (int x = begin; x < end; ++x)
      total += weights.emplace_back(std::max(0.0, 1.0 - std::abs((x - centre + 0.5) * (1.0 / filter_scale))));
    int64_t sum = 1 << 21;
    for (int x = begin; x < end; ++x) sum += line[x] * static_cast<int64_t>(0.5 + weights[x - begin] / total * (1 << 22));
    result[i] = static_cast<uint8_t>(std::clamp<int64_t>(sum >> 22, 0, 255));
  }
  return result;
}

// A line of one channel: along a row (step = channels) or down a column.
inline std::vector<uint8_t> line_of(const Image& image, size_t first, size_t step, int count) {
  std::vector<uint8_t> line(count);
  for (int i = 0; i < count; ++i) line[i] = image.pixels[first + i * step];
  return line;
}

inline Image resized(const Image& image, int height, int width) {
  const size_t channels = image.channels;
  Image wide{image.height, width, image.channels, std::vector<uint8_t>(image.height * width * channels)};
  for (int y = 0; y < image.height; ++y) {
    for (size_t c = 0; c < channels; ++c) {
      const auto line = resized_line(line_of(image, y * image.width * channels + c, channels, image.width), width);
      for (int x = 0; x < width; ++x) wide.pixels[(y * width + x) * channels + c] = line[x];
    }
  }
  Image result{height, width, image.channels, std::vector<uint8_t>(height * width * channels)};
  for (size_t column = 0; column < width * channels; ++column) {
    const auto line = resized_line(line_of(wide, column, width * channels, image.height), height);
    for (int y = 0; y < height; ++y) result.pixels[y * width * channels + column] = line[y];
  }
  return result;
}

inline Image cropped(const Image& image, int top, int left, int height, int width) {
  Image result{height, width, image.channels, {}};
  for (int y = top; y < top + height; ++y) {
    const uint8_t* row = image.row(y);
    result.pixels.insert(result.pixels.end(), row + left * image.channels, row + (left + width) * image.channels);
  }
  return result;
}

}  // namespace debias::definition

#include "debias/augment/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr int kPrecisionBits = 32 - 8 - 2;  // Pillow's PRECISION_BITS: 8 for the pixel, 2 for sums beyond it
constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

uint8_t clipped(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255)); }

struct Taps {  // output i is the sum over k < count[i] of input[first[i] + k] * weights[i * stride + k]
  int stride = 0;
  std::vector<int> first, count;
  std::vector<int32_t> weights;
};

Taps triangle_taps(int input, int output) {
  const double scale = static_cast<double>(input) / output;
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter_scale;
  Taps taps;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.first.resize(output);
  taps.count.resize(output);
  taps.weights.resize(static_cast<size_t>(output) * taps.stride);
  std::vector<double> weights(taps.stride);
  const double inverse = 1.0 / filter_scale;
  for (int i = 0; i < output; ++i) {
    const double centre = (i + 0.5) * scale;
    const int begin = std::max(0, static_cast<int>(centre - support + 0.5));
    const int count = std::min(input, static_cast<int>(centre + support + 0.5)) - begin;
    double total = 0;
    for (int k = 0; k < count; ++k) {
      weights[k] = std::max(0.0, 1.0 - std::abs((k + begin - centre + 0.5) * inverse));
      total += weights[k];
    }
    for (int k = 0; k < count; ++k) {
      const double weight = total != 0 ? weights[k] / total : weights[k];
      taps.weights[static_cast<size_t>(i) * taps.stride + k] = static_cast<int32_t>(0.5 + weight * (1 << kPrecisionBits));
    }
    taps.first[i] = begin;
    taps.count[i] = count;
  }
  return taps;
}

template <int C>
void resize_row(const uint8_t* in, const Taps& taps, int output, uint8_t* out) {
  for (int x = 0; x < output; ++x) {
    const int32_t* weight = taps.weights.data() + static_cast<size_t>(x) * taps.stride;
    const uint8_t* pixel = in + static_cast<size_t>(taps.first[x]) * C;
    int32_t sum[C];
    for (int c = 0; c < C; ++c) sum[c] = kHalf;
    for (int k = 0; k < taps.count[x]; ++k, pixel += C) {
      for (int c = 0; c < C; ++c) sum[c] += pixel[c] * weight[k];
    }
    for (int c = 0; c < C; ++c) *out++ = clipped(sum[c]);
  }
}

// Rows of `stride` bytes starting at `in`; each output row has `width` bytes.
void resize_columns(const uint8_t* in, size_t stride, const Taps& taps, int output, size_t width, uint8_t* out) {
  std::vector<int32_t> sums(width);
  for (int y = 0; y < output; ++y, out += width) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (int k = 0; k < taps.count[y]; ++k) {
      const uint8_t* row = in + (taps.first[y] + k) * stride;
      const int32_t weight = taps.weights[static_cast<size_t>(y) * taps.stride + k];
      for (size_t x = 0; x < width; ++x) sums[x] += row[x] * weight;
    }
    for (size_t x = 0; x < width; ++x) out[x] = clipped(sums[x]);
  }
}

}  // namespace

Image resized_crop(const Image& image, const Box& box, int height, int width) {
  if (box.height < 1 || box.width < 1 || box.top < 0 || box.left < 0 || box.top > image.height - box.height ||
      box.left > image.width - box.width) {
    throw usage_error("crop: the box of {} x {} pixels at row {}, column {} does not lie in the image of {} x {}; give a smaller box",
                      box.height, box.width, box.top, box.left, image.height, image.width);
  }
  if (height < 1 || width < 1) throw usage_error("resize: expected an output of at least 1 x 1 pixels, got {} x {}", height, width);
  const int channels = image.channels;
  const size_t row_bytes = static_cast<size_t>(width) * channels;
  const uint8_t* source = image.row(box.top) + static_cast<size_t>(box.left) * channels;
  size_t source_stride = static_cast<size_t>(image.width) * channels;

  Image result{height, width, channels, std::vector<uint8_t>(height * row_bytes)};
  const bool change_rows = height != box.height;
  std::vector<uint8_t> between;
  if (width != box.width) {
    if (change_rows) between.resize(box.height * row_bytes);
    uint8_t* target = change_rows ? between.data() : result.pixels.data();
    const Taps taps = triangle_taps(box.width, width);
    for (int y = 0; y < box.height; ++y) {
      const uint8_t* in = source + y * source_stride;
      uint8_t* out = target + y * row_bytes;
      channels == 1 ? resize_row<1>(in, taps, width, out) : resize_row<3>(in, taps, width, out);
    }
    source = target;
    source_stride = row_bytes;
  }
  if (change_rows) {
    resize_columns(source, source_stride, triangle_taps(box.height, height), height, row_bytes, result.pixels.data());
  } else if (width == box.width) {
    for (int y = 0; y < height; ++y) std::copy_n(source + y * source_stride, row_bytes, result.pixels.data() + y * row_bytes);
  }
  return result;
}

Image resized(const Image& image, int height, int width) {
  if (height == image.height && width == image.width) return image;
  return resized_crop(image, {0, 0, image.height, image.width}, height, width);
}

}  // namespace debias

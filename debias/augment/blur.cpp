#include "debias/augment/blur.h"

#include <cmath>
#include <vector>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr uint32_t kOne = 1 << 16;

// Half of the symmetric kernel, centre first; centre + 2 * the rest is exactly kOne, so that a flat image stays as it is. Tails are
// rounded instead of weights, lest the errors of a wide kernel add up beyond its centre's weight.
std::vector<uint32_t> half_kernel(int radius, double sigma) {
  std::vector<double> tails(radius + 2);  // tails[k]: all weights from k outwards
  for (int k = radius; k >= 0; --k) tails[k] = tails[k + 1] + std::exp(-0.5 * (k / sigma) * (k / sigma));
  const double total = tails[0] + tails[1];
  std::vector<uint32_t> weights(radius + 1);
  uint32_t outside = 0;
  for (int k = radius; k >= 1; --k) {
    const auto tail = static_cast<uint32_t>(tails[k] / total * kOne + 0.5);
    weights[k] = tail - outside;
    outside = tail;
  }
  weights[0] = kOne - 2 * outside;
  return weights;
}

int reflected(int position, int extent) {
  if (extent == 1) return 0;
  const int period = 2 * (extent - 1);
  const int folded = ((position % period) + period) % period;
  return folded < extent ? folded : period - folded;
}

}  // namespace

void gaussian_blur(Image& image, int kernel_size, double sigma) {
  if (kernel_size < 1 || kernel_size % 2 == 0)
    throw usage_error("gaussian_blur: kernel_size {} is not odd; use {}", kernel_size, kernel_size | 1);
  if (!(sigma > 0) || !std::isfinite(sigma)) throw usage_error("gaussian_blur: sigma {} is not above 0", sigma);
  const int radius = kernel_size / 2, channels = image.channels;
  const std::vector<uint32_t> weights = half_kernel(radius, sigma);
  const size_t row_bytes = static_cast<size_t>(image.width) * channels;

  std::vector<uint8_t> padded((image.width + 2 * static_cast<size_t>(radius)) * channels);
  std::vector<uint16_t> rows(image.height * row_bytes);  // 8.8 fixed point
  std::vector<int> mirror(image.width + 2 * radius);
  for (int x = 0; x < image.width + 2 * radius; ++x) mirror[x] = reflected(x - radius, image.width) * channels;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* in = image.row(y);
    uint8_t* pad = padded.data();
    for (const int from : mirror) {
      for (int c = 0; c < channels; ++c) *pad++ = in[from + c];
    }
    const uint8_t* centre = padded.data() + static_cast<size_t>(radius) * channels;
    uint16_t* out = rows.data() + y * row_bytes;
    for (size_t x = 0; x < row_bytes; ++x) {
      uint32_t sum = centre[x] * weights[0] + 128;
      for (int k = 1; k <= radius; ++k) sum += (centre[x + k * channels] + centre[static_cast<ptrdiff_t>(x) - k * channels]) * weights[k];
      out[x] = static_cast<uint16_t>(sum >> 8);
    }
  }

  std::vector<uint32_t> sums(row_bytes);  // 8.24 fixed point: at most 255 * 2^24 + 2^23, below 2^32
  for (int y = 0; y < image.height; ++y) {
    const uint16_t* centre = rows.data() + y * row_bytes;
    for (size_t x = 0; x < row_bytes; ++x) sums[x] = centre[x] * weights[0] + (1u << 23);
    for (int k = 1; k <= radius; ++k) {
      const uint16_t* above = rows.data() + reflected(y - k, image.height) * row_bytes;
      const uint16_t* below = rows.data() + reflected(y + k, image.height) * row_bytes;
      for (size_t x = 0; x < row_bytes; ++x) sums[x] += (static_cast<uint32_t>(above[x]) + below[x]) * weights[k];
    }
    uint8_t* out = image.pixels.data() + y * row_bytes;
    for (size_t x = 0; x < row_bytes; ++x) out[x] = static_cast<uint8_t>(sums[x] >> 24);
  }
}

}  // namespace debias

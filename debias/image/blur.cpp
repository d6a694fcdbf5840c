#include "debias/image/blur.h"

#include <cmath>
#include <cstring>

#include "debias/core/error.h"
#include "debias/image/pixel_kernels.h"

namespace debias {
namespace {

constexpr uint32_t kOne = 1 << 16;

// Half of the symmetric kernel, centre first; centre + 2 * the rest is exactly kOne, so that a flat image stays as it is. Tails are
// rounded instead of weights, lest the errors of a wide kernel add up beyond its centre's weight.
const uint32_t* half_kernel(ViewFrame& frame, int radius, double sigma) {
  double* tails = grown(frame.blur.tails, radius + 2);  // tails[k]: all weights from k outwards
  uint32_t* weights = grown(frame.blur.weights, radius + 1);
  tails[radius + 1] = 0;
  for (int k = radius; k >= 0; --k) tails[k] = tails[k + 1] + std::exp(-0.5 * (k / sigma) * (k / sigma));
  const double total = tails[0] + tails[1];
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

// Each row with its mirrored borders.
void pad_rows(const uint8_t* in, int height, int width, int radius, const int* mirror, uint8_t* out) {
  for (int y = 0; y < height; ++y, in += width) {
    for (int x = 0; x < radius; ++x) *out++ = in[mirror[x]];
    std::memcpy(out, in, width);
    out += width;
    for (int x = 0; x < radius; ++x) *out++ = in[mirror[radius + x]];
  }
}

}  // namespace

void gaussian_blur(ViewFrame& frame, int kernel_size, double sigma) {
  if (kernel_size < 1 || kernel_size % 2 == 0)
    throw usage_error("gaussian_blur: kernel_size {} is not odd; use {}", kernel_size, kernel_size | 1);
  if (!(sigma > 0) || !std::isfinite(sigma)) throw usage_error("gaussian_blur: sigma {} is not above 0", sigma);
  const int radius = kernel_size / 2, height = frame.height(), width = frame.width();
  const uint32_t* weights = half_kernel(frame, radius, sigma);
  int* mirror = grown(frame.blur.mirror, 2 * radius);  // of the places before and after a row
  for (int x = 0; x < radius; ++x) {
    mirror[x] = reflected(x - radius, width);
    mirror[radius + x] = reflected(width + x, width);
  }
  const size_t padded_width = width + 2 * static_cast<size_t>(radius);
  uint8_t* padded = grown(frame.blur.padded, height * padded_width + kBlurSlack);
  uint16_t* rows = grown(frame.blur.rows, static_cast<size_t>(height) * width + kBlurSlack);  // 8.8 fixed point
  const uint16_t** reflected_rows = grown(frame.blur.reflected, height + 2 * static_cast<size_t>(radius));
  for (int y = -radius; y < height + radius; ++y) reflected_rows[y + radius] = rows + static_cast<size_t>(reflected(y, height)) * width;

  for (int c = 0; c < frame.channels(); ++c) {
    uint8_t* plane = frame.plane(c);
    pad_rows(plane, height, width, radius, mirror, padded);
    blur_rows(padded + radius, padded_width, height, width, weights, radius, rows);
    blur_columns(reflected_rows, height, width, weights, radius, plane);
  }
}

void gaussian_blur(Image& image, int kernel_size, double sigma) {
  through_frame(image, [&](ViewFrame& frame) { gaussian_blur(frame, kernel_size, sigma); });
}

}  // namespace debias

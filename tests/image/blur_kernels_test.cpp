// The two passes of the blur against plain sums, at widths around those of vectors.
#include "debias/image/pixel_kernels.h"

#include <gtest/gtest.h>

#include "tests/image/instruction_sets.h"
#include "tests/image/test_images.h"

namespace debias {
namespace blur_kernels_test {

const std::vector<uint32_t> kWeights = {20000, 11000, 7000, 4000, 768};  // centre + 2 * the rest = 65536

TEST(BlurKernels, AreWeightedSumsUnderEveryInstructionSet) {
  for_each_instruction_set([] {
    for (const int width : {1, 3, 15, 16, 17, 31, 33, 64, 70}) {
      const int height = 5, radius = 4;
      const size_t stride = width + 2 * radius;
      std::vector<uint8_t> in = noise_image(height, static_cast<int>(stride), 1).pixels;
      in.resize(in.size() + kBlurSlack);
      in[radius] = in[radius + 1] = 255;
      std::vector<uint16_t> rows(static_cast<size_t>(height) * width + kBlurSlack);
      blur_rows(in.data() + radius, stride, height, width, kWeights.data(), radius, rows.data());
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          uint32_t sum = 128;
          for (int k = -radius; k <= radius; ++k) sum += in[y * stride + radius + x + k] * kWeights[std::abs(k)];
          ASSERT_EQ(rows[static_cast<size_t>(y) * width + x], sum >> 8) << width << ": " << y << " " << x;
        }
      }

      const int places[] = {4, 3, 2, 1, 0, 1, 2, 3, 4, 3, 2, 1, 0};  // rows mirrored
      std::vector<const uint16_t*> mirrored;
      for (const int place : places) mirrored.push_back(rows.data() + static_cast<size_t>(place) * width);
      std::vector<uint8_t> out(static_cast<size_t>(height) * width + kBlurSlack);
      blur_columns(mirrored.data(), height, width, kWeights.data(), radius, out.data());
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          uint32_t sum = 1u << 23;
          for (int k = -radius; k <= radius; ++k) sum += mirrored[y + radius + k][x] * kWeights[std::abs(k)];
          ASSERT_EQ(out[static_cast<size_t>(y) * width + x], sum >> 24) << width << ": " << y << " " << x;
        }
      }
    }
  });
}

TEST(BlurKernels, KeepWhite) {
  for_each_instruction_set([] {
    std::vector<uint8_t> in(40 + 8 + kBlurSlack, 255), out(40 + kBlurSlack);
    std::vector<uint16_t> row(40 + kBlurSlack);
    blur_rows(in.data() + 4, 48, 1, 40, kWeights.data(), 4, row.data());
    const std::vector<const uint16_t*> rows(9, row.data());
    blur_columns(rows.data(), 1, 40, kWeights.data(), 4, out.data());
    EXPECT_EQ(row[39], 255 * 256);
    EXPECT_EQ(out[39], 255);
  });
}

}  // namespace blur_kernels_test
}  // namespace debias

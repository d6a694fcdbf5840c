// Kernels of images: colours, blur and resizing, by every instruction set.
#include <gtest/gtest.h>

#include <numeric>

#include "debias/image/colour.h"
#include "debias/image/geometry.h"
#include "debias/image/pixel_kernels.h"
#include "tests/image/instruction_sets.h"
#include "tests/image/pillow_definitions.h"
#include "tests/image/test_images.h"

namespace debias {
namespace kernels_test {

// Colour operations against Pillow's definitions for every colour there is, and several at once against one after the other.

using Kind = ColourOperation::Kind;

constexpr size_t kPlane = 65536;  // all colours of one red value

// Number of the 2^24 colours for which the operation does not give what `definition(rgb)` gives.
template <class Definition>
int64_t differences(const ColourOperation& operation, const Definition& definition) {
  int64_t found = 0;
  std::vector<uint8_t> red(kPlane + kPlaneSlack), green(red), blue(red);
  for (int r = 0; r < 256; ++r) {
    for (size_t i = 0; i < kPlane; ++i) {
      red[i] = static_cast<uint8_t>(r);
      green[i] = static_cast<uint8_t>(i >> 8);
      blue[i] = static_cast<uint8_t>(i);
    }
    colour_pass(red.data(), green.data(), blue.data(), kPlane, {&operation, 1});
    for (size_t i = 0; i < kPlane; ++i) {
      const uint8_t before[3] = {static_cast<uint8_t>(r), static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
      const std::array<uint8_t, 3> expected = definition(before);
      found += red[i] != expected[0] || green[i] != expected[1] || blue[i] != expected[2];
    }
  }
  return found;
}

TEST(ColourKernels, EveryColourTurnsAsInPillow) {
  for (const int shift : {0, 25, -101}) {
    const auto definition = [shift](const uint8_t* rgb) { return definition::turned(rgb, shift); };
    EXPECT_EQ(differences({Kind::kHue, static_cast<float>(shift)}, definition), 0) << shift;
  }
}

TEST(ColourKernels, EveryHueIsReachedUnderEveryInstructionSet) {
  for_each_instruction_set([] {
    for (int shift = -127; shift <= 127; ++shift) {
      Image image = noise_image(16, 16, 3, static_cast<uint64_t>(shift) + 1000);
      const Image before = image;
      adjust_hue(image, (shift + (shift < 0 ? -0.5 : 0.5)) / 255.0);
      for (size_t i = 0; i < image.pixels.size(); i += 3) {
        const std::array<uint8_t, 3> expected = definition::turned(&before.pixels[i], shift);
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), &image.pixels[i])) << shift;
      }
    }
  });
}

TEST(ColourKernels, EveryColourIsSaturatedAndGreyedAsInPillow) {
  for (const float factor : {0.0f, 0.6180339f, 1.4f}) {
    const auto definition = [factor](const uint8_t* rgb) -> std::array<uint8_t, 3> {
      const int grey = definition::luma(rgb);
      return {definition::blended(grey, rgb[0], factor), definition::blended(grey, rgb[1], factor),
              definition::blended(grey, rgb[2], factor)};
    };
    EXPECT_EQ(differences({Kind::kSaturation, factor}, definition), 0) << factor;
  }
  const auto grey = [](const uint8_t* rgb) -> std::array<uint8_t, 3> {
    const auto value = static_cast<uint8_t>(definition::luma(rgb));
    return {value, value, value};
  };
  EXPECT_EQ(differences({Kind::kGrayscale}, grey), 0);
}

TEST(ColourKernels, EveryByteIsBlendedAsInPillowWithEveryConstant) {
  for_each_instruction_set([] {
    Random random(sample_key(4));
    for (int constant = 0; constant < 256; ++constant) {
      const ColourOperation operation{Kind::kBlend, static_cast<float>(random.uniform(0, 2.5)), static_cast<float>(constant)};
      std::vector<uint8_t> bytes(256 + kPlaneSlack);
      for (int i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
      grey_pass(bytes.data(), 256, {&operation, 1});
      for (int i = 0; i < 256; ++i) ASSERT_EQ(bytes[i], definition::blended(constant, i, operation.amount)) << constant << " " << i;
    }
  });
}

TEST(ColourKernels, SumsAreOfThePixelsAlone) {
  for_each_instruction_set([] {
    for (const size_t n : {1, 15, 16, 17, 64, 65, 1000, 65536, 65537, 140001}) {
      std::vector<uint8_t> r(n + kPlaneSlack, 200), g(r), b(r);
      uint64_t expected = 0;
      for (size_t i = 0; i < n; ++i) {
        r[i] = static_cast<uint8_t>(i);
        g[i] = static_cast<uint8_t>(3 * i);
        b[i] = static_cast<uint8_t>(7 * i);
        const uint8_t rgb[3] = {r[i], g[i], b[i]};
        expected += definition::luma(rgb);
      }
      EXPECT_EQ(luma_sum(r.data(), g.data(), b.data(), n), expected) << n;
      EXPECT_EQ(byte_sum(r.data(), n), std::accumulate(r.begin(), r.begin() + static_cast<ptrdiff_t>(n), uint64_t{0})) << n;
    }
  });
}

// The definition: one operation at a time, on pixels.
Image one_by_one(Image image, const std::vector<std::pair<char, double>>& operations) {
  for (const auto& [what, amount] : operations) {
    if (what == 'b') adjust_brightness(image, amount);
    if (what == 'c') adjust_contrast(image, amount);
    if (what == 's') adjust_saturation(image, amount);
    if (what == 'h') adjust_hue(image, amount);
    if (what == 'g') make_grayscale(image);
  }
  return image;
}

Image together(const Image& image, const std::vector<std::pair<char, double>>& operations) {
  ViewFrame frame;
  frame.start(whole(image));
  for (const auto& [what, amount] : operations) {
    if (what == 'b') adjust_brightness(frame, amount);
    if (what == 'c') adjust_contrast(frame, amount);
    if (what == 's') adjust_saturation(frame, amount);
    if (what == 'h') adjust_hue(frame, amount);
    if (what == 'g') make_grayscale(frame);
  }
  return frame.image();
}

TEST(ColourOperations, TogetherAreAsOneAfterTheOther) {
  std::vector<std::pair<char, double>> operations = {{'b', 0.8}, {'c', 1.3}, {'h', 0.07}, {'s', 0.6}};
  std::sort(operations.begin(), operations.end());
  do {
    for (const int channels : {1, 3}) {
      const Image image = noise_image(19, 23, channels);
      EXPECT_TRUE(together(image, operations) == one_by_one(image, operations));
    }
  } while (std::next_permutation(operations.begin(), operations.end()));
}

TEST(ColourOperations, MayBeMoreThanAFrameHolds) {
  std::vector<std::pair<char, double>> operations;
  for (int i = 0; i < 7; ++i) operations.insert(operations.end(), {{'c', 1.2}, {'h', 0.1}, {'c', 0.9}, {'b', 1.05}});
  const Image image = noise_image(9, 33, 3);
  EXPECT_TRUE(together(image, operations) == one_by_one(image, operations));
}

// The two passes of the blur against plain sums, at widths around those of vectors.

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

// Resized crops against Pillow's definition, at sizes around the widths of vectors and stripes.

const std::vector<int> kExtents = {1, 2, 5, 15, 16, 17, 31, 33, 48, 65};

TEST(ResizedCrop, IsPillowsAtEverySizeUnderEveryInstructionSet) {
  for_each_instruction_set([] {
    for (const int channels : {1, 3}) {
      for (const int from : kExtents) {
        for (const int to : kExtents) {
          const Image image = noise_image(from + 3, 70 - to + 2, channels, static_cast<uint64_t>(from) * 100 + static_cast<uint64_t>(to));
          const Box box{2, 1, from, 70 - to};
          const Image expected = definition::resized(definition::cropped(image, box.top, box.left, box.height, box.width), to, from);
          ASSERT_TRUE(resized_crop(image, box, to, from) == expected) << from << " " << to << " " << channels;
        }
      }
    }
  });
}

TEST(ResizedCrop, OfPlanesIsThatOfTheImage) {
  for (const auto& [height, width] : std::vector<std::pair<int, int>>{{20, 33}, {9, 33}, {20, 40}, {9, 40}, {60, 7}}) {
    const Image image = noise_image(37, 64, 3);
    ViewFrame frame;
    frame.start(whole(image));
    mirror_horizontally(frame);
    mirror_horizontally(frame);
    ASSERT_EQ(frame.borrowed(), nullptr);
    resized_crop(frame, {11, 5, 20, 40}, height, width);
    EXPECT_TRUE(frame.image() == resized_crop(image, {11, 5, 20, 40}, height, width)) << height << " " << width;
  }
}

TEST(ResizedCrop, OfAPartIsThatOfTheWhole) {
  const Image image = noise_image(50, 60, 3), part = definition::cropped(image, 10, 20, 30, 35);
  ViewFrame frame;
  frame.start({part.pixels.data(), 3, {10, 20, 30, 35}, 50, 60});
  resized_crop(frame, {12, 21, 28, 34}, 24, 24);
  EXPECT_TRUE(frame.image() == resized_crop(image, {12, 21, 28, 34}, 24, 24));
  frame.start({part.pixels.data(), 3, {10, 20, 30, 35}, 50, 60});
  EXPECT_THROW(resized_crop(frame, {9, 21, 28, 34}, 24, 24), std::logic_error);
  frame.start({part.pixels.data(), 3, {10, 20, 30, 35}, 50, 60});
  EXPECT_THROW(mirror_horizontally(frame), std::logic_error);
}

TEST(ResizedCrop, WaitsForColoursThatCameBefore) {
  const Image image = noise_image(20, 20, 3);
  Image darker = image;
  adjust_brightness(darker, 0.5);
  ViewFrame frame;
  frame.start(whole(image));
  adjust_brightness(frame, 0.5);
  resized_crop(frame, {1, 2, 15, 16}, 9, 9);
  EXPECT_TRUE(frame.image() == resized_crop(darker, {1, 2, 15, 16}, 9, 9));
}

}  // namespace kernels_test
}  // namespace debias

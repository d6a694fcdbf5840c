// Colour operations against Pillow's definitions for every colour there is, and several at once against one after the other.
#include "debias/image/pixel_kernels.h"

#include <gtest/gtest.h>

#include <numeric>

#include "debias/image/colour.h"
#include "tests/image/instruction_sets.h"
#include "tests/image/pillow_definitions.h"
#include "tests/image/test_images.h"

namespace debias {
namespace colour_kernels_test {

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

}  // namespace colour_kernels_test
}  // namespace debias

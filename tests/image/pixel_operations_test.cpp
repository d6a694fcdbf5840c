// Hand-worked pixels, and what the operations refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"
#include "debias/image/geometry.h"
#include "tests/image/test_images.h"

namespace debias {
namespace pixel_operations_test {

using testing::Each;
using testing::ElementsAre;

TEST(Resize, HalvingAveragesWithATriangle) {
  // Scale 2: output 0 has centre 1, support 2, taps 0..2 with weights 3/4, 3/4, 1/4 over their sum 7/4.
  const Image out = resized({1, 4, 1, {70, 140, 210, 0}}, 1, 2);
  EXPECT_THAT(out.pixels, ElementsAre(120, 110));  // (3*70 + 3*140 + 210) / 7, (140 + 3*210 + 0) / 7
}

TEST(Resize, AFlatImageStaysFlatAtEverySize) {
  for (const int size : {1, 2, 7, 31, 100}) {
    const Image out = resized({13, 9, 3, std::vector<uint8_t>(13 * 9 * 3, 255)}, size, size + 3);
    EXPECT_THAT(out.pixels, Each(255));
  }
}

TEST(Resize, ACropReadsNothingOutsideItsBox) {
  Image image = noise_image(20, 20, 3), other = noise_image(20, 20, 3, 99);
  for (int y = 4; y < 11; ++y) std::copy_n(image.row(y) + 5 * 3, 9 * 3, other.pixels.begin() + (y * 20 + 5) * 3);
  EXPECT_TRUE(resized_crop(image, {4, 5, 7, 9}, 5, 12) == resized_crop(other, {4, 5, 7, 9}, 5, 12));
}

TEST(Resize, BoxesOutsideTheImageAreRefused) {
  const Image image = noise_image(8, 8, 3);
  for (const Box& box : {Box{0, 0, 0, 4}, Box{-1, 0, 4, 4}, Box{0, 5, 4, 4}, Box{6, 0, 3, 4}, Box{2147483647, 0, 4, 4}}) {
    EXPECT_THROW(resized_crop(image, box, 4, 4), Error);
  }
  EXPECT_THROW(resized(image, 0, 4), Error);
}

TEST(PaddedCrop, IsBlackOutside) {
  const Image image{2, 2, 1, {1, 2, 3, 4}};
  EXPECT_THAT(padded_crop(image, {-1, -1, 2, 3}).pixels, ElementsAre(0, 0, 0, 0, 1, 2));
  EXPECT_THAT(padded_crop(image, {1, 1, 2, 2}).pixels, ElementsAre(4, 0, 0, 0));
  EXPECT_THAT(padded_crop(image, {5, -9, 1, 2}).pixels, ElementsAre(0, 0));
}

TEST(CenterBox, RoundsHalvesToEvenAndPads) {
  EXPECT_EQ(center_box(5, 7, 2, 2).top, 2);   // 1.5 -> 2
  EXPECT_EQ(center_box(5, 7, 2, 2).left, 2);  // 2.5 -> 2
  EXPECT_EQ(center_box(5, 5, 8, 8).top, -1);  // torchvision pads (8 - 5) // 2 = 1 above
}

TEST(Mirror, OddAndEvenWidths) {
  Image odd{1, 3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, even{2, 2, 1, {1, 2, 3, 4}};
  mirror_horizontally(odd);
  mirror_horizontally(even);
  EXPECT_THAT(odd.pixels, ElementsAre(7, 8, 9, 4, 5, 6, 1, 2, 3));
  EXPECT_THAT(even.pixels, ElementsAre(2, 1, 4, 3));
}

TEST(Colour, BlendsTruncate) {
  Image image{1, 1, 3, {200, 100, 51}};
  adjust_brightness(image, 0.5);
  EXPECT_THAT(image.pixels, ElementsAre(100, 50, 25));
  adjust_brightness(image, 9);
  EXPECT_THAT(image.pixels, ElementsAre(255, 255, 225));
}

TEST(Colour, ContrastBlendsWithTheRoundedMeanLuma) {
  Image image{1, 2, 1, {100, 203}};  // mean 151.5 -> 152
  adjust_contrast(image, 0);
  EXPECT_THAT(image.pixels, Each(152));
}

TEST(Colour, SaturationZeroIsGrayscale) {
  Image image = noise_image(9, 9, 3), grey = image;
  adjust_saturation(image, 0);
  make_grayscale(grey);
  EXPECT_TRUE(image == grey);
}

TEST(Colour, HueTurnsRedIntoGreen) {
  Image image{1, 1, 3, {255, 0, 0}};
  adjust_hue(image, 1.0 / 3);  // 85 of 255: two sixths
  EXPECT_THAT(image.pixels, ElementsAre(0, 255, 0));
}

TEST(Colour, OneChannelKnowsNoColour) {
  Image image = noise_image(9, 9, 1);
  adjust_saturation(image, 0.2);
  adjust_hue(image, 0.3);
  make_grayscale(image);
  EXPECT_TRUE(image == noise_image(9, 9, 1));
  adjust_brightness(image, 0.2);
  EXPECT_FALSE(image == noise_image(9, 9, 1));
}

TEST(Colour, FactorsOutOfRangeAreRefused) {
  Image image = noise_image(2, 2, 3);
  EXPECT_THROW(adjust_brightness(image, -0.1), Error);
  EXPECT_THROW(adjust_contrast(image, INFINITY), Error);
  EXPECT_THROW(adjust_saturation(image, NAN), Error);
  EXPECT_THROW(adjust_hue(image, 0.51), Error);
  EXPECT_THROW(adjust_hue(image, NAN), Error);
}

TEST(Blur, BordersAreMirroredWithoutTheEdge) {
  // k = 3, sigma = 2: weights .3192, .3617, .3192. At the border the neighbour counts twice.
  Image image{1, 3, 1, {0, 255, 0}};
  gaussian_blur(image, 3, 2);
  EXPECT_THAT(image.pixels, ElementsAre(163, 92, 163));
}

TEST(Blur, FlatImagesStayFlatWithWideKernelsOnTinyImages) {
  for (const int kernel : {1, 3, 23, 999}) {
    Image image{3, 2, 3, std::vector<uint8_t>(18, 255)};
    gaussian_blur(image, kernel, 300);
    EXPECT_THAT(image.pixels, Each(255)) << kernel;
  }
  Image dot{1, 1, 3, {1, 2, 3}};
  gaussian_blur(dot, 5, 1);
  EXPECT_THAT(dot.pixels, ElementsAre(1, 2, 3));
}

TEST(Blur, EvenKernelsAreRefused) {
  Image image = noise_image(4, 4, 1);
  EXPECT_THROW(gaussian_blur(image, 4, 1), Error);
  EXPECT_THROW(gaussian_blur(image, 3, 0), Error);
}

}  // namespace pixel_operations_test
}  // namespace debias

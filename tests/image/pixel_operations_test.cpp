// Hand-worked pixels, and what the operations refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"
#include "debias/image/geometry.h"
#include "tests/image/test_images.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace pixel_operations_test {

using testing::Each;
using testing::ElementsAre;

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

TEST(Colour, ContrastBlendsWithTheRoundedMeanLuma) {
  Image image{1, 2, 1, {100, 203}};  // mean 151.5 -> 152
  adjust_contrast(image, 0);
  EXPECT_THAT(image.pixels, Each(152));
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

// Pixels against Pillow's own, from tests/golden/views (made by tests/golden/make_views.py).

struct Golden {
  std::vector<uint8_t> pixels;
  nlohmann::json cases;

  Image image(const nlohmann::json& where) const {
    Image result{where["shape"][0], where["shape"][1], where["shape"][2], {}};
    const auto begin = pixels.begin() + where["offset"].get<int64_t>();
    result.pixels.assign(begin, begin + int64_t{result.height} * result.width * result.channels);
    return result;
  }
};

const Golden& golden() {
  static const Golden loaded = [] {
    const std::filesystem::path folder = golden_folder("views");
    Golden result;
    const NpyArray array = read_npy((folder / "pixels.npy").string());
    result.pixels.assign(array.as<uint8_t>().begin(), array.as<uint8_t>().end());
    std::ifstream file(folder / "cases.json");
    result.cases = nlohmann::json::parse(file)["cases"];
    return result;
  }();
  return loaded;
}

Image run(const std::string& operation, const std::vector<double>& a, Image image) {
  const auto at = [&a](size_t i) { return static_cast<int>(a[i]); };
  if (operation == "resized_crop") return resized_crop(image, {at(0), at(1), at(2), at(3)}, at(4), at(5));
  if (operation == "rotate") return rotated(image, a[0]);
  if (operation == "brightness") adjust_brightness(image, a[0]);
  if (operation == "contrast") adjust_contrast(image, a[0]);
  if (operation == "saturation") adjust_saturation(image, a[0]);
  if (operation == "hue") adjust_hue(image, a[0]);
  if (operation == "grayscale") make_grayscale(image);
  if (operation == "flip") mirror_horizontally(image);
  if (operation == "gaussian_blur") gaussian_blur(image, at(0), a[1]);
  return image;
}

// Everything but the blur is Pillow's arithmetic step by step, hence equal; the blur's golden values are real arithmetic, which
// fixed point misses by 1 where the value lies within 1/256 of a half: fewer than 1 in 128 pixels.
void expect_as_golden(const std::string& operation, double share_within_one) {
  int found = 0;
  for (const auto& entry : golden().cases) {
    if (entry["operation"] != operation) continue;
    ++found;
    const Image expected = golden().image(entry["output"]);
    const Image got = run(operation, entry["arguments"], golden().image(entry["input"]));
    ASSERT_EQ(got.height, expected.height) << entry;
    ASSERT_EQ(got.width, expected.width) << entry;
    ASSERT_EQ(got.pixels.size(), expected.pixels.size()) << entry;
    size_t different = 0;
    int largest = 0;
    for (size_t i = 0; i < got.pixels.size(); ++i) {
      const int difference = std::abs(got.pixels[i] - expected.pixels[i]);
      different += difference > 0;
      largest = std::max(largest, difference);
    }
    EXPECT_LE(static_cast<double>(different), share_within_one * static_cast<double>(got.pixels.size())) << entry;
    EXPECT_LE(largest, share_within_one > 0 ? 1 : 0) << entry;
  }
  EXPECT_GT(found, 3) << operation;
}

TEST(PillowGolden, IsWhatOperationsGive) {
  for (const char* operation : {"resized_crop", "rotate", "brightness", "contrast", "saturation", "hue", "grayscale", "flip"}) {
    expect_as_golden(operation, 0);
  }
  expect_as_golden("gaussian_blur", 0.01);
}

}  // namespace pixel_operations_test
}  // namespace debias

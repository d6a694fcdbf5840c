// Pixels against Pillow's own, from tests/golden/views (made by tests/golden/make_views.py).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/core/npy.h"
#include "debias/image/blur.h"
#include "debias/image/colour.h"
#include "debias/image/geometry.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace pillow_golden_test {

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
  EXPECT_GT(found, 3);
}

TEST(PillowGolden, ResizedCropIsEqual) { expect_as_golden("resized_crop", 0); }
TEST(PillowGolden, RotationIsEqual) { expect_as_golden("rotate", 0); }
TEST(PillowGolden, BrightnessIsEqual) { expect_as_golden("brightness", 0); }
TEST(PillowGolden, ContrastIsEqual) { expect_as_golden("contrast", 0); }
TEST(PillowGolden, SaturationIsEqual) { expect_as_golden("saturation", 0); }
TEST(PillowGolden, HueIsEqual) { expect_as_golden("hue", 0); }
TEST(PillowGolden, GrayscaleIsEqual) { expect_as_golden("grayscale", 0); }
TEST(PillowGolden, FlipIsEqual) { expect_as_golden("flip", 0); }
TEST(PillowGolden, BlurIsRealArithmeticRounded) { expect_as_golden("gaussian_blur", 0.01); }

}  // namespace pillow_golden_test
}  // namespace debias

// Resized crops against Pillow's definition, at sizes around the widths of vectors and stripes.
#include "debias/image/geometry.h"

#include <gtest/gtest.h>

#include "debias/image/colour.h"
#include "tests/image/instruction_sets.h"
#include "tests/image/pillow_definitions.h"
#include "tests/image/test_images.h"

namespace debias {
namespace resize_test {

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

}  // namespace resize_test
}  // namespace debias

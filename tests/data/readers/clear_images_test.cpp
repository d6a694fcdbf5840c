#include "debias/data/readers/clear_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/readers/image_folder.h"
#include "debias/image/image_decode.h"
#include "tests/data/readers/image_tree.h"
#include "tests/data/readers/raw_png.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace clear_images_test {

using namespace fixture;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Bytes upon(const Bytes& file, Transparency transparency) {
  ImageReading reading;
  reading.transparency = transparency;
  return decode_image(file, "a.png", reading).pixels;
}

// 100 at alpha 128 upon white: (100 * 128 + 255 * 127) / 255 = 177.2; upon black 50.2.
TEST(Transparency, IsDroppedOrLaidUponAGround) {
  const Bytes file = raw_png({3, 1, 8, PngKind::kColourAlpha}, {0, 100, 0, 255, 128, 7, 8, 9, 0, 1, 2, 3, 255});
  EXPECT_THAT(upon(file, Transparency::kDrop), ElementsAre(100, 0, 255, 7, 8, 9, 1, 2, 3));
  EXPECT_THAT(upon(file, Transparency::kWhite), ElementsAre(177, 127, 255, 255, 255, 255, 1, 2, 3));
  EXPECT_THAT(upon(file, Transparency::kBlack), ElementsAre(50, 0, 128, 0, 0, 0, 1, 2, 3));
}

TEST(Transparency, OfGreyAndOfPalettesAndOfSixteenBits) {
  const Bytes grey = raw_png({2, 1, 8, PngKind::kGreyAlpha}, {0, 40, 0, 40, 255});
  EXPECT_THAT(upon(grey, Transparency::kWhite), ElementsAre(255, 255, 255, 40, 40, 40));
  const Bytes palette = raw_png({2, 1, 8, PngKind::kPalette}, {0, 1, 0}, {{"PLTE", {9, 9, 9, 50, 60, 70}}, {"tRNS", {255, 0}}});
  EXPECT_THAT(upon(palette, Transparency::kWhite), ElementsAre(255, 255, 255, 9, 9, 9));
  EXPECT_THAT(upon(palette, Transparency::kDrop), ElementsAre(50, 60, 70, 9, 9, 9));
  const Bytes deep = raw_png({2, 1, 16, PngKind::kGreyAlpha}, {0, 1, 0, 0xff, 0xff, 1, 0, 0, 0});
  EXPECT_THAT(upon(deep, Transparency::kBlack), ElementsAre(1, 1, 1, 0, 0, 0));
  ImageReading ten_bits;
  ten_bits.transparency = Transparency::kWhite;
  ten_bits.scale.bits = 10;
  EXPECT_THAT(decode_image(deep, "a.png", ten_bits).pixels, ElementsAre(64, 64, 64, 255, 255, 255));
}

// Every kind of file with alpha: pixels are the blend of what dropping gives by what white and black together say of the alpha.
TEST(Transparency, OfEveryFormatIsAMixtureOfColourAndGround) {
  for (const std::string file : {"alpha.png", "grey_with_alpha.png", "palette_with_alpha.png", "sixteen_bits_with_alpha.png", "alpha.webp",
                                 "lossy_with_alpha.webp", "alpha.tif", "premultiplied.tif", "colour_with_a_clear_one.png"}) {
    const Bytes bytes = read_file_bytes(golden_folder("images") + "/" + file);
    const Bytes dropped = upon(bytes, Transparency::kDrop), white = upon(bytes, Transparency::kWhite),
                black = upon(bytes, Transparency::kBlack);
    ASSERT_EQ(dropped.size(), white.size());
    int blended = 0;
    for (size_t i = 0; i < dropped.size(); ++i) {
      const int alpha = 255 - (white[i] - black[i]);
      ASSERT_NEAR(black[i], dropped[i] * alpha / 255.0, 1.01) << file << " " << i;
      blended += alpha < 255 ? 1 : 0;
    }
    EXPECT_GT(blended, 0) << file;
  }
}

class ClearImages : public ImageTree {
 protected:
  std::vector<std::string> remarks(ImageFolderOptions options = {}) {
    options.root = folder_.path();
    return make_image_folder(options)->info().remarks;
  }
  // Black lines, or lines of another colour, on a clear ground of the same colour.
  void add_lines(const std::string& path, uint8_t shade = 0) {
    write(folder_ / path, raw_png({3, 1, 8, PngKind::kGreyAlpha}, {0, shade, 255, shade, 0, shade, 90}));
  }
};

TEST_F(ClearImages, ThatLoseTheirContentAreCountedAndNamed) {
  add_lines("a/1.png");
  add_lines("a/2.png");
  add("a/3.png");
  write(folder_ / "b/1.png", raw_png({2, 1, 8, PngKind::kGreyAlpha}, {0, 40, 0, 41, 255}));
  EXPECT_THAT(remarks(), ElementsAre("folder " + folder_.path() +
                                     ": 2 of 3 images with transparency are of one colour once it is dropped (first: a/1.png), so that "
                                     "nothing is left to see; set transparency: white"));
  EXPECT_THAT(remarks({.transparency = Transparency::kWhite}), IsEmpty());
}

TEST_F(ClearImages, OfWhiteLinesAreSeenUponBlack) {
  add_lines("a/1.png", 255);
  EXPECT_THAT(remarks(), ElementsAre(HasSubstr("1 of 1 image with transparency is of one colour once it is dropped")));
  EXPECT_THAT(remarks(), ElementsAre(HasSubstr("set transparency: black")));
}

TEST_F(ClearImages, WithoutContentOfAnyKindAreNotMeant) {
  write(folder_ / "a/1.png", raw_png({2, 1, 8, PngKind::kGreyAlpha}, {0, 40, 255, 40, 255}));
  write(folder_ / "a/2.png", raw_png({2, 1, 8, PngKind::kGreyAlpha}, {0, 255, 0, 255, 0}));
  EXPECT_THAT(remarks(), IsEmpty());
}

TEST_F(ClearImages, AreCountedInAllOfThemOnceAFewShowIt) {
  for (int i = 0; i < 70; ++i) add_lines("a/" + std::to_string(100 + i) + ".png");
  EXPECT_THAT(remarks(), ElementsAre(HasSubstr("70 of 70 images with transparency are")));
}

}  // namespace clear_images_test
}  // namespace debias

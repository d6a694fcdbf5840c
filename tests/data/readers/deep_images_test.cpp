#include "debias/data/readers/deep_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "debias/data/readers/image_folder.h"
#include "debias/data/settled_pixels.h"
#include "tests/data/readers/image_tree.h"
#include "tests/data/readers/raw_png.h"
#include "tests/support/refusals.h"

namespace debias {
namespace deep_images_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// One row of grey samples of 16 bits.
Bytes deep_png(const std::vector<int>& samples) {
  Bytes row = {0};
  for (const int sample : samples) row.insert(row.end(), {static_cast<uint8_t>(sample >> 8), static_cast<uint8_t>(sample)});
  return raw_png({static_cast<uint32_t>(samples.size()), 1, 16, PngKind::kGrey}, row);
}

Bytes deep_pgm(const std::vector<int>& samples, int most = 65535) {
  const std::string header = "P5 " + std::to_string(samples.size()) + " 1 " + std::to_string(most) + "\n";
  Bytes file(header.begin(), header.end());
  for (const int sample : samples) file.insert(file.end(), {static_cast<uint8_t>(sample >> 8), static_cast<uint8_t>(sample)});
  return file;
}

// Little-endian, uncompressed, one strip; interpretation 0: white is zero.
Bytes deep_tiff(const std::vector<int>& samples, int interpretation = 1) {
  Bytes file = {'I', 'I', 42, 0, 8, 0, 0, 0};
  const auto put_short = [&](int value) { file.insert(file.end(), {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8)}); };
  const auto width = static_cast<int>(samples.size());
  const std::vector<std::pair<int, int>> tags = {{256, width}, {257, 1}, {258, 16}, {259, 1},        {262, interpretation},
                                                 {273, 122},   {277, 1}, {278, 1},  {279, 2 * width}};
  put_short(static_cast<int>(tags.size()));
  for (const auto& [tag, value] : tags) {
    for (const int part : {tag, 3, 1, 0, value, 0}) put_short(part);
  }
  for (const int part : {0, 0}) put_short(part);
  for (const int sample : samples) put_short(sample);
  return file;
}

Bytes grey_of(const Image& image) {
  Bytes grey;
  for (size_t i = 0; i < image.pixels.size(); i += 3) grey.push_back(image.pixels[i]);
  return grey;
}

class DeepImages : public ImageTree {
 protected:
  std::unique_ptr<Dataset> open(ImageFolderOptions options = {}) {
    options.root = folder_.path();
    return make_image_folder(options);
  }
};

// 12 bits: 4095 / 16 = 255, 160 / 16 = 10.
TEST_F(DeepImages, AreScaledByTheBitsThatTheSetUses) {
  write(folder_ / "a/1.png", deep_png({0, 160, 2048, 4063}));
  write(folder_ / "a/2.tif", deep_tiff({0, 160, 2048, 4000}));
  write(folder_ / "b/1.pgm", deep_pgm({0, 160, 2048, 1100}));
  write(folder_ / "b/2.tif", deep_tiff({0, 160, 2048, 4095}, 0));
  add("b/8.png", 9);
  const auto data = open();
  for (const int64_t i : {0, 1, 2}) {
    const Bytes grey = grey_of(data->get(i).image);
    EXPECT_THAT(Bytes(grey.begin(), grey.begin() + 3), ElementsAre(0, 10, 128)) << i;
  }
  EXPECT_THAT(grey_of(data->get(3).image), ElementsAre(255, 245, 127, 0)) << "white is zero";
  EXPECT_EQ(data->get(4).image.pixels[0], 9) << "8 bits are as they are";
  EXPECT_THAT(data->info().remarks,
              ElementsAre("folder " + folder_.path() + ": 4 images in 16 bits a sample (first: a/1.png), with values up to " +
                          "4095: read with bits: 12; set bits or window: [low, high] to read them otherwise"));
}

TEST_F(DeepImages, NeedTheFewestBitsThatHoldTheLargestValue) {
  const std::vector<std::pair<int, std::string>> cases = {{255, "8"},    {256, "10"},   {1023, "10"},  {1024, "12"}, {4096, "14"},
                                                          {16383, "14"}, {16384, "16"}, {65535, "16"}, {0, "8"}};
  for (const auto& [largest, bits] : cases) EXPECT_EQ(enum_name(needed_bits(largest)), bits) << largest;
}

TEST_F(DeepImages, OfAllSixteenBitsKeepTheirHighByte) {
  write(folder_ / "a/1.png", deep_png({255, 256, 0x8fff, 65535}));
  write(folder_ / "b/1.png", deep_png({4095, 15}));
  const auto data = open();
  EXPECT_THAT(grey_of(data->get(0).image), ElementsAre(0, 1, 0x8f, 255));
  EXPECT_THAT(data->info().remarks, ElementsAre(HasSubstr("2 images in 16 bits a sample (first: a/1.png): read with bits: 16")));
}

TEST_F(DeepImages, AreReadWithTheBitsOrTheWindowThatIsGiven) {
  write(folder_ / "a/1.png", deep_png({0, 160, 1000, 3000, 5000}));
  EXPECT_THAT(grey_of(open({.bits = SampleBits::k8})->get(0).image), ElementsAre(0, 160, 255, 255, 255));
  const auto twelve = open({.bits = SampleBits::k12});
  EXPECT_THAT(grey_of(twelve->get(0).image), ElementsAre(0, 10, 62, 187, 255));
  EXPECT_THAT(twelve->info().remarks,
              ElementsAre(HasSubstr("1 image with values above 4095, which become white (first: a/1.png, up to 5000): bits: 14 has room")));
  const auto window = open({.window = std::vector<double>{1000, 4000}});
  EXPECT_THAT(grey_of(window->get(0).image), ElementsAre(0, 0, 0, 170, 255));
  EXPECT_THAT(window->info().remarks, ElementsAre(HasSubstr("read with window: [1000, 4000]")));
  for (const std::vector<double>& wrong : {std::vector<double>{1}, std::vector<double>{2, 2}, std::vector<double>{}}) {
    EXPECT_THAT(usage_error_of([&] { open({.window = wrong}); }), HasSubstr("window: expected [low, high]"));
  }
}

TEST_F(DeepImages, OfPnmAreScaledByTheirOwnLargestValue) {
  write(folder_ / "a/1.pgm", deep_pgm({0, 500, 1000}, 1000));
  EXPECT_THAT(grey_of(open()->get(0).image), ElementsAre(0, 128, 255));
  EXPECT_THAT(open()->info().remarks, IsEmpty());
}

TEST_F(DeepImages, OfATestFolderAreReadAsTheTrainingFolders) {
  write(folder_ / "train/a/1.png", deep_png({0, 160, 4000}));
  write(folder_ / "test/a/1.png", deep_png({0, 160, 900}));
  write(folder_ / "test/a/2.png", deep_png({0, 160, 9000}));
  const auto test = open({.split = "test"});
  EXPECT_THAT(grey_of(test->get(0).image), ElementsAre(0, 10, 56));
  EXPECT_THAT(grey_of(test->get(1).image), ElementsAre(0, 10, 255));
  EXPECT_THAT(test->info().remarks, ElementsAre(AllOf(HasSubstr("read with bits: 12"), HasSubstr("(first: test/a/2.png, up to 9000)"))));
}

TEST_F(DeepImages, ThatCannotBeReadDoNotEndTheSearch) {
  Bytes cut = deep_png({0, 160, 4000});
  cut.resize(cut.size() - 20);
  write(folder_ / "a/0.png", cut);
  write(folder_ / "a/1.png", deep_png({0, 160, 900}));
  EXPECT_THAT(open()->info().remarks, ElementsAre(HasSubstr("up to 900: read with bits: 10")));
}

// One of a hundred is enough to be found among the first thousand, and then all are counted.
TEST_F(DeepImages, AreFoundAmongThousands) {
  for (int i = 0; i < 1500; ++i) {
    const std::string path = "a/" + std::to_string(1000 + i) + ".png";
    i % 100 == 0 ? write(folder_ / path, deep_png({0, 160, 4000})) : add(path);
  }
  EXPECT_THAT(open()->info().remarks, ElementsAre(HasSubstr(": 15 images in 16 bits a sample (first: a/1000.png)")));
}

TEST_F(DeepImages, AreReadAgainAfterTheyChange) {
  write(folder_ / "a/1.png", deep_png({0, 160, 4000}));
  EXPECT_THAT(open()->info().remarks, ElementsAre(HasSubstr("bits: 12")));
  write(folder_ / "a/1.png", deep_png({0, 160, 40, 41}));
  EXPECT_THAT(open()->info().remarks, ElementsAre(HasSubstr("bits: 8")));
}

TEST_F(DeepImages, OfTheTrainingSetDecideForASetElsewhere) {
  write(folder_ / "mine/a/1.png", deep_png({0, 160, 4000}));
  write(folder_ / "other/a/1.png", deep_png({0, 160, 900}));
  const auto section = [&](const std::string& root) {
    return read_data(Config::map({{"name", Config::string("image_folder")}, {"root", Config::string(folder_ / root)}}));
  };
  const ChosenData train = with_settled_bits(section("mine"));
  EXPECT_EQ(train.section.find("bits")->text(), "12");
  EXPECT_THAT(grey_of(with_pixels_of(train, section("other")).make_images()->get(0).image), ElementsAre(0, 10, 56));
  const ChosenData own = section("other").with(Config::map({{"bits", Config::scalar("auto")}}));
  EXPECT_THAT(grey_of(with_pixels_of(train, own).make_images()->get(0).image), ElementsAre(0, 40, 225)) << "what it says itself stays";
  add("shallow/a/1.png");
  EXPECT_EQ(with_settled_bits(section("shallow")).section.find("bits"), nullptr);
}

}  // namespace deep_images_test
}  // namespace debias

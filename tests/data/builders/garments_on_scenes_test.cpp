// Garments on scenes: which scene lies behind which garment, how often, and that the pixels are a blend of the two.
#include "debias/data/builders/garments_on_scenes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "debias/core/input_file.h"
#include "debias/data/builders/data_make.h"
#include "debias/data/readers/csv_table.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace garments_on_scenes_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

// Scenes are of one colour: red for "lake", green for "meadow", blue for "street"; brighter in test.
class GarmentsOnScenes : public testing::Test {
 protected:
  GarmentsOnScenes() {
    write_mnist(fashion(), 300, 100);
    for (const std::string split : {"train", "test"}) {
      const uint8_t light = split == "train" ? 100 : 200;
      for (int i = 0; i < 4; ++i) {
        const std::string name = "/" + std::to_string(i) + ".png";
        write(scenes() + "/" + split + "/lake" + name, encode_png(solid(40, 50, light, 0, 0)));
        write(scenes() + "/" + split + "/meadow" + name, encode_png(solid(50, 40, 0, light, 0)));
        write(scenes() + "/" + split + "/street" + name, encode_png(solid(32, 32, 0, 0, light)));
      }
    }
  }
  std::string fashion() const { return folder_ / "fashion"; }
  std::string scenes() const { return folder_ / "scenes"; }
  GarmentsOnScenesOptions options() const { return GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes(), .correlation = 0.8}; }
  std::map<std::string, Bytes> files_below(const std::string& folder) const {
    std::map<std::string, Bytes> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / folder)) {
      if (entry.is_regular_file())
        files[fs::relative(entry.path(), folder_ / folder).generic_string()] = read_file_bytes(entry.path().string());
    }
    return files;
  }

  TemporaryFolder folder_;
};

TEST_F(GarmentsOnScenes, TrainHasTheCorrelationAndTestEverySceneEquallyOften) {
  const MadeCounts made = make_garments_on_scenes(options(), folder_ / "made");
  ASSERT_EQ(made.parts.size(), 2u);  // three scene classes: garments 0, 1 and 2, 30 and 10 images of each
  EXPECT_EQ(made.parts[0].aligned, 72);
  EXPECT_EQ(made.parts[0].conflicting, 18);
  EXPECT_TRUE(made.remarks.empty());
  std::map<std::string, int> rows;
  const std::map<std::string, std::string> own = {{"t-shirt", "lake"}, {"trouser", "meadow"}, {"pullover", "street"}};
  for (const CsvRecord& record : read_csv(folder_ / "made/planted.csv")) {
    if (record.fields[0] == "path") continue;
    const std::string split = record.fields[0].substr(0, record.fields[0].find('/'));
    ++rows[split + (own.at(record.fields[1]) == record.fields[2] ? " aligned" : " conflicting")];
    EXPECT_THAT(record.fields[0], HasSubstr("/" + record.fields[1] + "/"));
    EXPECT_TRUE(fs::exists(folder_ / ("made/" + record.fields[0])));
  }
  EXPECT_EQ(rows["train aligned"], 72);
  EXPECT_EQ(rows["train conflicting"], 18);
  EXPECT_EQ(rows["test aligned"] + rows["test conflicting"], 30);
  EXPECT_NEAR(rows["test aligned"], 10, 2);
}

TEST_F(GarmentsOnScenes, AnImageIsTheSceneOfItsSplitUnderTheGarment) {
  make_garments_on_scenes(options(), folder_ / "made");
  const std::map<std::string, int> channel_of = {{"lake", 0}, {"meadow", 1}, {"street", 2}};
  const Image garment = resized({28, 28, 1, ramp(784)}, 28, 28);  // image 0 of each split has ink 0, 7, 14, ...
  for (const CsvRecord& record : read_csv(folder_ / "made/planted.csv")) {
    if (record.fields[0].find("/00000.png") == std::string::npos) continue;
    const std::string path = folder_ / ("made/" + record.fields[0]);
    const Image image = decode_image(read_file_bytes(path), path);
    ASSERT_EQ(image.height, 32);
    ASSERT_EQ(image.channels, 3);
    const int light = record.fields[0].rfind("train", 0) == 0 ? 100 : 200, channel = channel_of.at(record.fields[2]);
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
        const double ink = inside ? garment.row(y - 2)[x - 2] : 0, opacity = std::min(1.0, ink / 64);
        for (int c = 0; c < 3; ++c) {
          ASSERT_NEAR(image.row(y)[3 * x + c], opacity * ink + (1 - opacity) * (c == channel ? light : 0), 0.51)
              << record.fields[0] << y << x;
        }
      }
    }
  }
}

TEST_F(GarmentsOnScenes, TheSameSeedGivesTheSameFilesAndAnotherOthers) {
  make_garments_on_scenes(options(), folder_ / "one");
  make_garments_on_scenes(options(), folder_ / "two");
  make_garments_on_scenes(GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes(), .correlation = 0.8, .seed = 2}, folder_ / "three");
  EXPECT_EQ(files_below("one"), files_below("two"));
  EXPECT_NE(files_below("one"), files_below("three"));
}

TEST_F(GarmentsOnScenes, CountsAndSizeAreAsAsked) {
  const MadeCounts made = make_garments_on_scenes(
      GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes(), .correlation = 0.8, .size = 64, .train_count = 40, .test_count = 7},
      folder_ / "made");
  EXPECT_EQ(made.parts[0].aligned + made.parts[0].conflicting, 40);
  EXPECT_EQ(made.parts[1].aligned + made.parts[1].conflicting, 7);
  const std::string path = folder_ / "made/train/t-shirt/00000.png";
  EXPECT_EQ(decode_image(read_file_bytes(path), path).width, 64);
}

TEST_F(GarmentsOnScenes, ScenesWithoutATestSplitAreRemarkedOn) {
  const MadeCounts made = make_garments_on_scenes(
      GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes() + "/train", .correlation = 0.8}, folder_ / "made");
  ASSERT_EQ(made.remarks.size(), 1u);
  EXPECT_THAT(made.remarks[0], HasSubstr("same scenes"));
}

TEST_F(GarmentsOnScenes, BadInputLeavesNothing) {
  const std::string out = folder_ / "made";
  const auto build = [&](const std::string& options) {
    return [=, this] { make_data_folder(parse_yaml("{name: garments_on_scenes, " + options + "}", "r.yaml"), out); };
  };
  EXPECT_THAT(thrown_by(build("root: " + fashion())).what(), HasSubstr("no scenes; pass scenes=DIR"));
  EXPECT_THAT(thrown_by(build("root: " + (folder_ / "none") + ", scenes: " + scenes())).what(), HasSubstr("train-images-idx3-ubyte"));
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + (folder_ / "none"))).what(), HasSubstr("none"));
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + scenes() + ", correlaton: 1")).what(),
              HasSubstr("did you mean 'correlation'"));
  fs::rename(scenes() + "/test/lake", scenes() + "/test/pond");
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + scenes())).what(), HasSubstr("other classes"));
  fs::remove_all(scenes() + "/test");
  for (const char* name : {"meadow", "street"}) fs::remove_all(scenes() + "/train/" + name);
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + scenes())).what(), HasSubstr("at least two class folders"));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace garments_on_scenes_test
}  // namespace debias

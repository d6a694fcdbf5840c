#include "debias/data/data_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace data_check_test {

using namespace fixture;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(DataCheck, CountsByHand) {
  const TemporaryFolder folder;
  write(folder / "a/1.png", encode_png(solid(2, 3, 0, 255, 51)));
  write(folder / "a/2.png", encode_png(solid(2, 3, 255, 255, 51)));
  write(folder / "b/3.png", encode_png(solid(2, 3, 0, 0, 51)));
  write(folder / "l.csv", "path,bias\na/1.png,0\na/2.png,1\nb/3.png,1\n");
  const auto data = make("{name: image_folder, root: " + folder.path() + ", labels: " + (folder / "l.csv") + "}");
  const DataCheck check = check_data(*data);
  EXPECT_EQ(check.name, "image_folder");
  EXPECT_EQ(check.count, 3);
  EXPECT_EQ(check.height, 2);
  EXPECT_EQ(check.width, 3);
  EXPECT_EQ(check.channels, 3);
  EXPECT_THAT(check.per_class, ElementsAre(2, 1));
  EXPECT_THAT(check.bias_table, ElementsAre(ElementsAre(1, 1), ElementsAre(0, 1)));
  EXPECT_DOUBLE_EQ(check.mean[0], 1.0 / 3);
  EXPECT_DOUBLE_EQ(check.mean[1], 2.0 / 3);
  EXPECT_DOUBLE_EQ(check.mean[2], 0.2);
  EXPECT_NEAR(check.std[0], std::sqrt(2.0) / 3, 1e-15);
  EXPECT_EQ(check.std[2], 0);
  EXPECT_TRUE(check.bad_files.empty());
}

TEST(DataCheck, ListsBadFilesInOrderAndGoesOn) {
  const TemporaryFolder folder;
  write(folder / "a/1.png", encode_png(solid(2, 3, 10, 20, 30)));
  write(folder / "a/2.jpg", "text");
  write(folder / "a/3.png", Bytes());
  write(folder / "a/4.png", encode_png(solid(4, 3, 10, 20, 30)));
  const DataCheck check = check_data(*make("{name: image_folder, root: " + folder.path() + "}"), 2);
  EXPECT_EQ(check.count, 2);
  EXPECT_EQ(check.height, 0);  // sizes differ
  EXPECT_THAT(check.sizes, ElementsAre(Pair(Pair(2, 3), 1), Pair(Pair(4, 3), 1)));
  EXPECT_THAT(check.per_class, ElementsAre(2));
  ASSERT_EQ(check.bad_files.size(), 2u);
  EXPECT_EQ(check.bad_files[0].path, folder / "a/2.jpg");
  EXPECT_THAT(check.bad_files[0].reason, HasSubstr("is not an image of a supported format"));
  EXPECT_EQ(check.bad_files[1].path, folder / "a/3.png");
  EXPECT_EQ(check.bad_files[1].reason, "is empty");
  EXPECT_NEAR(check.mean[0], 10 / 255.0, 1e-15);
}

TEST(DataCheck, DoesNotDependOnTheThreads) {
  const auto data = make("{name: glyphs, train_count: 300, size: 16, correlation: 0.9}");
  const DataCheck one = check_data(*data, 1);
  const DataCheck many = check_data(*data, 5);
  EXPECT_EQ(one.mean, many.mean);
  EXPECT_EQ(one.std, many.std);
  EXPECT_EQ(one.bias_table, many.bias_table);
  EXPECT_EQ(one.count, 300);
}

TEST(DataCheck, ReportsProgressToTheEnd) {
  struct Recorder : Progress {
    void begin(const std::string&, int64_t count) override { total = count; }
    void advance(int64_t done, const std::string&) override { last = done; }
    void end() override { ended = true; }
    int64_t total = 0, last = 0;
    bool ended = false;
  } recorder;
  check_data(*make("{name: glyphs, train_count: 130, size: 16}"), 2, recorder);
  EXPECT_EQ(recorder.total, 130);
  EXPECT_EQ(recorder.last, 130);
  EXPECT_TRUE(recorder.ended);
}

TEST(DataCheck, NamesVeryThinImages) {
  const TemporaryFolder folder;
  write(folder / "a/1.png", encode_png(solid(1, 33, 1, 2, 3)));
  write(folder / "a/2.png", encode_png(solid(1, 32, 1, 2, 3)));
  write(folder / "b/3.png", encode_png(solid(5000, 2, 1, 2, 3)));
  const DataCheck check = check_data(*make("{name: image_folder, root: " + folder.path() + "}"));
  EXPECT_THAT(check.pixel_notes,
              ElementsAre(HasSubstr("2 images are more than 32 times as long as wide (first: a/1.png, 33 x 1 pixels): a resize")));
  EXPECT_EQ(check.remarks, check.pixel_notes);
}

TEST(DataCheck, CountsFilesOfSeveralImages) {
  const TemporaryFolder folder;
  write(folder / "a/1.png", encode_png(solid(2, 3, 1, 2, 3)));
  write(folder / "b/2.webp", read_file_bytes(golden_folder("images") + "/animated.webp"));
  const DataCheck check = check_data(*make("{name: image_folder, root: " + folder.path() + "}"));
  EXPECT_EQ(check.count, 2);
  EXPECT_THAT(check.pixel_notes, ElementsAre(HasSubstr("1 image with several frames or pages (first: b/2.webp): the first is read")));
}

}  // namespace data_check_test
}  // namespace debias

#include "debias/data/readers/named_images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/readers/bffhq.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace named_images_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class NamedImages : public testing::Test {
 protected:
  void add(const std::string& path, uint8_t shade = 1) { write(folder_ / path, encode_png(solid(4, 4, shade, 2, 3))); }
  std::unique_ptr<Dataset> open(FolderSplit split = FolderSplit::kTrain, const HoldOutOptions& hold_out = {}) {
    DatasetInfo info;
    info.name = "named";
    info.class_names = {"a", "b", "c"};
    info.bias_names = {"x", "y"};
    return read_named_images(info, folder_.path(), SplitFolders(), split, hold_out);
  }
  std::string message(FolderSplit split = FolderSplit::kTrain) {
    return data_error_of([&] { open(split); });
  }
  static std::vector<std::string> sources(const Dataset& data) {
    std::vector<std::string> result;
    for (int64_t i = 0; i < data.size(); ++i) result.push_back(data.source(i));
    return result;
  }
  TemporaryFolder folder_;
};

TEST_F(NamedImages, LabelAndBiasAreTheLastTwoFields) {
  add("align/0/10_0_0.png");
  add("align/1/9_1_1.png", 7);
  add("conflict/2/100_2_1.png");
  const auto data = open();
  EXPECT_THAT(sources(*data), ElementsAre("align/1/9_1_1.png", "align/0/10_0_0.png", "conflict/2/100_2_1.png"));  // by number
  EXPECT_EQ(data->id(0), 9);
  EXPECT_EQ(data->get(0).id, 9);
  EXPECT_EQ(data->get(0).image.pixels[0], 7);
  EXPECT_EQ(data->label(2), 2);
  EXPECT_EQ(data->bias(2), 1);
  EXPECT_EQ(data->get(2).bias, 1);
}

TEST_F(NamedImages, NamesThatAreNoNumbersGetTheirPlaceAsId) {
  add("align/0/img_7_0_0.png");
  add("align/anything/0_1_1.jpg");
  add("conflict/5_0_1.png");
  const auto data = open();
  EXPECT_THAT(sources(*data), ElementsAre("align/0/img_7_0_0.png", "align/anything/0_1_1.jpg", "conflict/5_0_1.png"));
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(data->id(i), i);
  EXPECT_EQ(data->label(1), 1);
}

TEST_F(NamedImages, ANumberGivenTwiceIsNoId) {
  add("align/3_0_0.png");
  add("conflict/3_0_1.png");
  EXPECT_EQ(open()->id(0), 0);
  EXPECT_EQ(open()->id(1), 1);
}

TEST_F(NamedImages, EachSplitHasItsFolders) {
  add("align/0_0_0.png");
  add("conflict/1_0_1.png");
  add("valid/2_1_0.png");
  add("test/a/3_2_0.png");
  EXPECT_EQ(open()->size(), 2);
  EXPECT_EQ(open()->info().split, "train");
  EXPECT_EQ(open(FolderSplit::kValid)->label(0), 1);
  EXPECT_EQ(open(FolderSplit::kTest)->label(0), 2);
  EXPECT_EQ(open(FolderSplit::kTest)->info().split, "test");
  const auto held = open(FolderSplit::kHeldOut, HoldOutOptions{.count = 1});
  EXPECT_EQ(held->size(), 1);
  EXPECT_EQ(held->info().split, "held_out");
}

TEST_F(NamedImages, SaysWhatIsWrongWithWhichFile) {
  EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / "align"), HasSubstr("no such folder"), HasSubstr("conflict")));
  std::filesystem::create_directories(folder_ / "align");
  EXPECT_THAT(message(), HasSubstr(folder_ / "conflict"));
  std::filesystem::create_directories(folder_ / "conflict");
  EXPECT_THAT(message(), HasSubstr("no image file"));
  for (const std::string name : {"7.png", "7_1.png", "7_x_1.png", "7_1_x.png", "7__1.png", "7_1_-1.png", "7_1_.png", "_1.png"}) {
    add("align/" + name);
    EXPECT_THAT(message(), AllOf(HasSubstr(folder_ / ("align/" + name)), HasSubstr("_<target>_<bias>"))) << name;
    std::filesystem::remove(folder_ / ("align/" + name));
  }
  add("align/7_3_0.png");
  EXPECT_THAT(message(), HasSubstr("target 3 in its name; expected 0 to 2"));
  std::filesystem::remove(folder_ / "align/7_3_0.png");
  add("align/7_0_2.png");
  EXPECT_THAT(message(), HasSubstr("bias 2 in its name; expected 0 to 1"));
  EXPECT_THAT(message(FolderSplit::kValid), HasSubstr("no such folder; split valid"));
}

}  // namespace named_images_test

namespace bffhq_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;

class Bffhq : public testing::Test {
 protected:
  void add(const std::string& path) { write(folder_ / path, encode_png(solid(8, 8, 1, 2, 3))); }
  std::unique_ptr<Dataset> open(FolderSplit split) { return make_bffhq(BffhqOptions{.root = folder_.path(), .split = split}); }
  TemporaryFolder folder_;
};

TEST_F(Bffhq, ReadsThePublishedLayout) {
  add("0.5pct/align/0/00012_0_0.png");
  add("0.5pct/align/1/00007_1_1.png");
  add("0.5pct/conflict/0/00009_0_1.png");
  for (const std::string folder : {"valid", "test"}) {
    for (const std::string name : {"/1_0_0.png", "/2_0_1.png", "/3_1_0.png", "/4_1_1.png"}) add(folder + name);
  }
  const auto train = open(FolderSplit::kTrain);
  EXPECT_EQ(train->size(), 3);
  EXPECT_EQ(train->source(0), "0.5pct/align/1/00007_1_1.png");
  EXPECT_THAT(train->info().class_names, testing::ElementsAre("young", "old"));
  EXPECT_THAT(train->info().mean, testing::ElementsAre(0.4914, 0.4822, 0.4465));
  EXPECT_EQ(open(FolderSplit::kValid)->size(), 4);
  const auto test = open(FolderSplit::kTest);
  ASSERT_EQ(test->size(), 2);  // the conflicting ones
  EXPECT_EQ(test->source(0), "test/2_0_1.png");
  EXPECT_EQ(test->source(1), "test/3_1_0.png");
  EXPECT_EQ(test->info().split, "test");
}

TEST_F(Bffhq, SaysWhatIsMissing) {
  EXPECT_THAT(data_error_of([&] { open(FolderSplit::kTrain); }), AllOf(HasSubstr(folder_ / "0.5pct/align"), HasSubstr("0.5pct/conflict")));
  add("test/1_0_0.png");
  EXPECT_THAT(data_error_of([&] { open(FolderSplit::kTest); }), HasSubstr("no image whose target and bias differ"));
  add("test/1_2_0.png");
  EXPECT_THAT(data_error_of([&] { open(FolderSplit::kTest); }), HasSubstr("target 2"));
}

}  // namespace bffhq_test
}  // namespace debias

#include "debias/data/readers/bffhq.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
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

#include "debias/data/folder_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace folder_layout_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderLayoutOf : public testing::Test {
 protected:
  void add(const std::string& path) { write(folder_ / path, "not looked into"); }
  FolderLayout layout() const { return find_layout(folder_.path()); }
  std::string message() const {
    return data_error_of([&] { find_layout(folder_.path()); });
  }
  TemporaryFolder folder_;
};

TEST_F(FolderLayoutOf, ClassFoldersAreOneSet) {
  add("cat/1.jpg");
  add("dog/1.png");
  const FolderLayout found = layout();
  EXPECT_EQ(found.train, "");
  EXPECT_EQ(found.test, "");
  EXPECT_THAT(found.remarks, IsEmpty());
}

TEST_F(FolderLayoutOf, SplitsHaveAnyOfTheirNamesInAnyCase) {
  add("Training/cat/1.jpg");
  add("val/cat/1.jpg");
  add("TESTING/cat/1.jpg");
  const FolderLayout found = layout();
  EXPECT_EQ(found.train, "Training");
  EXPECT_EQ(found.valid, "val");
  EXPECT_EQ(found.test, "TESTING");
}

TEST_F(FolderLayoutOf, WithoutTrainAFolderCalledTestIsAClassAndItSaysSo) {
  add("cat/1.jpg");
  add("test/1.jpg");
  const FolderLayout found = layout();
  EXPECT_EQ(found.test, "");
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("test is read as a class")));
}

TEST_F(FolderLayoutOf, NamesWhatIsPassedOver) {
  add("train/cat/1.jpg");
  add("extra/1.jpg");
  add("notes/read.txt");
  add("loose.jpg");
  add("train/cat/2.HEIC");
  add("train/cat/.3.heic");
  const FolderLayout found = layout();
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("extra"), HasSubstr("1 images directly in")));
  ASSERT_EQ(found.not_read.size(), 1u);
  EXPECT_EQ(found.not_read[0].path, "train/cat/2.HEIC");
  EXPECT_THAT(found.not_read[0].reason, HasSubstr(".HEIC files are not read"));
}

TEST_F(FolderLayoutOf, NamesWhatIsNotReadWhereTheReaderLooks) {
  add("photos/cat/1.jpg");
  add("photos/__MACOSX/cat/2.heic");
  add("photos/.thumbnails/3.heic");
  add("elsewhere/deep/4.heic");
  std::filesystem::create_directory_symlink("../../elsewhere", folder_ / "photos/cat/more");
  const FolderLayout found = find_layout(folder_ / "photos");
  ASSERT_EQ(found.not_read.size(), 1u);
  EXPECT_EQ(found.not_read[0].path, "cat/more/deep/4.heic");
  EXPECT_THAT(found.remarks, IsEmpty());
}

TEST_F(FolderLayoutOf, CountsWhatSystemsLeaveBesideSplits) {
  add("train/cat/1.jpg");
  add("@eaDir/cat/1.jpg");
  EXPECT_THAT(layout().remarks, ElementsAre(HasSubstr("1 hidden or system folder (@eaDir 1) with 1 image passed over")));
}

TEST_F(FolderLayoutOf, RefusesWhatNothingCanBeTrainedOn) {
  EXPECT_THAT(message(), HasSubstr("has no readable image"));
  add("cat/1.heic");
  EXPECT_THAT(message(), HasSubstr("1 of other kinds: cat/1.heic"));
  add("test/cat/1.jpg");
  EXPECT_THAT(message(), HasSubstr("no folder `train`"));
  add("train/cat/1.jpg");
  add("training/cat/1.jpg");
  EXPECT_THAT(message(), AllOf(HasSubstr("train and training"), HasSubstr("the same split")));
  EXPECT_THAT(data_error_of([&] { find_layout(folder_ / "nowhere"); }), HasSubstr("no such folder"));
  EXPECT_THAT(data_error_of([&] { find_layout(folder_ / "train/cat/1.jpg"); }), HasSubstr("is a file"));
}

}  // namespace folder_layout_test
}  // namespace debias

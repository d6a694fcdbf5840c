#include "debias/data/readers/image_listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "tests/data/readers/image_tree.h"

namespace debias {
namespace image_listing_test {

using namespace fixture;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class ImageListing : public ImageTree {
 protected:
  // By its path, and with the reason.
  template <class List>
  static void expect_refused(const std::string& path, List list) {
    try {
      list();
      ADD_FAILURE() << path << " was listed";
    } catch (const FileError& error) {
      EXPECT_EQ(error.path(), path);
      EXPECT_THAT(error.reason(), StartsWith("cannot be listed: "));
    }
  }
};

TEST_F(ImageListing, RefusesWhatCannotBeListed) {
  add("cat/1.png");
  const std::string file = folder_ / "cat/1.png";
  expect_refused(file, [&] { list_folders(file); });
  expect_refused(file, [&] { list_images(file, folder_.path()); });
  expect_refused(file, [&] { list_images_directly_in(file); });
  expect_refused(file, [&] { list_unread_images(file); });
}

TEST_F(ImageListing, KeepsApartWhatIsReadAndWhatIsNot) {
  add("cat/1.png");
  add("loose.jpg");
  for (const char* name : {"cat/2.heic", "cat/deep/3.GIF", "4.heic", "notes.txt"}) write(folder_ / name, "not looked into");
  EXPECT_THAT(list_images(folder_.path(), folder_.path()), ElementsAre("cat/1.png", "loose.jpg"));
  EXPECT_THAT(list_images_directly_in(folder_.path()), ElementsAre("loose.jpg"));
  EXPECT_THAT(list_unread_images(folder_.path()), ElementsAre("4.heic", "cat/2.heic", "cat/deep/3.GIF"));
  EXPECT_THAT(list_unread_images(folder_ / "cat/deep"), ElementsAre("3.GIF"));
  write(folder_ / "empty/notes.txt", "x");
  EXPECT_THAT(list_unread_images(folder_ / "empty"), IsEmpty());
}

}  // namespace image_listing_test
}  // namespace debias

#include "debias/data/data_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace debias {
namespace data_roots_test {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> roots(const std::string& section) { return roots_of(parse_yaml(section, "r.yaml")); }

TEST(DataRoots, AreTheFoldersThatASectionNames) {
  EXPECT_THAT(roots("{name: mnist, root: digits, labels: other/labels.csv}"), ElementsAre("digits"));
  EXPECT_THAT(roots("{name: corrupted_cifar10, frost: pictures/frost, root: /cifar}"), ElementsAre("/cifar", "pictures/frost"));
  EXPECT_THAT(roots("{name: glyphs}"), IsEmpty());
  EXPECT_THAT(roots("glyphs"), IsEmpty());
  EXPECT_THAT(roots("{name: mnist, root: ''}"), IsEmpty());
  EXPECT_THAT(roots_of(Config()), IsEmpty());
}

TEST(DataRoots, OfSentencesAreThoseToWhichLinksLead) {
  const TemporaryFolder folder;
  const std::string books = folder / "books";
  std::filesystem::create_directories(books);
  std::filesystem::create_directories(folder / "shelf");
  std::filesystem::create_directory_symlink("../shelf", books + "/more");
  EXPECT_THAT(roots("{name: sentences, root: " + books + "}"), ElementsAre(books, books + "/more"));
  EXPECT_THAT(roots("{name: image_folder, root: " + books + "}"), ElementsAre(books));
  EXPECT_THAT(roots("{name: sentences, root: gone}"), ElementsAre("gone"));
}

}  // namespace data_roots_test
}  // namespace debias

#include "debias/data/dataset_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/temporary_folder.h"

namespace debias {
namespace data_roots_test {

using testing::Contains;
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

TEST(DataRoots, OfSeveralSectionsAreListedOnce) {
  std::vector<Config> sections = {Config()};
  for (const char* text : {"{name: mnist, root: digits}", "{name: mnist, root: digits, split: test}", "{name: glyphs}", "glyphs",
                           "{name: corrupted_cifar10, root: /cifar, frost: frost}", "{name: cifar10, root: /cifar}"}) {
    sections.push_back(parse_yaml(text, "r.yaml"));
  }
  EXPECT_THAT(roots_of(sections), ElementsAre("digits", "/cifar", "frost"));
  EXPECT_THAT(roots_of(std::vector<Config>()), IsEmpty());
}

TEST(DataRoots, OfSplitsOfACorpusAreThoseOfOne) {
  const TemporaryFolder folder;
  const std::string books = folder / "books";
  std::filesystem::create_directories(books + "/novels");
  const Config train = parse_yaml("{name: sentences, root: " + books + ", hold_out: 2}", "r.yaml");
  const Config valid = parse_yaml("{name: sentences, root: " + books + ", hold_out: 2, split: held_out}", "r.yaml");
  EXPECT_THAT(roots_of(std::vector{train, valid}), ElementsAre(books, books + "/novels"));
  const Config pictures = parse_yaml("{name: image_folder, root: " + books + "}", "r.yaml");
  EXPECT_THAT(roots_of(std::vector{pictures, train}), Contains(books + "/novels"));  // which the pictures do not stand for
}

}  // namespace data_roots_test
}  // namespace debias

#include "debias/data/data_roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace data_roots_test
}  // namespace debias

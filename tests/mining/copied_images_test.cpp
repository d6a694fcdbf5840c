// Which of the candidates count as copies.
#include "debias/mining/copied_images.h"

#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "tests/mining/scenes.h"

namespace debias {
namespace copied_images_test {

TEST(ConfirmedCopies, LeavesOutWhatCannotBeRead) {
  const std::vector<MinedPair> candidates = {{.a = 0, .b = 1, .kind = PairKind::kDuplicate},
                                             {.a = 0, .b = 2, .kind = PairKind::kDuplicate},
                                             {.a = 0, .b = 3, .kind = PairKind::kDuplicate},
                                             {.a = 0, .b = 0, .kind = PairKind::kLeak}};
  const auto read = [](int64_t row, bool of_second) {
    if (of_second) return compressed(scene(1), 50);
    if (row == 3) throw data_error("no such image");
    return scene(row == 2 ? 2 : 1);
  };
  const ConfirmedCopies found = confirm_copies(candidates, read, Progress::silent());
  ASSERT_EQ(found.pairs.size(), 2u);
  EXPECT_EQ(found.pairs[0].b, 1);
  EXPECT_EQ(found.pairs[1].kind, PairKind::kLeak);
  EXPECT_EQ(found.unreadable, 1);
  EXPECT_EQ(found.first_unreadable, "no such image");
}

// Of 120 images, pairs of a scene and its brighter copy; all others are scenes of their own.
TEST(ConfirmedCopies, CountLookAlikesWhereTheyAreRare) {
  std::vector<MinedPair> candidates;
  for (int64_t i = 0; i < 60; ++i) candidates.push_back({.a = 2 * i, .b = 2 * i + 1, .kind = PairKind::kDuplicate});
  const auto found = [&](int64_t look_alikes) {
    const auto read = [&](int64_t row, bool) {
      const bool is_copy = row % 2 == 1 && row / 2 < look_alikes;
      return is_copy ? brighter(scene(static_cast<uint64_t>(row - 1))) : scene(static_cast<uint64_t>(row));
    };
    return confirm_copies(candidates, read, Progress::silent());
  };
  const ConfirmedCopies rare = found(1), frequent = found(2);
  ASSERT_EQ(rare.pairs.size(), 1u);
  EXPECT_EQ(rare.pairs[0].a, 0);
  EXPECT_EQ(rare.look_alike, 0);
  EXPECT_TRUE(frequent.pairs.empty());
  EXPECT_EQ(frequent.look_alike, 2);
}

}  // namespace copied_images_test
}  // namespace debias

// Rows that belong together, by columns, times, identifiers and likeness.
#include "debias/data/row_groups.h"

#include <gtest/gtest.h>

#include "debias/core/philox.h"

namespace debias {
namespace row_groups_test {

using Texts = std::vector<std::string>;

TEST(RowGroups, EqualValuesOfAllColumnsAreOneGroupAndAnEmptyOneIsAlone) {
  const Texts patient = {"a", "b", "a", "", ""}, visit = {"1", "1", "2", "1", "1"};
  EXPECT_EQ(groups_of_values({patient}).of_row, (std::vector<int32_t>{0, 1, 0, 2, 3}));
  EXPECT_EQ(groups_of_values({patient, visit}).count, 5);
  EXPECT_DOUBLE_EQ(groups_of_values({patient}).joined_share(), 0.4);
}

TEST(RowGroups, TimesOfOneCameraThatFollowEachOtherWithinAMinuteAreARun) {
  std::vector<std::optional<int64_t>> times;
  Texts cameras;
  for (int64_t run = 0; run < 8; ++run) {
    for (int64_t frame = 0; frame < 3; ++frame) {
      times.push_back(10'000 * run + 50 * frame);
      cameras.push_back("A");
    }
  }
  times.push_back(20);  // of another camera, between frames of the first run
  cameras.push_back("B");
  times.push_back(std::nullopt);
  cameras.push_back("A");
  const auto groups = groups_of_times(times, cameras);
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->count, 10);
  EXPECT_EQ(groups->of_row[2], groups->of_row[0]);
  EXPECT_NE(groups->of_row[3], groups->of_row[0]);
  EXPECT_NE(groups->of_row[24], groups->of_row[0]);
  EXPECT_EQ(groups->from, "times");
}

TEST(RowGroups, TimesThatAllFollowEachOtherAreOfAConversion) {
  std::vector<std::optional<int64_t>> times;
  for (int64_t i = 0; i < 50; ++i) times.emplace_back(i);
  EXPECT_FALSE(groups_of_times(times, Texts(50, "A")));
}

TEST(RowGroups, AnIdentifierRepeatsWithinOneClassAndASiteDoesNot) {
  Texts patient, site, price;
  std::vector<int32_t> labels;
  Random random({.seed = 4});
  for (int i = 0; i < 300; ++i) {
    const int who = i / 3;
    patient.push_back("P" + std::to_string(who));
    labels.push_back(who % 2);
    site.push_back("S" + std::to_string(who % 2 == 0 && random.uniform() < 0.9 ? 0 : 1));  // goes with the class, but has two values
    price.push_back(std::to_string(i));                                                    // never repeats
  }
  EXPECT_TRUE(names_groups(patient, labels, 2));
  EXPECT_FALSE(names_groups(site, labels, 2));
  EXPECT_FALSE(names_groups(price, labels, 2));
  std::vector<int32_t> mixed = labels;
  for (size_t i = 0; i < mixed.size(); i += 3) mixed[i] = 1 - mixed[i];  // patients of both classes
  EXPECT_FALSE(names_groups(patient, mixed, 2));
}

std::vector<uint8_t> picture(uint64_t seed, int noise) {
  Random random({.seed = seed}), own({.seed = seed, .sample = static_cast<uint64_t>(noise) + 1});
  std::vector<uint8_t> values;
  for (int i = 0; i < 16 * 16 * 3; ++i) values.push_back(static_cast<uint8_t>(40 + random.below(160) + (noise > 0 ? own.below(9) : 0)));
  return values;
}

TEST(RowGroups, NearCopiesAreOneGroupAndPlainPicturesAreNone) {
  std::vector<LikenessVector> images;
  for (uint64_t i = 0; i < 20; ++i) {
    images.push_back(likeness_vector(picture(i, 0)));
    if (i < 5) images.push_back(likeness_vector(picture(i, 1)));
  }
  images.push_back(likeness_vector(std::vector<uint8_t>(16 * 16 * 3, 200)));
  images.push_back(likeness_vector(std::vector<uint8_t>(16 * 16 * 3, 200)));
  const auto groups = groups_of_near_copies(images);
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->count, 22);
  EXPECT_EQ(groups->of_row[0], groups->of_row[1]);
  EXPECT_NE(groups->of_row[25], groups->of_row[26]);
}

}  // namespace row_groups_test
TEST(NameParts, AreFoldersAndNamesUpToEachNumberThatSomethingFollows) {
  const auto part = [](const std::vector<std::string>& names, const std::string& from) {
    for (const NamePart& own : parts_of_names(names)) {
      if (own.from == from) return own.values;
    }
    return std::vector<std::string>();
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(part({"pat1/3.png", "pat1/4.png", "pat2/3.png"}, "sub-folder"), (Texts{"pat1", "pat1", "pat2"}));
  const Texts deep = {"north/p1/3.png", "north/p2/4.png", "south/p3/1.png", "south/p3/2.png"};
  EXPECT_EQ(part(deep, "sub-folder"), (Texts{"north/p1", "north/p2", "south/p3", "south/p3"}));
  EXPECT_EQ(part(deep, "first sub-folder"), (Texts{"north", "north", "south", "south"}));
  const Texts frames = {"vid07-frame003.png", "vid07-frame004.png", "vid08-frame003.png"};
  EXPECT_EQ(part(frames, "file name to number 1"), (Texts{"vid07", "vid07", "vid08"}));
  EXPECT_EQ(part(frames, "file name to number 2"), Texts());
  EXPECT_EQ(part({"s.1/p012_left.jpg", "s.1/p012_right.jpg", "s.1/x"}, "file name to number 1"), (Texts{"s.1/p012", "s.1/p012", ""}));
  EXPECT_TRUE(parts_of_names(Texts{"0001.jpg", "0002.jpg", "IMG_0003.jpg"}).empty());
  EXPECT_TRUE(parts_of_names(Texts{"a1_1.jpg", "a2_1.jpg"}).empty());  // nothing repeats
}

TEST(GroupTitles, AreNamesOfWhatRowsAreOf) {
  for (const char* title : {"patient", "PatientID", "subject no", "video_name", "Sessions", "burst-id", "SOURCE"}) {
    EXPECT_TRUE(is_group_title(title)) << title;
  }
  for (const char* title : {"", "id", "PatientAge", "patient_sex", "site", "7", "subjective", "source_quality"}) {
    EXPECT_FALSE(is_group_title(title)) << title;
  }
}

}  // namespace debias

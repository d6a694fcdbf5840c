// Which rows are one image, where copies are many.
#include "debias/mining/copy_groups.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/image/geometry.h"
#include "debias/runtime/unit_rows.h"

namespace debias {
namespace copy_groups_test {

Image sketch(uint64_t seed) {
  Random draw({.seed = seed});
  Image small{9, 9, 3, std::vector<uint8_t>(243)};
  for (uint8_t& value : small.pixels) value = static_cast<uint8_t>(draw.below(256));
  return resized(small, 40, 40);
}
Image brighter(Image image) {
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(std::min(255, value + 10));
  return image;
}
Image plain(int value) { return {40, 40, 3, std::vector<uint8_t>(40 * 40 * 3, static_cast<uint8_t>(value))}; }

// Row i near direction of_image[i], by noise of `spread`.
at::Tensor features(const std::vector<int64_t>& of_image, double spread) {
  constexpr int64_t kWidth = 16;
  at::Tensor rows = at::empty({std::ssize(of_image), kWidth}, at::kFloat);
  Random noise({.seed = 99});
  for (size_t i = 0; i < of_image.size(); ++i) {
    Random draw({.seed = 1000 + static_cast<uint64_t>(of_image[i])});
    for (int64_t d = 0; d < kWidth; ++d)
      rows.mutable_data_ptr<float>()[static_cast<int64_t>(i) * kWidth + d] = static_cast<float>(draw.normal() + spread * noise.normal());
  }
  return unit_rows(rows).contiguous();
}

// 150 near copies of image 0, 2 of each of 20 others, and 60 alone.
std::vector<int64_t> many_copies() {
  std::vector<int64_t> of_image(150, 0);
  for (int64_t i = 1; i <= 20; ++i) of_image.insert(of_image.end(), {i, i});
  for (int64_t i = 21; i <= 80; ++i) of_image.push_back(i);
  return of_image;
}

void expect_groups(const CopyGroups& found, const std::vector<int64_t>& of_image) {
  for (size_t i = 0; i < of_image.size(); ++i) {
    const auto first = std::ranges::find(of_image, of_image[i]) - of_image.begin();
    EXPECT_EQ(found.image_of_row[i], first) << i;
  }
}

TEST(CopyGroups, HoldEveryCopyHoweverMany) {
  const std::vector<int64_t> of_image = many_copies();
  const auto read = [&](int64_t row) { return sketch(static_cast<uint64_t>(of_image[static_cast<size_t>(row)])); };
  for (const double spread : {0.0, 0.02, 0.3}) expect_groups(group_copies(features(of_image, spread), read, Progress::silent()), of_image);
}

TEST(CopyGroups, AreThoseOfEqualAndOfNearlyEqualFeaturesWithoutImages) {
  const std::vector<int64_t> of_image = many_copies();
  for (const double spread : {0.0, 0.01}) expect_groups(group_copies(features(of_image, spread), {}, Progress::silent()), of_image);
}

// 100 rows within a cosine of 0.999 of each other, of which two are equal.
TEST(CopyGroups, AreOfEqualFeaturesAloneWhereAllAreAlike) {
  at::Tensor unit = features(std::vector<int64_t>(100, 5), 0.02);
  unit[70].copy_(unit[30]);
  const CopyGroups found = group_copies(unit, {}, Progress::silent());
  EXPECT_TRUE(found.all_alike);
  for (int64_t row = 0; row < 100; ++row) EXPECT_EQ(found.image_of_row[static_cast<size_t>(row)], row == 70 ? 30 : row);
}

// Rows of one image, whose features are those of 100 images of one colour.
TEST(CopyGroups, AreFoundAmongImagesWithoutDetail) {
  std::vector<int64_t> of_image(100, 0);
  of_image.insert(of_image.end(), {0, 1, 2, 3, 0});
  const auto read = [&](int64_t row) {
    return row < 100 ? plain(static_cast<int>(row)) : sketch(static_cast<uint64_t>(of_image[static_cast<size_t>(row)]));
  };
  for (const double spread : {0.0, 0.02}) {
    const CopyGroups found = group_copies(features(of_image, spread), read, Progress::silent());
    EXPECT_EQ(found.image_of_row[104], 100) << spread;
    EXPECT_EQ(found.image_of_row[99], 99);
    EXPECT_GE(found.flat.size(), 30u);
  }
}

TEST(CopyGroups, LeaveRowsOfZerosOut) {
  at::Tensor unit = features({1, 2, 3, 4}, 0);
  unit[1].zero_();
  unit[3].zero_();
  const CopyGroups found = group_copies(unit, {}, Progress::silent());
  EXPECT_EQ(found.zeros, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(found.image_of_row, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(CopyGroups, CountWhatCannotBeRead) {
  const auto read = [](int64_t row) -> Image {
    if (row == 1) throw data_error("no such image");
    return sketch(7);
  };
  const CopyGroups found = group_copies(features({1, 1, 1}, 0.01), read, Progress::silent());
  EXPECT_EQ(found.unreadable, std::vector<int64_t>{1});
  EXPECT_EQ(found.first_unreadable, "no such image");
  EXPECT_EQ(found.image_of_row, (std::vector<int64_t>{0, 1, 0}));
}

// Of 120 images, pairs of one and its brighter copy; all others are alone.
TEST(CopyGroups, HoldLookAlikesWhereTheyAreRare) {
  std::vector<int64_t> of_image;
  for (int64_t i = 0; i < 60; ++i) of_image.insert(of_image.end(), {i, i});
  const auto found = [&](int64_t look_alikes) {
    const auto read = [&](int64_t row) {
      const bool is_copy = row % 2 == 1 && row / 2 < look_alikes;
      return is_copy ? brighter(sketch(static_cast<uint64_t>(row - 1))) : sketch(static_cast<uint64_t>(row));
    };
    return group_copies(features(of_image, 0.02), read, Progress::silent());
  };
  const CopyGroups rare = found(1), frequent = found(2);
  EXPECT_EQ(rare.image_of_row[1], 0);
  EXPECT_EQ(rare.look_alike, 0);
  EXPECT_EQ(frequent.image_of_row[1], 1);
  EXPECT_EQ(frequent.look_alike, 2);
}

}  // namespace copy_groups_test
}  // namespace debias

// Images of one source, against every two of them compared, and in splits drawn from training.
#include "debias/data/near_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "debias/core/philox.h"
#include "debias/data/folder_survey.h"
#include "debias/data/row_groups.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace near_copies_test {

using namespace fixture;
using testing::Contains;
using testing::HasSubstr;

// A texture of 4 x 4 squares; `noise` of each pixel tells copies apart.
Image texture(uint64_t source, int side = 48, int noise = 0) {
  Random pixels({.seed = source, .epoch = static_cast<uint64_t>(noise), .sample = 7});
  Image image{side, side, 3, {}};
  std::vector<uint8_t> squares;
  Random random({.seed = source});
  for (int i = 0; i < 12 * 12 * 3; ++i) squares.push_back(static_cast<uint8_t>(20 + random.below(200)));
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      for (int c = 0; c < 3; ++c) {
        const auto square = static_cast<size_t>((y * 12 / side * 12 + x * 12 / side) * 3 + c);
        image.pixels.push_back(static_cast<uint8_t>(squares[square] + pixels.below(static_cast<int64_t>(noise) + 1)));
      }
    }
  }
  return image;
}

double correlation(const LikenessVector& a, const LikenessVector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.detail.size(); ++i) sum += static_cast<double>(a.detail[i]) * b.detail[i];
  return sum;
}

TEST(NearCopies, AreThoseOfEveryTwoImagesCompared) {
  Random random({.seed = 5});
  std::vector<LikenessVector> images;
  for (uint64_t i = 0; i < 120; ++i) {
    SmallPixels pixels = small_pixels(texture(i % 90, 32, i < 90 ? 0 : static_cast<int>(i % 40)));
    const auto brighter = static_cast<uint8_t>(random.below(24));
    for (auto& value : pixels) value = static_cast<uint8_t>(std::min(255, value + brighter));
    images.push_back(likeness_vector(pixels));
  }
  const auto groups = groups_of_near_copies(images);
  ASSERT_TRUE(groups);
  std::vector<size_t> parent(images.size());
  for (size_t i = 0; i < parent.size(); ++i) parent[i] = i;
  for (size_t i = 0; i < images.size(); ++i) {
    for (size_t j = i + 1; j < images.size(); ++j) {
      bool alike = correlation(images[i], images[j]) >= 0.9;
      for (int c = 0; c < 3; ++c) alike = alike && std::abs(images[i].mean[c] - images[j].mean[c]) <= 16;
      if (!alike) continue;
      const size_t from = parent[j], to = parent[i];
      for (auto& p : parent) p = p == from ? to : p;
    }
  }
  int64_t joined = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    for (size_t j = i + 1; j < images.size(); ++j) {
      EXPECT_EQ(groups->of_row[i] == groups->of_row[j], parent[i] == parent[j]) << i << " " << j;
      joined += parent[i] == parent[j] ? 1 : 0;
    }
  }
  EXPECT_GT(joined, 10);
  EXPECT_LT(joined, 30) << "some are brighter by more than 16";
}

class CopiesInAFolder : public testing::Test {
 protected:
  // 20 sources of each class, of four files each: twice the same bytes, slight noise, and half the size.
  void add_sources() {
    for (uint64_t source = 0; source < 40; ++source) {
      const std::string base = fmt::format("in/{}/{}_", source % 2 == 0 ? "cat" : "dog", source);
      write(folder_ / (base + "a.png"), encode_png(texture(source)));
      write(folder_ / (base + "b.png"), encode_png(texture(source)));
      write(folder_ / (base + "c.png"), encode_png(texture(source, 48, 9)));
      write(folder_ / (base + "d.png"), encode_png(texture(source, 24)));
    }
  }
  std::unique_ptr<const Dataset> open(const std::string& options) const {
    return read_data(parse_yaml("{name: image_folder, root: " + (folder_ / "in") + ", " + options + "}", "r.yaml")).make_images();
  }
  static std::set<std::string> sources(const Dataset& images) {
    std::set<std::string> found;
    for (int64_t i = 0; i < images.size(); ++i) found.insert(images.source(i).substr(0, images.source(i).find('_')));
    return found;
  }
  TemporaryFolder folder_;
};

TEST_F(CopiesInAFolder, StayOnOneSideOfHoldOut) {
  add_sources();
  const auto kept = open("hold_out: 32"), held = open("hold_out: 32, split: held_out");
  EXPECT_EQ(kept->size() + held->size(), 160);
  EXPECT_EQ(held->size(), 32);
  for (const auto& source : sources(*held)) EXPECT_FALSE(sources(*kept).contains(source)) << source;
  EXPECT_THAT(kept->info().remarks,
              Contains(HasSubstr("160 images are 40 sources: copies stay on one side (hold_out: 32: 32 of 160 images are held out)")));
}

TEST_F(CopiesInAFolder, OfOnePlaceholderInNumberStayOnOneSide) {
  for (uint64_t i = 0; i < 60; ++i) {
    write(folder_ / fmt::format("in/{}/{}_.png", i % 2 == 0 ? "cat" : "dog", i < 24 ? 1000 + i : i), encode_png(texture(i < 24 ? 99 : i)));
  }
  const auto held = open("hold_out: 20, split: held_out");
  int64_t placeholders = 0;
  for (int64_t i = 0; i < held->size(); ++i) placeholders += held->source(i).find("/10") != std::string::npos ? 1 : 0;
  EXPECT_TRUE(placeholders == 0 || placeholders == 24) << placeholders;
  EXPECT_THAT(held->info().remarks, Contains(HasSubstr("60 images are 37 sources")));
}

// Digits, drawings: many look alike, and are none.
TEST_F(CopiesInAFolder, OfImagesThatLookAlikeAClassIsNotOneSource) {
  for (int i = 0; i < 100; ++i) {
    Image image = texture(static_cast<uint64_t>(i % 10));
    for (size_t p = 0; p < image.pixels.size(); ++p) image.pixels[p] = static_cast<uint8_t>(image.pixels[p] * (80 + i / 10 * 3) / 100);
    write(folder_ / fmt::format("in/class{}/{}.png", i % 10, i), encode_png(image));
  }
  const auto held = open("hold_out: 20, split: held_out");
  std::map<int64_t, int> of_class;
  for (int64_t i = 0; i < held->size(); ++i) ++of_class[held->label(i)];
  EXPECT_EQ(of_class.size(), 10u);
  for (const auto& remark : held->info().remarks) EXPECT_THAT(remark, testing::Not(HasSubstr("sources")));
}

TEST_F(CopiesInAFolder, AreSaidByInitAndNotLookedForWhereGroupsAreSaid) {
  add_sources();
  const FolderSurvey found = survey_folder(folder_ / "in", {}, Progress::silent());
  EXPECT_THAT(found.remarks, Contains("160 images are 40 sources: copies stay on one side"));
  EXPECT_EQ(read_data(found.evaluated).make_images()->size(), found.held_out);
  std::string csv = "path,group\n";
  for (const auto& [path, bytes] : files_below(folder_ / "in")) csv += path + "," + path + "\n";
  write(folder_ / "groups.csv", csv);
  const auto kept = open("hold_out: 32, labels: " + (folder_ / "groups.csv"));
  for (const auto& remark : kept->info().remarks) EXPECT_THAT(remark, testing::Not(HasSubstr("sources")));
}

TEST_F(CopiesInAFolder, OfPlainOrDamagedImagesThereAreNone) {
  for (int i = 0; i < 20; ++i) write(folder_ / fmt::format("in/{}/{}.png", i % 2, i), encode_png(solid(9, 9, 1, 2, 3)));
  write(folder_ / "in/1/bad.png", "no picture");
  EXPECT_EQ(open("hold_out: 5, split: held_out")->size(), 5);
}

}  // namespace near_copies_test
}  // namespace debias

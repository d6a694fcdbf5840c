// Images that are drawn: glyphs, and garments on scenes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "debias/core/input_file.h"
#include "debias/data/builders/data_make.h"
#include "debias/data/builders/garments_on_scenes.h"
#include "debias/data/builders/glyphs.h"
#include "debias/data/readers/csv_table.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace drawn_images_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

using namespace fixture;

std::vector<std::vector<int>> table_of(const Dataset& data) {
  std::vector<std::vector<int>> table(10, std::vector<int>(10, 0));
  for (int64_t i = 0; i < data.size(); ++i) ++table[static_cast<size_t>(data.label(i))][static_cast<size_t>(data.bias(i))];
  return table;
}

TEST(Glyphs, TheAskedShareOfEachClassHasItsOwnColour) {
  for (const auto& [correlation, aligned] : {std::pair{0.95, 190}, {0.997, 199}, {0.5, 100}, {1.0, 200}, {0.0, 0}}) {
    const auto table = table_of(*make_glyphs(GlyphsOptions{.correlation = correlation, .train_count = 2000}));
    for (size_t label = 0; label < 10; ++label) {
      int smallest = 2000, largest = 0, total = 0;
      for (size_t bias = 0; bias < 10; ++bias) {
        total += table[label][bias];
        if (bias == label) continue;
        smallest = std::min(smallest, table[label][bias]);
        largest = std::max(largest, table[label][bias]);
      }
      EXPECT_EQ(total, 200);
      EXPECT_NEAR(table[label][label], aligned, 1) << correlation;
      EXPECT_LE(largest - smallest, 1) << correlation;
    }
  }
}

TEST(Glyphs, ATenthIsNoBias) {
  for (const auto& row : table_of(*make_glyphs(GlyphsOptions{.train_count = 9000}))) {
    for (int cell : row) EXPECT_EQ(cell, 90);
  }
}

TEST(Glyphs, ImagesDependOnSeedSplitAndIndexAlone) {
  const auto data = make_glyphs(GlyphsOptions{.train_count = 50});
  const auto longer = make_glyphs(GlyphsOptions{.train_count = 5000});
  GlyphsOptions other_seed;
  other_seed.hold_out.seed = 1;
  const auto reseeded = make_glyphs(other_seed);
  const auto test = make_glyphs(GlyphsOptions{.split = FolderSplit::kTest});
  for (int64_t i : {0, 7, 49}) {
    const auto pixels = data->get(i).image.pixels;
    EXPECT_EQ(pixels, longer->get(i).image.pixels);
    EXPECT_NE(pixels, reseeded->get(i).image.pixels);
    EXPECT_NE(pixels, test->get(i).image.pixels);
  }
}

TEST(Glyphs, OptionsShapeTheSet) {
  const auto data = make_glyphs(GlyphsOptions{.split = FolderSplit::kTest, .classes = 3, .size = 48, .test_count = 7});
  EXPECT_EQ(data->size(), 7);
  EXPECT_EQ(data->info().class_names.size(), 3u);
  EXPECT_EQ(data->info().bias_names.size(), 10u);
  EXPECT_EQ(data->get(5).image.height, 48);
  EXPECT_EQ(data->label(5), 2);
  for (const char* options :
       {"classes: 1", "classes: 11", "size: 15", "size: 257", "correlation: 1.1", "variation: -0.1", "variation: 1.1", "train_count: 0"}) {
    EXPECT_THROW(make("{name: glyphs, " + std::string(options) + "}"), Error) << options;
  }
}

// Where half of a pixel or more is ink, whose shade without variation is 235; the first pixel is background.
std::vector<bool> ink_of(const Dataset& data, int64_t index) {
  const std::vector<uint8_t> pixels = data.get(index).image.pixels;
  const auto darkest = static_cast<size_t>(std::min_element(pixels.begin(), pixels.begin() + 3) - pixels.begin());
  std::vector<bool> ink;
  for (size_t p = darkest; p < pixels.size(); p += 3) ink.push_back(2 * pixels[p] >= pixels[darkest] + 235);
  return ink;
}

int differing(const std::vector<bool>& a, const std::vector<bool>& b) {
  int count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

TEST(Glyphs, WithoutVariationAClassHasOneDrawing) {
  const auto data = make_glyphs(GlyphsOptions{.variation = 0, .train_count = 50});
  for (int64_t i = 0; i < data->size(); ++i) {
    for (int64_t label = 0; label < 10; ++label) {
      const int pixels = differing(ink_of(*data, i), ink_of(*data, label));
      if (label == i % 10) {
        EXPECT_LE(pixels, 10) << i;  // those that are half ink, which rounding decides
      } else {
        EXPECT_GT(pixels, 30) << i << " and " << label;
      }
    }
  }
}

TEST(Glyphs, HalfTheVariationIsLess) {
  const auto dark_shapes = [](double variation) {
    const auto data = make_glyphs(GlyphsOptions{.variation = variation, .train_count = 600});
    int count = 0;
    for (int64_t i = 0; i < data->size(); ++i) {
      const std::vector<uint8_t> pixels = data->get(i).image.pixels;
      int dark = 0;
      for (size_t p = 0; p < pixels.size(); p += 3) dark += std::max({pixels[p], pixels[p + 1], pixels[p + 2]}) < 40 ? 1 : 0;
      count += dark > 20 ? 1 : 0;
    }
    return count;
  };
  EXPECT_NEAR(dark_shapes(1), 300, 60);
  EXPECT_NEAR(dark_shapes(0.5), 150, 50);
  EXPECT_EQ(dark_shapes(0), 0);
}

// The background's colour is that of the image's border, whose pixels are rarely ink.
TEST(Glyphs, TheBiasIsTheBackgroundColour) {
  const auto data = make_glyphs(GlyphsOptions{.train_count = 500});
  std::map<int64_t, std::array<double, 3>> sums;
  std::map<int64_t, int> counts;
  const auto corner = [&](int64_t i) {
    const Image image = data->get(i).image;
    std::array<double, 3> mean{};
    for (int p : {0, 1, 30, 31, 31 * 32, 31 * 32 + 31}) {
      for (size_t c = 0; c < 3; ++c) mean[c] += image.pixels[static_cast<size_t>(p) * 3 + c] / 6.0;
    }
    return mean;
  };
  for (int64_t i = 0; i < data->size(); ++i) {
    const auto mean = corner(i);
    for (size_t c = 0; c < 3; ++c) sums[data->bias(i)][c] += mean[c];
    ++counts[data->bias(i)];
  }
  int right = 0;
  for (int64_t i = 0; i < data->size(); ++i) {
    const auto mean = corner(i);
    int64_t nearest = -1;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [bias, sum] : sums) {
      double distance = 0;
      for (size_t c = 0; c < 3; ++c) distance += std::pow(sum[c] / counts[bias] - mean[c], 2);
      if (distance < least) {
        least = distance;
        nearest = bias;
      }
    }
    right += nearest == data->bias(i) ? 1 : 0;
  }
  EXPECT_GT(right, 450);
}

// Classes must not be readable from where pixels are: one nearest neighbour on 8x8 block means stays far below a trained encoder.
TEST(Glyphs, RawPixelsDoNotGiveTheClassAway) {
  const auto features = [](const Dataset& data) {
    std::vector<std::array<float, 192>> result(static_cast<size_t>(data.size()));
    for (int64_t i = 0; i < data.size(); ++i) {
      const Image image = data.get(i).image;
      for (int p = 0; p < 32 * 32; ++p) {
        const size_t block = static_cast<size_t>(p / 32 / 4 * 8 + p % 32 / 4);
        for (size_t c = 0; c < 3; ++c)
          result[static_cast<size_t>(i)][block * 3 + c] += image.pixels[static_cast<size_t>(p) * 3 + c] / 16.0f;
      }
    }
    return result;
  };
  const auto train = make_glyphs(GlyphsOptions{.train_count = 1500});
  const auto test = make_glyphs(GlyphsOptions{.split = FolderSplit::kTest, .test_count = 200});
  const auto bank = features(*train);
  const auto queries = features(*test);
  int right = 0;
  for (size_t q = 0; q < queries.size(); ++q) {
    size_t nearest = 0;
    float least = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < bank.size(); ++i) {
      float distance = 0;
      for (size_t d = 0; d < 192; ++d) distance += (bank[i][d] - queries[q][d]) * (bank[i][d] - queries[q][d]);
      if (distance < least) {
        least = distance;
        nearest = i;
      }
    }
    right += train->label(static_cast<int64_t>(nearest)) == test->label(static_cast<int64_t>(q)) ? 1 : 0;
  }
  EXPECT_LT(right, 200 * 0.4);
}

TEST(GlyphShapes, AreTenDistinctOutlinesInTheUnitDisk) {
  std::set<std::string> names;
  for (const GlyphShape& shape : glyph_shapes()) {
    names.insert(shape.name);
    for (const Segment& segment : shape.segments) {
      for (const Point& p : {segment.a, segment.b}) EXPECT_LE(std::hypot(p.x, p.y), 1.3) << shape.name;
    }
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_EQ(glyph_shapes().size(), 10u);
}

TEST(GlyphShapes, DistanceToASquare) {
  const std::vector<Segment> square = {{{0, 0}, {2, 0}}, {{2, 0}, {2, 2}}, {{2, 2}, {0, 2}}, {{0, 2}, {0, 0}}};
  const ShapeDistance inside = distance_to_shape(square, {0.5, 1});
  EXPECT_DOUBLE_EQ(inside.to_outline, 0.5);
  EXPECT_TRUE(inside.inside);
  const ShapeDistance outside = distance_to_shape(square, {5, 6});
  EXPECT_DOUBLE_EQ(outside.to_outline, 5);
  EXPECT_FALSE(outside.inside);
}

// Garments on scenes: which scene lies behind which garment, how often, and that the pixels are a blend of the two.

// Scenes are of one colour: red for "lake", green for "meadow", blue for "street"; brighter in test.
class GarmentsOnScenes : public testing::Test {
 protected:
  GarmentsOnScenes() {
    write_mnist(fashion(), 300, 100);
    for (const std::string split : {"train", "test"}) {
      const uint8_t light = split == "train" ? 100 : 200;
      for (int i = 0; i < 4; ++i) {
        const std::string name = "/" + std::to_string(i) + ".png";
        write(scenes() + "/" + split + "/lake" + name, encode_png(solid(40, 50, light, 0, 0)));
        write(scenes() + "/" + split + "/meadow" + name, encode_png(solid(50, 40, 0, light, 0)));
        write(scenes() + "/" + split + "/street" + name, encode_png(solid(32, 32, 0, 0, light)));
      }
    }
  }
  std::string fashion() const { return folder_ / "fashion"; }
  std::string scenes() const { return folder_ / "scenes"; }
  GarmentsOnScenesOptions options() const { return GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes(), .correlation = 0.8}; }

  TemporaryFolder folder_;
};

TEST_F(GarmentsOnScenes, TrainHasTheCorrelationAndTestEverySceneEquallyOften) {
  const MadeCounts made = make_garments_on_scenes(options(), folder_ / "made");
  ASSERT_EQ(made.parts.size(), 2u);  // three scene classes: garments 0, 1 and 2, 30 and 10 images of each
  EXPECT_EQ(made.parts[0].aligned, 72);
  EXPECT_EQ(made.parts[0].conflicting, 18);
  EXPECT_TRUE(made.remarks.empty());
  std::map<std::string, int> rows;
  const std::map<std::string, std::string> own = {{"t-shirt", "lake"}, {"trouser", "meadow"}, {"pullover", "street"}};
  for (const CsvRecord& record : read_csv(folder_ / "made/planted.csv")) {
    if (record.fields[0] == "path") continue;
    const std::string split = record.fields[0].substr(0, record.fields[0].find('/'));
    ++rows[split + (own.at(record.fields[1]) == record.fields[2] ? " aligned" : " conflicting")];
    EXPECT_THAT(record.fields[0], HasSubstr("/" + record.fields[1] + "/"));
    EXPECT_TRUE(fs::exists(folder_ / ("made/" + record.fields[0])));
  }
  EXPECT_EQ(rows["train aligned"], 72);
  EXPECT_EQ(rows["train conflicting"], 18);
  EXPECT_EQ(rows["test aligned"] + rows["test conflicting"], 30);
  EXPECT_NEAR(rows["test aligned"], 10, 2);
}

TEST_F(GarmentsOnScenes, AnImageIsTheSceneOfItsSplitUnderTheGarment) {
  make_garments_on_scenes(options(), folder_ / "made");
  const std::map<std::string, int> channel_of = {{"lake", 0}, {"meadow", 1}, {"street", 2}};
  const Image garment = resized({28, 28, 1, ramp(784)}, 28, 28);  // image 0 of each split has ink 0, 7, 14, ...
  for (const CsvRecord& record : read_csv(folder_ / "made/planted.csv")) {
    if (record.fields[0].find("/00000.png") == std::string::npos) continue;
    const std::string path = folder_ / ("made/" + record.fields[0]);
    const Image image = decode_image(read_file_bytes(path), path);
    ASSERT_EQ(image.height, 32);
    ASSERT_EQ(image.channels, 3);
    const int light = record.fields[0].rfind("train", 0) == 0 ? 100 : 200, channel = channel_of.at(record.fields[2]);
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        const bool inside = y >= 2 && y < 30 && x >= 2 && x < 30;
        const double ink = inside ? garment.row(y - 2)[x - 2] : 0, opacity = std::min(1.0, ink / 64);
        for (int c = 0; c < 3; ++c) {
          ASSERT_NEAR(image.row(y)[3 * x + c], opacity * ink + (1 - opacity) * (c == channel ? light : 0), 0.51)
              << record.fields[0] << y << x;
        }
      }
    }
  }
}

TEST_F(GarmentsOnScenes, TheSameSeedGivesTheSameFilesAndAnotherOthers) {
  make_garments_on_scenes(options(), folder_ / "one");
  make_garments_on_scenes(options(), folder_ / "two");
  make_garments_on_scenes(GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes(), .correlation = 0.8, .seed = 2}, folder_ / "three");
  EXPECT_EQ(files_below(folder_ / "one"), files_below(folder_ / "two"));
  EXPECT_NE(files_below(folder_ / "one"), files_below(folder_ / "three"));
}

TEST_F(GarmentsOnScenes, CountsAndSizeAreAsAsked) {
  const MadeCounts made = make_garments_on_scenes(
      GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes(), .correlation = 0.8, .size = 64, .train_count = 40, .test_count = 7},
      folder_ / "made");
  EXPECT_EQ(made.parts[0].aligned + made.parts[0].conflicting, 40);
  EXPECT_EQ(made.parts[1].aligned + made.parts[1].conflicting, 7);
  const std::string path = folder_ / "made/train/t-shirt/00000.png";
  EXPECT_EQ(decode_image(read_file_bytes(path), path).width, 64);
}

TEST_F(GarmentsOnScenes, ScenesWithoutATestSplitAreRemarkedOn) {
  const MadeCounts made = make_garments_on_scenes(
      GarmentsOnScenesOptions{.root = fashion(), .scenes = scenes() + "/train", .correlation = 0.8}, folder_ / "made");
  ASSERT_EQ(made.remarks.size(), 1u);
  EXPECT_THAT(made.remarks[0], HasSubstr("same scenes"));
}

TEST_F(GarmentsOnScenes, BadInputLeavesNothing) {
  const std::string out = folder_ / "made";
  const auto build = [&](const std::string& options) {
    return [=, this] { make_data_folder(parse_yaml("{name: garments_on_scenes, " + options + "}", "r.yaml"), out); };
  };
  EXPECT_THAT(thrown_by(build("root: " + fashion())).what(), HasSubstr("no scenes; pass scenes=DIR"));
  EXPECT_THAT(thrown_by(build("root: " + (folder_ / "none") + ", scenes: " + scenes())).what(), HasSubstr("train-images-idx3-ubyte"));
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + (folder_ / "none"))).what(), HasSubstr("none"));
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + scenes() + ", correlaton: 1")).what(),
              HasSubstr("did you mean 'correlation'"));
  fs::rename(scenes() + "/test/lake", scenes() + "/test/pond");
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + scenes())).what(), HasSubstr("other classes"));
  fs::remove_all(scenes() + "/test");
  for (const char* name : {"meadow", "street"}) fs::remove_all(scenes() + "/train/" + name);
  EXPECT_THAT(thrown_by(build("root: " + fashion() + ", scenes: " + scenes())).what(), HasSubstr("at least two class folders"));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace drawn_images_test
}  // namespace debias

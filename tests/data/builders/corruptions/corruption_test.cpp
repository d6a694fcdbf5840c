#include "debias/data/builders/corruptions/corruption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "debias/core/input_file.h"
#include "debias/core/registry.h"
#include "debias/data/builders/corruptions/frost_textures.h"
#include "debias/data/builders/corruptions/plane.h"
#include "debias/image/image_decode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"
#include "tests/support/registry_names.h"

namespace debias {
namespace corruption_test {

using testing::ElementsAre;
using testing::HasSubstr;

using namespace fixture;

constexpr int kSide = kCorruptionSide;

Image damaged(const Image& image, const std::string& name, int severity, uint64_t sample = 0) {
  static const FrostTextures frost = procedural_frost_textures();
  RngKey key;
  key.sample = sample;
  Random random(key);
  return corrupted(image, find_entry(corruption_registry(), name, "corruption"), severity, random, frost);
}

Image grey(uint8_t value) { return solid(kSide, kSide, value, value, value); }

// Smooth shading with some texture.
Image picture() {
  Image image = grey(0);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      uint8_t* rgb = &image.pixels[static_cast<size_t>(3 * (y * kSide + x))];
      rgb[0] = static_cast<uint8_t>(60 + 4 * x);
      rgb[1] = static_cast<uint8_t>(200 - 5 * y + (x * y) % 7);
      rgb[2] = static_cast<uint8_t>((x / 8 + y / 8) % 2 == 0 ? 180 : 40);
    }
  }
  return image;
}

class EveryCorruption : public testing::TestWithParam<std::string> {};

TEST_P(EveryCorruption, IsAFunctionOfImageAndKeyAndChangesTheImage) {
  const Image image = picture();
  for (int severity = 1; severity <= 5; ++severity) {
    const Image out = damaged(image, GetParam(), severity, 3);
    EXPECT_EQ(out.pixels, damaged(image, GetParam(), severity, 3).pixels);
    EXPECT_EQ(out.pixels.size(), image.pixels.size());
    EXPECT_EQ(out.pixels == image.pixels, GetParam() == "original") << severity;
  }
  const std::set<std::string> without_draws = {"gaussian_blur", "defocus_blur", "zoom_blur", "brightness", "contrast",
                                               "saturate",      "jpeg",         "pixelate",  "original"};
  EXPECT_EQ(damaged(image, GetParam(), 5, 1).pixels == damaged(image, GetParam(), 5, 2).pixels, without_draws.count(GetParam()) == 1);
}

TEST_P(EveryCorruption, TakesBlackAndWhite) {
  for (const uint8_t value : {0, 255}) {
    for (int severity = 1; severity <= 5; ++severity) EXPECT_EQ(damaged(grey(value), GetParam(), severity).pixels.size(), 3072u);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryCorruption, testing::ValuesIn(names_of(corruption_registry())),
                         [](const auto& param) { return param.param; });

TEST(Corruption, AreNineteenAndTheOriginal) { EXPECT_EQ(corruption_registry().size(), 20u); }

TEST(Corruption, RefusesOtherSizesAndSeverities) {
  EXPECT_THAT(usage_error_of([] { damaged(solid(28, 32, 1, 2, 3), "fog", 1); }), HasSubstr("32x32"));
  for (const int severity : {0, 6}) {
    EXPECT_THAT(usage_error_of([&] { damaged(grey(1), "fog", severity); }), HasSubstr("is not 1 to 5"));
  }
}

// The corruptions against images and moments made with the libraries of the released CIFAR-10-C (tests/golden/make_corruptions.py).

std::string golden(const std::string& file) { return golden_folder("corruptions") + "/" + file; }

const nlohmann::json& about() {
  static const auto loaded = nlohmann::json::parse(read_file_bytes(golden("about.json")));
  return loaded;
}

FrostTextures drawn_textures() {  // as the script has them
  FrostTextures frost;
  for (int number = 0; number < 5; ++number) {
    Planes texture = {Plane(40, 36), Plane(40, 36), Plane(40, 36)};
    for (int c = 0; c < 3; ++c) {
      for (int y = 0; y < 40; ++y) {
        for (int x = 0; x < 36; ++x) texture[static_cast<size_t>(c)].at(y, x) = (y * 7 + x * 13 + c * 29 + number * 41) % 256 / 255.0;
      }
    }
    frost.textures.push_back(std::move(texture));
  }
  return frost;
}

Image damaged_golden(const std::string& name, int severity, uint64_t sample) {
  static const FrostTextures frost = drawn_textures();
  static const Image input = read_image(golden("input.png"));
  Random random({.sample = sample});
  return corrupted(input, find_entry(corruption_registry(), name, "corruption"), severity, random, frost);
}

// Some of the libraries compute in float32, and what is cut to a whole level then may fall on its other side.
constexpr int kLargest = 1;
constexpr double kShare = 0.01;  // of the values that may differ at all

class CorruptionGolden : public testing::TestWithParam<std::string> {};

TEST_P(CorruptionGolden, HasTheReferencesPixels) {
  const Image sheet = read_image(golden("pixels.png"));
  const auto& rows = about().at("rows");
  const auto row = static_cast<int>(std::find(rows.begin(), rows.end(), GetParam()) - rows.begin());
  for (int severity = 1; severity <= 5; ++severity) {
    const Image out = damaged_golden(GetParam(), severity, static_cast<uint64_t>(severity - 1));
    int largest = 0, different = 0;
    for (int y = 0; y < kSide; ++y) {
      const uint8_t* expected = sheet.row(row * kSide + y) + 3 * kSide * (severity - 1);
      for (int i = 0; i < 3 * kSide; ++i) {
        const int difference = std::abs(out.row(y)[i] - expected[i]);
        largest = std::max(largest, difference);
        different += difference > 0 ? 1 : 0;
      }
    }
    EXPECT_LE(largest, kLargest) << "severity " << severity;
    EXPECT_LE(different, kShare * 3 * kSide * kSide) << "severity " << severity;
  }
}

INSTANTIATE_TEST_SUITE_P(Released, CorruptionGolden, testing::ValuesIn(about().at("rows").get<std::vector<std::string>>()),
                         [](const auto& param) { return param.param; });

TEST(CorruptionGolden, CoversEveryCorruption) {
  std::set<std::string> covered = {"original"};
  for (const auto& name : about().at("rows")) covered.insert(name);
  for (const auto& entry : about().at("moments")) covered.insert(entry.at("kind"));
  for (const Corruption& corruption : corruption_registry()) EXPECT_EQ(covered.count(corruption.name), 1u) << corruption.name;
}

// Errors of the reference's moments are its own standard errors; those of as many images here are alike, and five of both together allowed.
TEST(CorruptionGolden, NoiseHasTheReferencesMoments) {
  const Image input = read_image(golden("input.png"));
  const int images = about().at("images");
  for (const auto& entry : about().at("moments")) {
    const std::string name = entry.at("kind");
    double sum = 0, squares = 0, count = 0;
    for (int sample = 0; sample < images; ++sample) {
      const Image out = damaged_golden(name, entry.at("severity"), static_cast<uint64_t>(sample));
      for (size_t i = 0; i < out.pixels.size(); ++i, ++count) {
        const double change = out.pixels[i] - input.pixels[i];
        sum += change;
        squares += change * change;
      }
    }
    const double mean = sum / count, deviation = std::sqrt(squares / count - mean * mean), allowed = 5 * std::sqrt(2.0);
    EXPECT_NEAR(mean, entry.at("mean"), allowed * entry.at("mean_error").get<double>()) << entry;
    EXPECT_NEAR(deviation, entry.at("deviation"), allowed * entry.at("deviation_error").get<double>()) << entry;
  }
}

TEST(Fog, IsScaledByTheBrightestValue) { EXPECT_EQ(damaged(grey(0), "fog", 5).pixels, grey(0).pixels); }

TEST(FrostTextures, AreReadAtAFifth) {
  const TemporaryFolder folder;
  for (int number = 1; number <= 5; ++number) {
    Image image = solid(200, 170, 1, 2, 3);
    image.pixels[3 * (7 * 170 + 12)] = static_cast<uint8_t>(50 * number);  // row 1 and column 2 of the fifth
    write(folder / fmt::format("frost{}.{}", number, number < 4 ? "png" : "jpg"), number < 4 ? encode_png(image) : jpeg(image));
  }
  const FrostTextures frost = read_frost_textures(folder.path());
  ASSERT_EQ(frost.textures.size(), 5u);
  EXPECT_FALSE(frost.procedural);
  EXPECT_EQ(frost.textures[0][0].height, 40);
  EXPECT_EQ(frost.textures[0][0].width, 34);
  EXPECT_DOUBLE_EQ(frost.textures[2][0].at(1, 2), 150 / 255.0);
  EXPECT_DOUBLE_EQ(frost.textures[2][2].at(0, 0), 3 / 255.0);
  write(folder / "frost3.png", encode_png(solid(100, 300, 1, 2, 3)));
  EXPECT_THAT(data_error_of([&] { read_frost_textures(folder.path()); }), HasSubstr("frost3.png"));
  std::filesystem::remove(folder / "frost3.png");
  EXPECT_THAT(data_error_of([&] { read_frost_textures(folder.path()); }), HasSubstr("found no frost3"));
  EXPECT_THAT(data_error_of([&] { read_frost_textures("/nowhere"); }), HasSubstr("/nowhere"));
  EXPECT_TRUE(procedural_frost_textures().procedural);
}

TEST(FrostTexturesRealData, HaveThePublishedSizes) {
  const char* base = std::getenv("DEBIAS_TEST_DATA");
  const std::string folder = std::string(base != nullptr ? base : "../shared/data") + "/frost";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder << "; set DEBIAS_TEST_DATA";
  const FrostTextures frost = read_frost_textures(folder);
  EXPECT_EQ(frost.textures[1][0].height * frost.textures[1][0].width, 112 * 63);
}

Plane row(std::vector<double> values) {
  Plane plane(1, static_cast<int>(values.size()));
  plane.values = std::move(values);
  return plane;
}

TEST(Planes, AreBytesOver255AndBackTruncated) {
  Image image;
  image.height = 1;
  image.width = 256;
  for (int v = 0; v < 256; ++v) image.pixels.insert(image.pixels.end(), 3, static_cast<uint8_t>(v));
  EXPECT_EQ(image_of(planes_of(image)).pixels, image.pixels);
  const Plane wild = row({-1, 99.9 / 255, 2});
  EXPECT_THAT(image_of({wild, wild, wild}).pixels, ElementsAre(0, 0, 0, 99, 99, 99, 255, 255, 255));
}

TEST(Borders, MirrorAsTheirLibraries) {
  std::vector<int> nearest, mirrored, reflected;
  for (int position = -4; position < 8; ++position) {
    nearest.push_back(folded(position, 4, Border::kNearest));
    mirrored.push_back(folded(position, 4, Border::kReflect101));
    reflected.push_back(folded(position, 4, Border::kReflect));
  }
  EXPECT_THAT(nearest, ElementsAre(0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3));
  EXPECT_THAT(mirrored, ElementsAre(2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1));
  EXPECT_THAT(reflected, ElementsAre(3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0));
}

TEST(BoxResize, AveragesWholePixels) {
  EXPECT_THAT(box_resized(row({0, 10 / 255.0, 20 / 255.0, 31 / 255.0}), 1, 2).values,
              ElementsAre(5 / 255.0, 26 / 255.0));  // 25.5 rounds up
  for (int v = 0; v < 255; ++v) {
    EXPECT_THAT(box_resized(row({v / 255.0, (v + 1) / 255.0}), 1, 1).values, ElementsAre((v + 1) / 255.0)) << v << ".5";
  }
  EXPECT_THAT(box_resized(row({0, 1}), 1, 4).values, ElementsAre(0, 0, 1, 1));
}

}  // namespace corruption_test
}  // namespace debias

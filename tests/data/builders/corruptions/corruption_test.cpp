#include "debias/data/builders/corruptions/corruption.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "debias/core/registry.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace corruption_test {

using namespace fixture;
using testing::HasSubstr;

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

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const std::string& name, int severity, uint8_t value) {  // of the change, over 30 images
  double sum = 0, squares = 0, count = 0;
  for (uint64_t sample = 0; sample < 30; ++sample) {
    for (const uint8_t byte : damaged(grey(value), name, severity, sample).pixels) {
      const double change = byte + 0.5 - value;  // truncation takes a half off on average
      sum += change;
      squares += change * change;
      ++count;
    }
  }
  return {sum / count, std::sqrt(squares / count - sum * sum / (count * count))};
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

std::vector<std::string> corruption_names() {
  std::vector<std::string> names;
  for (const Corruption& corruption : corruption_registry()) names.push_back(corruption.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Registry, EveryCorruption, testing::ValuesIn(corruption_names()), [](const auto& param) { return param.param; });

TEST(Corruption, AreNineteenAndTheOriginal) { EXPECT_EQ(corruption_registry().size(), 20u); }

TEST(Corruption, RefusesOtherSizesAndSeverities) {
  EXPECT_THAT(usage_error_of([] { damaged(solid(28, 32, 1, 2, 3), "fog", 1); }), HasSubstr("32x32"));
  for (const int severity : {0, 6}) {
    EXPECT_THAT(usage_error_of([&] { damaged(grey(1), "fog", severity); }), HasSubstr("is not 1 to 5"));
  }
}

TEST(Noise, HasTheDeviationOfItsSeverity) {
  // 92,160 values: five standard errors of the mean are 1.6 % of the deviation, of the deviation 1.2 %; rounding adds 1/12 to the variance.
  for (const auto& [severity, sigma] : {std::pair{1, 0.04}, {3, 0.08}, {5, 0.10}}) {
    const Moments noise = moments("gaussian_noise", severity, 128);
    EXPECT_NEAR(noise.mean, 0, 0.016 * 255 * sigma);
    EXPECT_NEAR(noise.deviation, 255 * sigma, 0.015 * 255 * sigma);
  }
  const Moments speckle = moments("speckle_noise", 5, 100);
  EXPECT_NEAR(speckle.deviation, 0.2 * 100, 0.3);
  const Moments shot = moments("shot_noise", 3, 51);  // Poisson of mean 0.2 * 100, times 2.55
  EXPECT_NEAR(shot.mean, 0, 0.3);
  EXPECT_NEAR(shot.deviation, 2.55 * std::sqrt(20.0), 0.25);
  const Moments bright = moments("shot_noise", 1, 204);  // mean 400: a sum of parts
  EXPECT_NEAR(bright.deviation, 0.51 * std::sqrt(400.0), 0.25);
}

TEST(ImpulseNoise, TurnsSingleValuesBlackOrWhite) {
  int black = 0, white = 0, grey_pixels = 0, count = 0;
  for (uint64_t sample = 0; sample < 30; ++sample) {
    const Image out = damaged(grey(100), "impulse_noise", 5, sample);
    for (size_t i = 0; i < out.pixels.size(); ++i, ++count) {
      black += out.pixels[i] == 0 ? 1 : 0;
      white += out.pixels[i] == 255 ? 1 : 0;
      EXPECT_TRUE(out.pixels[i] == 0 || out.pixels[i] == 100 || out.pixels[i] == 255);
    }
    for (size_t i = 0; i < out.pixels.size(); i += 3) grey_pixels += out.pixels[i] == out.pixels[i + 1] && out.pixels[i] != 100 ? 1 : 0;
  }
  EXPECT_NEAR(black, 0.035 * count, 300);  // five deviations of sqrt(92160 * 0.035)
  EXPECT_NEAR(white, 0.035 * count, 300);
  EXPECT_LT(grey_pixels, 30720 * 0.07 / 10);
}

TEST(Digital, MatchesHandWorkedPixels) {
  EXPECT_EQ(damaged(solid(kSide, kSide, 200, 100, 100), "brightness", 2).pixels[0], 225);  // 200 + 25.5, truncated
  EXPECT_EQ(damaged(solid(kSide, kSide, 200, 100, 100), "brightness", 2).pixels[1], 112);  // half of it: 112.75
  EXPECT_EQ(damaged(solid(kSide, kSide, 200, 100, 100), "saturate", 1).pixels[1], 170);    // 200 (1 - 0.5 * 0.3)
  EXPECT_EQ(damaged(solid(kSide, kSide, 200, 100, 100), "saturate", 5).pixels[1], 0);      // saturation clipped at 1
  Image halves = grey(0);
  for (size_t i = 0; i < halves.pixels.size() / 2; ++i) halves.pixels[i] = 200;
  const Image flat = damaged(halves, "contrast", 4);  // 100 +- 30
  EXPECT_EQ(flat.pixels.front(), 130);
  EXPECT_EQ(flat.pixels.back(), 70);
  EXPECT_EQ(damaged(grey(90), "pixelate", 5).pixels, grey(90).pixels);
  const Image blocks = damaged(picture(), "pixelate", 5);  // 20 different rows at most
  std::set<std::vector<uint8_t>> rows;
  for (int y = 0; y < kSide; ++y) rows.insert({blocks.row(y), blocks.row(y) + 3 * kSide});
  EXPECT_LE(rows.size(), 32u);
  const auto error = [](int severity) {
    const Image in = picture(), out = damaged(in, "jpeg", severity);
    double sum = 0;
    for (size_t i = 0; i < in.pixels.size(); ++i) sum += std::abs(in.pixels[i] - out.pixels[i]);
    return sum / static_cast<double>(in.pixels.size());
  };
  EXPECT_LT(error(1), error(5));
  EXPECT_LT(error(5), 40);
}

TEST(Blur, KeepsFlatImagesAndSpreadsPoints) {
  for (const std::string name : {"gaussian_blur", "glass_blur", "defocus_blur", "motion_blur", "zoom_blur", "elastic"}) {
    for (int severity = 1; severity <= 5; ++severity) {
      for (const uint8_t byte : damaged(grey(90), name, severity).pixels) ASSERT_NEAR(byte, 90, 1) << name;
    }
  }
  Image point = grey(0);
  const size_t centre = 3 * (16 * kSide + 16);
  point.pixels[centre] = 255;
  const Image soft = damaged(point, "defocus_blur", 1);  // the disk is one pixel, smoothed by 3x3 of deviation 0.4
  const double beside = std::exp(-0.5 / 0.16), total = 1 + 2 * beside;
  EXPECT_EQ(soft.pixels[centre], static_cast<int>(255 / (total * total)));
  EXPECT_EQ(soft.pixels[centre + 3], static_cast<int>(255 * beside / (total * total)));
  EXPECT_EQ(soft.pixels[centre + 1], 0);
}

TEST(GlassBlur, CopiesNeighboursAwayFromTheTopAndLeft) {
  const Image in = picture(), out = damaged(in, "glass_blur", 1);  // deviation 0.05 blurs nothing
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const uint8_t* now = out.row(y) + 3 * x;
      bool found = false;  // row by row from the bottom, so the neighbour copied may itself be a copy from further down only
      for (int v = std::max(0, y - 2); v <= y && !found; ++v) {
        for (int u = 0; u < kSide && !found; ++u) found = std::equal(now, now + 3, in.row(v) + 3 * u);
      }
      if (y < 2 || x < 2) {
        ASSERT_TRUE(std::equal(now, now + 3, in.row(y) + 3 * x)) << y << " " << x;
      } else {
        ASSERT_TRUE(found) << y << " " << x;
      }
    }
  }
}

TEST(Elastic, WithoutWavesIsAffine) {
  Image ramp = grey(0);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) ramp.pixels[static_cast<size_t>(3 * (y * kSide + x))] = static_cast<uint8_t>(20 + 5 * x + 2 * y);
  }
  const Image out = damaged(ramp, "elastic", 1, 5);
  EXPECT_NE(out.pixels, ramp.pixels);
  const auto at = [&](int y, int x) { return static_cast<int>(out.row(y)[3 * x]); };
  for (int y = 11; y < 21; ++y) {
    for (int x = 11; x < 21; ++x) {  // second differences vanish but for truncation
      EXPECT_LE(std::abs(at(y, x - 1) - 2 * at(y, x) + at(y, x + 1)), 2);
      EXPECT_LE(std::abs(at(y - 1, x) - 2 * at(y, x) + at(y + 1, x)), 2);
    }
  }
}

TEST(Snow, FallsAlikeUnderHalfATurn) {
  for (int severity = 1; severity <= 5; ++severity) {
    const Image out = damaged(grey(40), "snow", severity, 2);
    for (size_t i = 0; i < out.pixels.size(); ++i) EXPECT_NEAR(out.pixels[i], out.pixels[out.pixels.size() - 1 - i], 1);
    EXPECT_GE(*std::min_element(out.pixels.begin(), out.pixels.end()), 40);
  }
}

TEST(Frost, AddsATexture) {
  FrostTextures flat;
  const Plane half(40, 40, 0.5);
  flat.textures = {{half, half, half}};
  Random random({});
  const auto& frost = find_entry(corruption_registry(), "frost", "corruption");
  EXPECT_EQ(corrupted(grey(100), frost, 3, random, flat).pixels, grey(141).pixels);  // 0.9 * 100 + 0.4 * 127.5
}

TEST(Fog, LiesBetweenTheImageAndWhite) {
  EXPECT_EQ(damaged(grey(0), "fog", 5).pixels, grey(0).pixels);  // scaled by the brightest value
  const Image out = damaged(grey(200), "fog", 4);                // (x + m) 200/255 / (200/255 + 1)
  const auto [low, high] = std::minmax_element(out.pixels.begin(), out.pixels.end());
  const double x = 200 / 255.0;
  EXPECT_EQ(*low, static_cast<int>(255 * x * x / (x + 1)));
  EXPECT_EQ(*high, 200);
}

TEST(Spatter, IsWaterThenMud) {
  for (uint64_t sample = 0; sample < 10; ++sample) {
    const bool lower = sample < 5;
    const Image water = damaged(grey(60), "spatter", lower ? 2 : 3, sample), mud = damaged(grey(60), "spatter", lower ? 4 : 5, sample);
    int wet = 0, muddy = 0;
    for (size_t i = 0; i < water.pixels.size(); i += 3) {
      EXPECT_GE(water.pixels[i], 60);
      EXPECT_GE(water.pixels[i + 2], water.pixels[i]);  // turquoise
      wet += water.pixels[i + 2] > 60 ? 1 : 0;
      EXPECT_LE(mud.pixels[i + 2], 60);  // brown has little blue
      muddy += mud.pixels[i + 2] < 60 ? 1 : 0;
    }
    EXPECT_GT(wet, 50);
    EXPECT_LT(wet, 1000);
    EXPECT_GT(muddy, 20);
    EXPECT_LT(muddy, 900);
  }
}

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

}  // namespace corruption_test
}  // namespace debias

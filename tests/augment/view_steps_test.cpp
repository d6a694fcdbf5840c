// Every step of views: its contract, its bytes, and the distributions that it draws from.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_steps.h"
#include "debias/core/error.h"
#include "debias/core/registry.h"
#include "debias/core/sha256.h"
#include "tests/image/instruction_sets.h"
#include "tests/image/test_images.h"

namespace debias {
namespace view_steps_test {

// What every registered view step and preset must hold; a new entry is tested by being registered.

class ViewStepContract : public testing::TestWithParam<size_t> {
 protected:
  const ViewStepEntry& entry() const { return view_step_registry()[GetParam()]; }
  bool converts_colours() const { return entry().name.starts_with("rgb_to_"); }  // needs three channels and has no options
  // The step with options under which it visibly acts.
  std::unique_ptr<ViewStep> acting() const {
    Config options = Config::map();
    if (entry().name == "color_jitter") options = parse_yaml("{brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}", "");
    if (entry().name == "random_crop") options = parse_yaml("{size: 24}", "");
    return entry().make(options);
  }
  static Image applied(const ViewStep& step, Image image, const RngKey& key) {
    step.apply(image, key);
    return image;
  }
};

const std::vector<std::pair<int, int>> kSizes = {{32, 32}, {33, 40}, {61, 35}, {96, 96}};

TEST_P(ViewStepContract, DefaultsGiveTheAnnouncedSizeForOneAndThreeChannels) {
  const auto step = entry().make(Config());
  for (const int channels : {1, 3}) {
    if (channels == 1 && converts_colours()) continue;  // refuses it: below
    for (const auto& [height, width] : kSizes) {
      const Image out = applied(*step, noise_image(height, width, channels), sample_key(5));
      EXPECT_EQ(std::pair(out.height, out.width), step->output_size(height, width)) << height << " x " << width;
      EXPECT_EQ(out.channels, channels);
      EXPECT_EQ(out.pixels.size(), static_cast<size_t>(out.height) * out.width * channels);
    }
  }
}

TEST_P(ViewStepContract, TinyImagesWorkOrAreRefusedWithAMessage) {
  const auto step = entry().make(Config());
  for (const int channels : {1, 3}) {
    for (const auto& [height, width] : std::vector<std::pair<int, int>>{{1, 1}, {1, 9}, {7, 2}}) {
      try {
        const Image out = applied(*step, noise_image(height, width, channels), sample_key(5));
        EXPECT_EQ(std::pair(out.height, out.width), step->output_size(height, width));
      } catch (const Error& error) {
        EXPECT_TRUE(entry().name == "random_crop" || (converts_colours() && channels == 1)) << error.what();
        EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      }
    }
  }
}

TEST_P(ViewStepContract, IsAFunctionOfPixelsAndKey) {
  const auto step = acting();
  const Image image = noise_image(32, 40, 3);
  for (uint64_t sample = 0; sample < 8; ++sample) {
    EXPECT_TRUE(applied(*step, image, sample_key(sample)) == applied(*step, image, sample_key(sample)));
  }
}

TEST_P(ViewStepContract, OtherKeysGiveOtherViewsWhereTheStepIsRandom) {
  const auto step = acting();
  const Image image = noise_image(32, 40, 3);
  std::set<std::vector<uint8_t>> views;
  for (uint64_t sample = 0; sample < 32; ++sample) views.insert(applied(*step, image, sample_key(sample)).pixels);
  const bool fixed = entry().name == "resize" || entry().name == "center_crop" || converts_colours();
  EXPECT_EQ(step->is_random(), !fixed);
  if (fixed) {
    EXPECT_EQ(views.size(), 1u);
  } else {
    EXPECT_GE(views.size(), 2u);
  }
}

TEST_P(ViewStepContract, ReadsNothingBeyondWhatItSays) {
  const auto step = acting();
  for (uint64_t sample = 0; sample < 8; ++sample) {
    const StepPlan plan = step->plan(33, 40, sample_key(sample));
    if (!plan.reads_the_box) continue;
    const Box& box = plan.box;
    const Image image = noise_image(33, 40, 3);
    Image other = noise_image(33, 40, 3, 99);
    for (int y = box.top; y < box.top + box.height; ++y) {
      std::copy_n(image.row(y) + box.left * 3, box.width * 3, other.pixels.begin() + (y * 40 + box.left) * 3);
    }
    EXPECT_TRUE(applied(*step, image, sample_key(sample)) == applied(*step, other, sample_key(sample)));
  }
}

TEST_P(ViewStepContract, ConfigMakesTheSameStep) {
  for (const auto& step : {acting(), entry().make(Config())}) {
    const auto copy = entry().make(step->config());
    EXPECT_EQ(copy->config(), step->config());
    EXPECT_EQ(copy->name(), entry().name);
    const Image image = noise_image(40, 32, 3);
    EXPECT_TRUE(applied(*copy, image, sample_key(9)) == applied(*step, image, sample_key(9)));
  }
}

TEST_P(ViewStepContract, UnknownOptionsAreRefused) {
  EXPECT_THROW(entry().make(parse_yaml("{no_such_option: 1}", "r.yaml")), Error);
  EXPECT_EQ(entry().options.empty(), converts_colours());
  EXPECT_FALSE(entry().summary.empty());
}

INSTANTIATE_TEST_SUITE_P(Registry, ViewStepContract, testing::Range<size_t>(0, view_step_registry().size()),
                         [](const auto& test) { return view_step_registry()[test.param].name; });

class ViewPresetContract : public testing::TestWithParam<size_t> {};

TEST_P(ViewPresetContract, ResolvedConfigIsTheSamePipeline) {
  const ViewPresetEntry& entry = view_preset_registry()[GetParam()];
  const Config section = Config::map({{"preset", Config::string(entry.name)}});
  const ViewPipeline pipeline = read_views(section).make({0.4914, 0.4822, 0.4465}, {0.2023, 0.1994, 0.2010});
  const ViewPipeline again = read_views(parse_yaml(pipeline.config().to_yaml(), "config.yaml")).make({}, {});
  EXPECT_EQ(pipeline.config(), again.config());
  const Image image = noise_image(36, 48, 3);
  const Image view = pipeline.apply(image, sample_key(2));
  EXPECT_TRUE(view == again.apply(image, sample_key(2)));
  EXPECT_EQ(std::pair(view.height, view.width), pipeline.output_size(36, 48));
}

INSTANTIATE_TEST_SUITE_P(Registry, ViewPresetContract, testing::Range<size_t>(0, view_preset_registry().size()),
                         [](const auto& test) { return view_preset_registry()[test.param].name; });

// The bytes of views do not change: a digest of 64 views of each preset, the same for every instruction set. The digests were taken from
// the scalar code that the vectorised code replaced; those of later presets from their first version.

// Waves with a little noise: neighbouring pixels are alike, and colours cover the cube.
Image wavy_image(int height, int width, int channels) {
  Image image = noise_image(height, width, channels, 17);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const size_t c = i % channels, x = i / channels % width, y = i / channels / width;
    const double wave =
        128 + 110 * std::sin(0.21 * static_cast<double>(x) * (1 + 0.3 * static_cast<double>(c)) + 0.13 * static_cast<double>(y));
    image.pixels[i] = static_cast<uint8_t>(wave + image.pixels[i] % 16);
  }
  return image;
}

std::string digest(const std::string& preset, int channels) {
  const ViewPipeline views = read_views(Config::map({{"preset", Config::string(preset)}})).make({0.5}, {0.25});
  const std::vector<Image> images = {noise_image(32, 32, channels), wavy_image(32, 32, channels),  wavy_image(61, 45, channels),
                                     wavy_image(96, 96, channels),  noise_image(29, 83, channels), wavy_image(250, 331, channels)};
  Sha256 sha;
  for (uint64_t i = 0; i < 64; ++i) {
    RngKey key = sample_key(i);
    key.epoch = 3;
    key.view = static_cast<uint16_t>(i % 2);
    const Image view = views.apply(images[i % images.size()], key);
    const int32_t shape[3] = {view.height, view.width, view.channels};
    sha.update(shape, sizeof(shape));
    sha.update(view.pixels.data(), view.pixels.size());
  }
  return sha.hex().substr(0, 16);
}

struct Known {
  const char* preset;
  const char* rgb;
  const char* grey;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.preset; }

constexpr Known kKnown[] = {
    {"none", "bf40a036e47b6d4b", "650e1a78a36154ae"},
    {"eval0", "bf40a036e47b6d4b", "650e1a78a36154ae"},
    {"sim32", "7641bcd46ba949f1", "1baa97aeb6113864"},
    {"sim224", "383a4c541766ae1f", "f180d4a35aaba902"},
    {"sup32", "2d1dc523d1710d4a", "c45c1f60d88fa3c3"},
    {"sup224", "8cd48e3c102f62c1", "4beb609496565269"},
    {"lin32", "32cd437a5c0d5997", "b716853595a73d82"},
    {"crop4", "b0873fe31bc4b6b1", "a83426ea19ad15b3"},
    {"mn0", "bf40a036e47b6d4b", "650e1a78a36154ae"},
    {"mn_bc", "9f049373c6cf3cc5", "9d68dab8602647e9"},
    {"bf", "f7db47c97f0085ef", "fb656fd5cb999c09"},
    {"in_std", "ea4b080237c19b4a", "7a828fa4ca844378"},
    {"in100", "3986f449dc711015", "facec31a8c7ba26a"},
    {"cmc", "2b98e685c11849e3", ""},  // which needs colours
    {"cmc_ycbcr", "23e5e39257c79e69", ""},
};

class ViewDigest : public testing::TestWithParam<Known> {};

TEST_P(ViewDigest, IsTheKnownOneUnderEveryInstructionSet) {
  for_each_instruction_set([] {
    EXPECT_EQ(digest(GetParam().preset, 3), GetParam().rgb);
    const std::string grey = GetParam().grey;
    EXPECT_TRUE(grey.empty() || digest(GetParam().preset, 1) == grey);
  });
}

INSTANTIATE_TEST_SUITE_P(Presets, ViewDigest, testing::ValuesIn(kKnown), [](const auto& test) { return std::string(test.param.preset); });

TEST(ViewDigests, AreKnownForEveryPreset) {
  for (const ViewPresetEntry& entry : view_preset_registry()) {
    EXPECT_TRUE(std::any_of(std::begin(kKnown), std::end(kKnown), [&](const Known& known) { return entry.name == known.preset; }))
        << entry.name;
  }
}

// Distributions of what the random steps draw.

constexpr int kDraws = 20000;

// Kolmogorov-Smirnov distance of values from the uniform distribution on [0, 1].
double uniform_distance(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  double distance = 0;
  const auto n = static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    distance = std::max({distance, std::abs(values[i] - static_cast<double>(i) / n), std::abs(values[i] - static_cast<double>(i + 1) / n)});
  }
  return distance;
}

const double kAccepted = 2.0 / std::sqrt(kDraws);  // exceeded by chance with probability 7e-4, and the draws are fixed

std::unique_ptr<ViewStep> make_step(const std::string& name, const std::string& yaml) {
  return find_entry(view_step_registry(), name, "view step").make(parse_yaml(yaml, ""));
}

TEST(RandomResizedBox, AreaIsUniformAndAspectLogUniformWhereNothingIsRejected) {
  std::vector<double> areas, aspects;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Random random(sample_key(i));
    const Box box = random_resized_box(4000, 4000, {0.08, 0.5}, {0.75, 4.0 / 3}, random);
    areas.push_back((static_cast<double>(box.height) * box.width / 16e6 - 0.08) / 0.42);
    aspects.push_back((std::log(static_cast<double>(box.width) / box.height) - std::log(0.75)) / (std::log(4.0 / 3) - std::log(0.75)));
  }
  EXPECT_LT(uniform_distance(areas), kAccepted);
  EXPECT_LT(uniform_distance(aspects), kAccepted);
}

TEST(RandomResizedBox, PlacesAreUniformIncludingTheLast) {
  std::map<int, int> tops;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Random random(sample_key(i));
    const Box box = random_resized_box(8, 8, {0.25, 0.25}, {1, 1}, random);  // always 4 x 4
    ASSERT_EQ(box.height, 4);
    ++tops[box.top];
  }
  ASSERT_EQ(tops.size(), 5u);
  for (const auto& [top, count] : tops) EXPECT_NEAR(count, kDraws / 5, 5 * std::sqrt(kDraws / 5)) << top;
}

TEST(RandomResizedBox, FallsBackToTheLargestCentredBox) {
  Random random(sample_key(0));
  const Box wide = random_resized_box(10, 100, {1, 1}, {0.5, 2}, random);  // 10 x 100 never has aspect 2
  EXPECT_EQ(std::vector<int>({wide.top, wide.left, wide.height, wide.width}), std::vector<int>({0, 40, 10, 20}));
  const Box tall = random_resized_box(101, 10, {1, 1}, {0.5, 2}, random);
  EXPECT_EQ(std::vector<int>({tall.top, tall.left, tall.height, tall.width}), std::vector<int>({40, 0, 20, 10}));
  const Box whole = random_resized_box(10, 10, {2, 2}, {0.5, 2}, random);
  EXPECT_EQ(std::vector<int>({whole.top, whole.left, whole.height, whole.width}), std::vector<int>({0, 0, 10, 10}));
}

TEST(RandomHorizontalFlip, FlipsWithProbabilityP) {
  const Image image = noise_image(2, 3, 3);
  for (const double p : {0.0, 0.3, 1.0}) {
    const auto step = make_step("random_horizontal_flip", fmt::format("{{p: {}}}", p));
    int flipped = 0;
    for (uint64_t i = 0; i < kDraws; ++i) {
      Image copy = image;
      step->apply(copy, sample_key(i));
      flipped += !(copy == image);
    }
    EXPECT_NEAR(flipped, p * kDraws, 5 * std::sqrt(p * (1 - p) * kDraws)) << p;
  }
}

TEST(ColorJitter, OrdersAreEquallyLikelyAndFactorsUniform) {
  std::map<std::array<ColorAdjustment, 4>, int> orders;
  std::vector<double> brightness, contrast, saturation, hue;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Random random(sample_key(i));
    const JitterDraw draw = draw_jitter(Spread::number(0.4), Spread::number(1.5), Spread::between(0.2, 0.7), Spread::number(0.1), random);
    ++orders[draw.order];
    brightness.push_back((draw.brightness - 0.6) / 0.8);
    contrast.push_back(draw.contrast / 2.5);  // [max(0, -0.5), 2.5]
    saturation.push_back((draw.saturation - 0.2) / 0.5);
    hue.push_back((draw.hue + 0.1) / 0.2);
  }
  EXPECT_EQ(orders.size(), 24u);
  for (const auto& entry : orders) EXPECT_NEAR(entry.second, kDraws / 24, 5 * std::sqrt(kDraws / 24));
  for (const auto& factors : {brightness, contrast, saturation, hue}) EXPECT_LT(uniform_distance(factors), kAccepted);
}

TEST(ColorJitter, ActsWithProbabilityP) {
  const auto step = make_step("color_jitter", "{brightness: [0, 0], p: 0.8}");
  int black = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Image image{1, 1, 3, {200, 100, 50}};
    step->apply(image, sample_key(i));
    black += image.pixels[0] == 0;
  }
  EXPECT_NEAR(black, 0.8 * kDraws, 5 * std::sqrt(0.16 * kDraws));
}

TEST(ColorJitter, WithoutFactorsChangesNothing) {
  const auto step = make_step("color_jitter", "{}");
  for (uint64_t i = 0; i < 20; ++i) {
    Image image = noise_image(8, 8, 3);
    step->apply(image, sample_key(i));
    EXPECT_TRUE(image == noise_image(8, 8, 3));
  }
}

TEST(RandomGrayscale, ActsWithProbabilityP) {
  const auto step = make_step("random_grayscale", "{p: 0.2}");
  int grey = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Image image{1, 1, 3, {200, 100, 50}};
    step->apply(image, sample_key(i));
    grey += image.pixels[0] == image.pixels[2];
  }
  EXPECT_NEAR(grey, 0.2 * kDraws, 5 * std::sqrt(0.16 * kDraws));
}

// The centre pixel of a white dot on black, blurred with k = 3, is 255 w0^2 with w0 = 1 / (1 + 2 exp(-1 / (2 sigma^2))).
TEST(GaussianBlur, SigmaIsUniform) {
  const auto step = make_step("gaussian_blur", "{kernel_size: 3, sigma: [0.5, 1.0]}");
  std::vector<double> sigmas;
  for (uint64_t i = 0; i < 4000; ++i) {
    Image image{5, 5, 1, std::vector<uint8_t>(25)};
    image.pixels[12] = 255;
    step->apply(image, sample_key(i));
    const double w0 = std::sqrt(image.pixels[12] / 255.0);
    sigmas.push_back((1 / std::sqrt(2 * std::log(2 * w0 / (1 - w0))) - 0.5) / 0.5);
  }
  EXPECT_LT(uniform_distance(sigmas), 2.0 / std::sqrt(4000) + 0.02);  // plus the rounding of the pixel
}

TEST(RandomCrop, EveryPlaceInThePaddedImageIsEquallyLikely) {
  const auto step = make_step("random_crop", "{size: 2, padding: 1}");
  std::map<std::vector<uint8_t>, int> views;
  for (uint64_t i = 0; i < kDraws; ++i) {
    Image image{2, 2, 1, {1, 2, 3, 4}};
    step->apply(image, sample_key(i));
    ++views[image.pixels];
  }
  ASSERT_EQ(views.size(), 9u);
  for (const auto& entry : views) EXPECT_NEAR(entry.second, kDraws / 9, 5 * std::sqrt(kDraws / 9));
}

TEST(RandomRotation, TurnsBothWaysWithinDegrees) {
  // At (row 0, column 9) of a 19 x 19 image the white pixel above the centre moves left for counter-clockwise turns.
  const auto step = make_step("random_rotation", "{degrees: 20}");
  int left = 0, right = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    Image image{19, 19, 1, std::vector<uint8_t>(361)};
    image.pixels[2 * 19 + 9] = 255;
    step->apply(image, sample_key(i));
    for (int y = 0; y < 19; ++y) {
      for (int x = 0; x < 19; ++x) {
        if (image.row(y)[x] == 0) continue;
        left += x < 9;
        right += x > 9;
        EXPECT_NEAR(x, 9, 3.5);  // 7 sin 20 = 2.4, and half a pixel twice
      }
    }
  }
  EXPECT_GT(left, 100);
  EXPECT_GT(right, 100);
}

// The centre of 1 x 5000 pixels at a short side of 256 is a crop of 1 x 32, enlarged 256 times; the whole would be 1,280,000 pixels long.
TEST(Resize, OfAVeryThinImageTakesItsMiddle) {
  Image image{1, 5000, 3, std::vector<uint8_t>(15000)};
  for (size_t x = 0; x < 5000; ++x) std::fill_n(image.pixels.begin() + static_cast<ptrdiff_t>(3 * x), 3, x < 2500 ? 10 : 200);
  const auto resize = find_entry(view_step_registry(), "resize", "view step").make(parse_yaml("{size: 256}", ""));
  EXPECT_EQ(resize->output_size(1, 5000), std::pair(256, 8192));
  EXPECT_EQ(resize->output_size(5000, 2), std::pair(8192, 256));
  EXPECT_EQ(resize->output_size(1, 32), std::pair(256, 8192));
  resize->apply(image, sample_key(1));
  EXPECT_EQ(image.height, 256);
  EXPECT_EQ(image.width, 8192);
  EXPECT_EQ(image.pixels.front(), 10);
  EXPECT_EQ(image.pixels[3 * 3900], 10);
  EXPECT_EQ(image.pixels[3 * 4300], 200) << "the edge stays in the middle";
  EXPECT_EQ(image.pixels.back(), 200);
}

}  // namespace view_steps_test
}  // namespace debias

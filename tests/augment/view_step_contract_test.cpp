// What every registered view step and preset must hold; a new entry is tested by being registered.
#include <gtest/gtest.h>

#include <set>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "tests/image/test_images.h"

namespace debias {
namespace view_step_contract_test {

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
  EXPECT_EQ(entry().options.empty, converts_colours());
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

}  // namespace view_step_contract_test
}  // namespace debias

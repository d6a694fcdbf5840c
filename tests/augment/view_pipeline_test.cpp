#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "tests/augment/written_view.h"
#include "tests/image/test_images.h"
#include "tests/support/refusals.h"

namespace debias {
namespace view_pipeline_test {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<double> kMean = {0.5}, kStd = {0.25};

ChosenViews chosen(const std::string& yaml) { return read_views(parse_yaml(yaml, "r.yaml"), {"count", "forward", "noise"}); }
ViewPipeline pipeline(const std::string& yaml) { return chosen(yaml).make(kMean, kStd); }

std::vector<std::string> step_names(const ViewPipeline& views) {
  std::vector<std::string> names;
  const Config config = views.config();
  for (const Config& step : config.find("steps")->items()) names.push_back(step.entries().front().first);
  return names;
}

std::string option(const ViewPipeline& views, size_t step, const std::string& name) {
  return views.config().find("steps")->items().at(step).entries().front().second.find(name)->to_json().dump();
}

std::string message(const std::string& yaml) {
  return usage_error_of([&] { pipeline(yaml); });
}

TEST(ViewPipeline, PresetGivesItsSteps) {
  const ViewPipeline views = pipeline("{preset: sim32, count: 2, forward: joint}");
  EXPECT_THAT(step_names(views),
              ElementsAre("random_resized_crop", "random_horizontal_flip", "color_jitter", "random_grayscale", "gaussian_blur"));
  EXPECT_EQ(option(views, 0, "size"), "32");
  EXPECT_EQ(option(views, 0, "scale"), "[0.08,1]");
  EXPECT_EQ(option(views, 2, "p"), "0.8");
  EXPECT_EQ(option(views, 2, "hue"), "0.1");
  EXPECT_EQ(option(views, 3, "p"), "0.2");
  EXPECT_EQ(option(views, 4, "kernel_size"), "3");
  EXPECT_EQ(option(views, 4, "p"), "0.5");
  EXPECT_EQ(option(pipeline("{preset: sim224}"), 4, "kernel_size"), "23");
  EXPECT_EQ(option(pipeline("{preset: sup32}"), 0, "scale"), "[0.2,1]");
  EXPECT_EQ(step_names(pipeline("{preset: sup224}")).size(), 4u);
}

TEST(ViewPipeline, AnAbsentSectionAndABareWordWork) {
  EXPECT_TRUE(step_names(read_views(Config()).make(kMean, kStd)).empty());
  EXPECT_EQ(step_names(pipeline("crop4")).size(), 2u);
  EXPECT_TRUE(step_names(pipeline("{preset: eval}")).empty());
}

TEST(ViewPipeline, AStepKeyOverridesOnlyTheOptionsGiven) {
  const ViewPipeline views = pipeline("{preset: sup32, random_resized_crop: {size: 28}, horizontal_flip: {p: 0}}");
  EXPECT_EQ(option(views, 0, "size"), "28");
  EXPECT_EQ(option(views, 0, "scale"), "[0.2,1]");
  EXPECT_EQ(option(views, 1, "p"), "0");
  EXPECT_EQ(option(views, 2, "p"), "0.8");
}

TEST(ViewPipeline, StepsAreNamesOrMaps) {
  const ViewPipeline views = pipeline("{steps: [hflip, {resize: {size: [20, 30]}}, {crop: {size: 16, padding: 2}}]}");
  EXPECT_THAT(step_names(views), ElementsAre("random_horizontal_flip", "resize", "random_crop"));
  EXPECT_EQ(views.output_size(100, 50), std::pair(16, 16));
  EXPECT_EQ(pipeline("{steps: [{resize: {size: 20}}]}").output_size(100, 30), std::pair(66, 20));
}

TEST(ViewPipeline, MistakesAreNamed) {
  EXPECT_THAT(message("{preset: sim23}"), HasSubstr("did you mean 'sim32'"));
  EXPECT_THAT(message("{preset: sup32, random_grayscal: {p: 0}}"), HasSubstr("did you mean 'random_grayscale'"));
  EXPECT_THAT(message("{preset: sup32, gaussian_blur: {p: 0}}"), HasSubstr("has no step 'gaussian_blur'"));
  EXPECT_THAT(message("{preset: sup32, random_resized_crop: {sise: 28}}"), HasSubstr("did you mean 'size'"));
  EXPECT_THAT(message("{preset: sup32, cuont: 2}"), HasSubstr("did you mean 'count'"));
  EXPECT_THAT(message("{steps: [random_crap]}"), HasSubstr("did you mean 'random_crop'"));
  EXPECT_THAT(message("{steps: [{resize: {size: 3}, hflip: {}}]}"), HasSubstr("{name: {options}}"));
  EXPECT_THAT(message("{steps: [hflip], resize: {size: 3}}"), HasSubstr("put it into the list"));
  EXPECT_THAT(message("{preset: none, steps: []}"), HasSubstr("both"));
  EXPECT_THAT(message("{steps: [{gaussian_blur: {kernel_size: 22}}]}"), HasSubstr("give an odd number such as 23"));
  EXPECT_THAT(message("{steps: [{color_jitter: {hue: 0.6}}]}"), HasSubstr("r.yaml:1"));
  EXPECT_THAT(message("{steps: [{color_jitter: {brightness: -1}}]}"), HasSubstr(">= 0"));
  EXPECT_THAT(message("{steps: [{resize: {size: 0}}]}"), HasSubstr("[1, 8192]"));
  EXPECT_THAT(message("{steps: [{random_resized_crop: {scale: [1, 0.5]}}]}"), HasSubstr("low <= high"));
  EXPECT_THAT(message("{preset: none, normalize: {mean: [0.1, 0.2]}}"), HasSubstr("1 or 3 values"));
  EXPECT_THAT(message("{preset: none, normalize: {std: [0]}}"), HasSubstr("normalize: std"));
  EXPECT_THROW(read_views(Config()).make({}, {}), Error);
}

TEST(ViewPipeline, WritesPlanarNormalisedFloats) {
  const ViewPipeline views = pipeline("{preset: none, normalize: {mean: [0.1, 0.2, 0.3], std: [0.5, 1, 2]}}");
  Image image{1, 2, 3, {0, 51, 102, 153, 204, 255}};
  std::vector<float> out(6);
  write_view(views, image, sample_key(0), {3, 1, 2, out.data()});
  const std::vector<float> expected = {-0.2f, 1.0f, 0.0f, 0.6f, 0.05f, 0.35f};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(out[i], expected[i], 1e-6);
}

TEST(ViewPipeline, OneConstantServesAllChannels) {
  std::vector<float> out(3);
  const Image image{1, 1, 3, {0, 255, 51}};
  write_view(pipeline("none"), image, sample_key(0), {3, 1, 1, out.data()});
  EXPECT_FLOAT_EQ(out[0], -2);
  EXPECT_FLOAT_EQ(out[1], 2);
  EXPECT_FLOAT_EQ(out[2], -1.2f);
}

TEST(ViewPipeline, AnotherSizeThanExpectedIsADataErrorWithBoth) {
  std::vector<float> out(32 * 32 * 3);
  const Image low = noise_image(31, 32, 3), grey = noise_image(32, 32, 1);
  const std::string message = data_error_of([&] { write_view(pipeline("none"), low, sample_key(0), {3, 32, 32, out.data()}); });
  for (const char* part : {"31 x 32", "32 x 32", "resize"}) EXPECT_THAT(message, HasSubstr(part));
  EXPECT_THROW(write_view(pipeline("none"), grey, sample_key(0), {3, 32, 32, out.data()}), Error);
}

TEST(ViewPipeline, ViewsAndOccurrencesDiffer) {
  const ViewPipeline views = pipeline("sim32");
  const Image image = noise_image(32, 32, 3);
  RngKey first = sample_key(1), second = first, third = first;
  second.view = 1;
  third.occurrence = 1;
  EXPECT_FALSE(views.apply(image, first) == views.apply(image, second));
  EXPECT_FALSE(views.apply(image, first) == views.apply(image, third));
}

TEST(ViewPipeline, EqualStepsAtOtherPositionsDrawIndependently) {
  const ViewPipeline views = pipeline("{steps: [hflip, hflip]}");
  const Image image = noise_image(4, 4, 3);
  int mirrored = 0;
  for (uint64_t sample = 0; sample < 400; ++sample) mirrored += !(views.apply(image, sample_key(sample)) == image);
  EXPECT_NEAR(mirrored, 200, 60);  // 0 if both drew the same coin
}

TEST(ViewPipeline, SaysWhetherAStepLeavesRgb) {
  EXPECT_TRUE(chosen("{preset: cmc_lab}").leaves_rgb());
  EXPECT_TRUE(chosen("{steps: [rgb_to_ycbcr, {random_horizontal_flip: {p: 1}}]}").leaves_rgb());
  EXPECT_FALSE(chosen("{preset: sim32}").leaves_rgb());
  EXPECT_FALSE(chosen("{steps: []}").leaves_rgb());
}

// What views need of an image, and at which size.

// Crops of all of a 375 x 500 image, to size x size.
ViewPipeline all_of_it(int size) {
  return pipeline("{steps: [{random_resized_crop: {scale: [1, 1], ratio: [1.3333333333333333, 1.3333333333333333], size: " +
                  std::to_string(size) + "}}]}");
}

RngKey key(uint64_t sample) { return {.domain = RngDomain::kViews, .seed = 1, .sample = sample}; }

// Of the views `first` to `last` - 1 of an image of 375 x 500.
ImageRegion region_of(const ViewPipeline& views, RngKey key, int first, int last, int largest_denominator) {
  std::vector<ViewPlan> plans(last - first);
  for (int view = first; view < last; ++view) {
    key.view = static_cast<uint16_t>(view);
    views.draw(375, 500, key, plans[view - first]);
  }
  return views.region(plans, largest_denominator);
}

void expect_box(const Box& box, const Box& expected) {
  EXPECT_EQ(box.top, expected.top);
  EXPECT_EQ(box.left, expected.left);
  EXPECT_EQ(box.height, expected.height);
  EXPECT_EQ(box.width, expected.width);
}

TEST(ReducedBox, HasEachEdgeAtTheNearestLine) {
  expect_box(reduced({3, 5, 10, 9}, 1), {3, 5, 10, 9});
  expect_box(reduced({3, 5, 10, 9}, 2), {2, 3, 5, 4});       // 1.5 to 6.5, 2.5 to 7
  expect_box(reduced({3, 5, 10, 9}, 4), {1, 1, 2, 3});       // 0.75 to 3.25, 1.25 to 3.5
  expect_box(reduced({0, 0, 375, 500}, 8), {0, 0, 47, 63});  // to 46.875, to 62.5
  expect_box(reduced({0, 0, 371, 499}, 8), {0, 0, 46, 62});  // to 46.375, to 62.375
}

TEST(ViewRegion, IsReducedAsFarAsTheCropKeepsTheSizeOfTheView) {
  for (const auto& [size, denominator] : std::vector<std::pair<int, int>>{
           {32, 8}, {47, 8}, {48, 4}, {94, 4}, {95, 2}, {188, 2}, {189, 1}, {375, 1}, {600, 1}}) {  // 47, 94, 188 and 375 rows
    const ImageRegion region = region_of(all_of_it(size), key(1), 0, 2, 8);
    EXPECT_EQ(region.denominator, denominator) << size;
    expect_box(region.box, reduced({0, 0, 375, 500}, denominator));
  }
  EXPECT_EQ(region_of(all_of_it(32), key(1), 0, 2, 1).denominator, 1);
  EXPECT_EQ(region_of(all_of_it(32), key(1), 0, 2, 2).denominator, 2);
}

TEST(ViewRegion, OfAPhotographIsNeverReducedForSim224AndNearlyAlwaysForSim32) {
  const ViewPipeline large = pipeline("sim224"), small = pipeline("sim32");
  int reduced_ones = 0;
  for (uint64_t sample = 0; sample < 1000; ++sample) {
    EXPECT_EQ(region_of(large, key(sample), 0, 2, 8).denominator, 1);
    reduced_ones += region_of(small, key(sample), 0, 2, 8).denominator > 1 ? 1 : 0;
  }
  EXPECT_GE(reduced_ones, 990);
}

TEST(ViewRegion, HoldsTheCropsOfAllViewsAndNoMore) {
  const ViewPipeline views = pipeline("sim32");
  for (uint64_t sample = 0; sample < 200; ++sample) {
    const ImageRegion first = region_of(views, key(sample), 0, 1, 8), second = region_of(views, key(sample), 1, 2, 8);
    const ImageRegion both = region_of(views, key(sample), 0, 2, 8);
    EXPECT_EQ(both.denominator, std::min(first.denominator, second.denominator));
    const Box a = region_of(views, key(sample), 0, 1, 1).box, b = region_of(views, key(sample), 1, 2, 1).box;
    const int top = std::min(a.top, b.top), left = std::min(a.left, b.left);
    const int bottom = std::max(a.top + a.height, b.top + b.height), right = std::max(a.left + a.width, b.left + b.width);
    expect_box(both.box, reduced({top, left, bottom - top, right - left}, both.denominator));
  }
}

TEST(ViewRegion, IsTheWholeImageWhereTheFirstStepIsNoRandomResizedCrop) {
  for (const char* steps :
       {"none", "{steps: [{resize: {size: 8}}, {random_resized_crop: {size: 8}}]}",
        "{steps: [{random_horizontal_flip: {p: 1}}, {random_resized_crop: {size: 8}}]}", "{steps: [{random_crop: {size: 8}}]}"}) {
    const ImageRegion region = region_of(pipeline(steps), key(1), 0, 2, 8);
    EXPECT_EQ(region.denominator, 1) << steps;
    expect_box(region.box, {0, 0, 375, 500});
  }
}

TEST(ViewRegion, IsThatOfTheFirstStepThatActs) {
  const ViewPipeline behind = pipeline("{steps: [{random_horizontal_flip: {p: 0}}, {random_resized_crop: {size: 8, scale: [0.1, 0.2]}}]}");
  const ImageRegion region = region_of(behind, key(1), 0, 1, 8);
  EXPECT_GT(region.denominator, 1);
  ViewPlan plan;
  behind.draw(375, 500, key(1), plan);
  EXPECT_FALSE(plan.steps.front().acts);
  expect_box(region.box, reduced(plan.steps.back().box, region.denominator));
}

TEST(ViewPlan, OfAnotherImageOrPipelineIsRefused) {
  const ViewPipeline views = pipeline("sim32"), others = pipeline("crop4");
  const Image image = noise_image(40, 40, 3);
  ViewPlan plan;
  views.draw(40, 41, key(1), plan);
  ViewFrame frame;
  std::vector<float> values(3 * 32 * 32);
  const ViewTarget target = {3, 32, 32, values.data()};
  EXPECT_THROW(views.write(whole(image), plan, frame, target), std::logic_error);
  others.draw(40, 40, key(1), plan);
  EXPECT_THROW(views.write(whole(image), plan, frame, target), std::logic_error);
}

// Of an image reduced by averaging: the crop sees the same place.
TEST(ViewRegion, TheViewOfAReducedImageIsThatOfTheImage) {
  const int height = 240, width = 320;
  for (const int denominator : {2, 4, 8}) {
    Image image{height, width, 3, {}}, small{height / denominator, width / denominator, 3, {}};
    const auto value = [&](double y, double x, int c) { return c == 0 ? y : c == 1 ? x * 0.75 : 240 - y; };
    for (Image* each : {&image, &small}) {
      const double step = each == &image ? 1 : denominator;
      for (int y = 0; y < each->height; ++y) {
        for (int x = 0; x < each->width; ++x) {
          for (int c = 0; c < 3; ++c) each->pixels.push_back(static_cast<uint8_t>(value((y + 0.5) * step, (x + 0.5) * step, c)));
        }
      }
    }
    const ViewPipeline views = pipeline("{steps: [{random_resized_crop: {size: 8}}, {random_horizontal_flip: {}}]}");
    for (uint64_t sample = 0; sample < 20; ++sample) {
      const ImagePart part{small.pixels.data(), 3, {{0, 0, small.height, small.width}, denominator}, height, width};
      const Image exact = views.apply(image, key(sample)), scaled = views.apply(part, key(sample));
      for (size_t i = 0; i < exact.pixels.size(); ++i) EXPECT_NEAR(scaled.pixels[i], exact.pixels[i], denominator / 2.0 + 1.5);
    }
  }
}

}  // namespace view_pipeline_test
}  // namespace debias

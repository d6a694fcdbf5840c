// What views need of an image, and at which size.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "tests/image/test_images.h"

namespace debias {
namespace view_region_test {

ViewPipeline pipeline(const std::string& yaml) { return read_views(parse_yaml(yaml, "r.yaml")).make({0.5}, {0.5}); }

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

}  // namespace view_region_test
}  // namespace debias

#include "debias/evaluate/eval_views.h"

#include <gtest/gtest.h>

#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace eval_views_test {

using Size = std::pair<int, int>;

DatasetInfo info() { return ToyDataset(4, 2).info(); }

ChosenViews chosen(const std::string& yaml) { return read_views(options(yaml), {"count"}); }

TEST(EvalViews, AreTheImageAsItIsNormalisedAsInTraining) {
  const ViewPipeline views = eval_views(chosen("{preset: sim32, count: 2}"), info());
  EXPECT_EQ(views.output_size(6, 7), Size(6, 7));
  EXPECT_EQ(views.mean(), std::vector<double>{0.5});
  EXPECT_EQ(views.std(), std::vector<double>{0.25});
}

TEST(EvalViews, TakeTheRecipesNormalisation) {
  EXPECT_EQ(eval_views(chosen("{preset: sim32, normalize: {mean: [0.1], std: [0.2]}}"), info()).mean(), std::vector<double>{0.1});
  EXPECT_EQ(eval_views(chosen("{normalize: {mean: [0.1], std: [0.2]}, eval: {preset: none, normalize: {mean: [0.3]}}}"), info()).mean(),
            std::vector<double>{0.3});
}

TEST(EvalViews, TakeASectionOfTheirOwn) {
  EXPECT_EQ(eval_views(chosen("{eval: {resize: {size: 12}, center_crop: {size: 8}}}"), info()).output_size(6, 9), Size(8, 8));
  EXPECT_EQ(eval_views(chosen("{eval: {steps: [{resize: {size: [5, 4]}}]}}"), info()).output_size(6, 9), Size(5, 4));
  EXPECT_EQ(eval_views(chosen("{eval: none}"), info()).output_size(6, 9), Size(6, 9));
  EXPECT_EQ(eval_views(chosen("{normalize: {mean: [0.1], std: [0.2]}, eval: {resize: {size: 12}}}"), info()).std(),
            std::vector<double>{0.2});
}

TEST(EvalViews, RefuseUnknownStepsByName) {
  EXPECT_NE(usage_error_of([] { eval_views(chosen("{eval: {resise: {size: 12}}}"), info()); }).find("did you mean 'resize'"),
            std::string::npos);
  EXPECT_NE(usage_error_of([] { eval_views(chosen("{eval: [1]}"), info()); }).find("views: eval"), std::string::npos);
}

Config steps_by_default(const std::string& views, int height, int width) {
  DatasetInfo images = info();
  images.height = height;
  images.width = width;
  return default_eval_views(chosen(views), images).section;
}

TEST(DefaultEvalViews, AreTheImageAsItIsWhereTrainingKeepsItsSize) {
  for (const char* views : {"{preset: sim32}", "{preset: none}", "{preset: crop4}"}) {
    EXPECT_EQ(steps_by_default(views, 32, 32), Config::string("eval")) << views;
  }
  EXPECT_EQ(steps_by_default("{preset: none}", 0, 0), Config::string("eval"));
}

TEST(DefaultEvalViews, BringImagesToTheSizeThatTheNetworkSaw) {
  const auto short_side = [](const std::string& size) {
    return options("{steps: [{resize: {size: 32}}, {center_crop: {size: " + size + "}}]}");
  };
  EXPECT_EQ(steps_by_default("{preset: sim32}", 0, 0), short_side("32"));
  EXPECT_EQ(steps_by_default("{preset: sim32}", 96, 96), short_side("32"));
  EXPECT_EQ(steps_by_default("{preset: sim32, random_resized_crop: {size: [24, 32]}}", 0, 0), short_side("[24, 32]"));
  EXPECT_EQ(steps_by_default("{preset: crop4}", 0, 0), short_side("32"));
}

TEST(DefaultEvalViews, KeepALeadingResizeThatIsLargeEnoughAndTheColourSpace) {
  EXPECT_EQ(steps_by_default("{preset: in100}", 0, 0), options("{steps: [{resize: {size: 256}}, {center_crop: {size: 224}}]}"));
  EXPECT_EQ(steps_by_default("{preset: bf}", 0, 0), options("{steps: [{resize: {size: [224, 224]}}]}"));
  EXPECT_EQ(steps_by_default("{steps: [{resize: {size: 20}}, {random_crop: {size: 32, padding: 8}}]}", 0, 0),
            options("{steps: [{resize: {size: 32}}, {center_crop: {size: 32}}]}"));
  EXPECT_EQ(steps_by_default("{preset: cmc}", 224, 224), options("{steps: [{rgb_to_lab: {}}]}"));
  EXPECT_EQ(steps_by_default("{preset: cmc_ycbcr}", 224, 224), options("{steps: [{rgb_to_ycbcr: {}}]}"));
}

TEST(TrainingViews, LeaveOutWhatTheSectionSaysToOthers) {
  const ViewPipeline views =
      read_views(options("{preset: lin32, count: 2, forward: joint, noise: 0.1, eval: {resize: {size: 4}}}"), {"count", "forward", "noise"})
          .make(info().mean, info().std);
  EXPECT_EQ(views.output_size(6, 7), Size(32, 32));
}

TEST(CropFlipViews, KeepTheSizeOfTheEvalViews) {
  EXPECT_EQ(crop_flip_views(chosen("{preset: sim32}"), info()).output_size(6, 6), Size(6, 6));
  EXPECT_EQ(crop_flip_views(chosen("{preset: sim32, eval: {resize: {size: [10, 8]}}}"), info()).output_size(6, 6), Size(10, 8));
  DatasetInfo several = info();
  several.height = several.width = 0;
  EXPECT_EQ(crop_flip_views(chosen("{eval: {resize: {size: 12}, center_crop: {size: 8}}}"), several).output_size(6, 9), Size(8, 8));
  EXPECT_NE(usage_error_of([&] { crop_flip_views(ChosenViews(), several); }).find("give the recipe views.eval"), std::string::npos);
}

TEST(CropFlipViews, KeepTheColourSpaceOfTheTrainingViews) {
  const auto last_step = [](const std::string& views) {
    return crop_flip_views(chosen(views), info()).config().find("steps")->items().back().entries().front().first;
  };
  EXPECT_EQ(last_step("{preset: cmc, eval: {steps: [rgb_to_lab]}}"), "rgb_to_lab");
  EXPECT_EQ(last_step("{preset: cmc_ycbcr}"), "rgb_to_ycbcr");
  EXPECT_EQ(last_step("{preset: sim32}"), "random_horizontal_flip");
}

}  // namespace eval_views_test
}  // namespace debias

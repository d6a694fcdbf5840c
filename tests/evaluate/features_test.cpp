#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "debias/core/npy.h"
#include "debias/evaluate/embedding_file.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "tests/evaluate/toy.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace features_test {

using testing::HasSubstr;

Features extract(ToyEncoder& encoder, std::shared_ptr<const Dataset> dataset, const ExtractOptions& extract_options) {
  return extract_features(encoder, dataset, eval_views(ChosenViews(), dataset->info()), extract_options, Progress::silent());
}

ExtractOptions batches_of(int64_t size) { return ExtractOptions{.batch_size = size, .workers = 0}; }

TEST(ExtractFeatures, ComeInTheDataSetsOrderWithTheirLabels) {
  const auto data = std::make_shared<ToyDataset>(10, 3);
  data->set_bias(4, 2);
  ToyEncoder encoder;
  const Features features = extract(encoder, data, batches_of(4));
  ASSERT_EQ(features.values.sizes(), at::IntArrayRef({10, 6}));
  EXPECT_TRUE(encoder.channels_last);
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(features.indices[i], i);
    EXPECT_EQ(features.labels[i], i % 3);
    EXPECT_EQ(features.biases[i], i == 4 ? 2 : kUnknown);
    // Running averages 0 and 1: the feature is the mean of (pixel / 255 - 0.5) / 0.25, largest in the channel of the class.
    EXPECT_EQ(features.values[i].narrow(0, 0, 3).argmax().item<int64_t>(), i % 3);
  }
  const auto pixels = data->get(7).image.pixels;
  double mean = 0;
  for (size_t p = 0; p < pixels.size(); p += 3) mean += (pixels[p] / 255.0 - 0.5) / 0.25 / 36;
  EXPECT_NEAR(features.values[7][0].item<double>(), mean, 1e-4);  // BatchNorm adds 1e-5 to the variance
}

TEST(ExtractFeatures, AreTheSameBytesForAnyWorkersAndBatchSize) {
  const auto data = std::make_shared<ToyDataset>(37, 3);
  ToyEncoder encoder;
  const at::Tensor expected = extract(encoder, data, batches_of(8)).values;
  EXPECT_TRUE(at::equal(extract(encoder, data, ExtractOptions{.batch_size = 8, .workers = 2}).values, expected));
  EXPECT_TRUE(at::allclose(extract(encoder, data, batches_of(37)).values, expected, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(extract(encoder, data, batches_of(1)).values, expected, 1e-5, 1e-6));
}

TEST(ExtractFeatures, LeaveOutWhatCannotBeReadWhereAsked) {
  const auto data = std::make_shared<ToyDataset>(10, 3);
  ToyEncoder encoder;
  const at::Tensor whole = extract(encoder, data, batches_of(4)).values;
  data->break_image(5);
  EXPECT_THROW(extract(encoder, data, batches_of(4)), Error);
  for (const int64_t workers : {0, 2}) {
    const Features features = extract(encoder, data, ExtractOptions{.batch_size = 4, .workers = workers, .on_error = OnError::kSubstitute});
    EXPECT_EQ(features.unreadable, 1);
    EXPECT_EQ(features.indices, (std::vector<int64_t>{0, 1, 2, 3, 4, 6, 7, 8, 9}));
    EXPECT_EQ(features.labels, (std::vector<int64_t>{0, 1, 2, 0, 1, 0, 1, 2, 0}));
    EXPECT_EQ(features.biases.size(), 9u);
    EXPECT_TRUE(at::equal(features.values, at::cat({whole.narrow(0, 0, 5), whole.narrow(0, 6, 4)})));
  }
}

TEST(ExtractFeatures, UseEvalModeAndRestoreTheModesOfSubmodules) {
  const auto data = std::make_shared<ToyDataset>(10, 3);
  ToyEncoder encoder;
  encoder.train();
  encoder.bn().train(false);
  const at::Tensor average = encoder.bn().running_mean.clone();
  extract(encoder, data, batches_of(4));
  EXPECT_FALSE(encoder.saw_training);
  EXPECT_TRUE(encoder.is_training());
  EXPECT_FALSE(encoder.bn().is_training());
  EXPECT_TRUE(at::equal(encoder.bn().running_mean, average));
}

TEST(ExtractFeatures, RestoreTheModesAfterAFailureToo) {
  const auto data = std::make_shared<ToyDataset>(10, 3);
  data->break_image(9);
  ToyEncoder encoder;
  encoder.train();
  EXPECT_THAT(data_error_of([&] { extract(encoder, data, batches_of(4)); }), HasSubstr("toy/9.png: truncated"));
  EXPECT_TRUE(encoder.is_training());
}

TEST(ExtractFeatures, ThatAreNotFiniteNameTheFirstSample) {
  const auto data = std::make_shared<ToyDataset>(10, 3, "test");
  ToyEncoder encoder;
  encoder.poison = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      error_of(ErrorKind::kNumeric, [&] { extract(encoder, data, batches_of(4)); }),
      "features of toy test: the feature of sample 0 of test (toy/0.png) is not finite; the encoder's weights are damaged or diverged");
}

TEST(RequireFinite, NamesTheFirstBadRowByItsPlaceInTheDataSet) {
  const ToyDataset data(10, 3);
  at::Tensor rows = at::zeros({3, 2});
  EXPECT_NO_THROW(require_finite(rows, {5, 8, 2}, data, "x"));
  rows[1][1] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of(ErrorKind::kNumeric,
                       [&] {
                         require_finite(rows, {5, 8, 2}, data, "x");
                       }),
              HasSubstr("sample 8 of train (toy/8.png)"));
}

TEST(ExtractFeatures, OfAnEmptySetAreRefused) {
  ToyEncoder encoder;
  EXPECT_EQ(data_error_of([&] { extract(encoder, std::make_shared<ToyDataset>(0, 3), batches_of(4)); }),
            "features of toy train: the data set is empty");
}

// A convolution is what autocast lowers; its features agree to the 8 bits of a bf16 mantissa and are float32 again.
class ConvolvingEncoder : public Encoder {
 public:
  ConvolvingEncoder() { weight_ = register_parameter("weight", at::linspace(-1, 1, 8 * 3).view({8, 3, 1, 1}).contiguous()); }
  torch::Tensor forward(const torch::Tensor& images) override { return at::conv2d(images, weight_).mean({2, 3}); }
  int64_t feature_dim() const override { return 8; }
  std::string registry_name() const override { return "convolving"; }

 private:
  at::Tensor weight_;
};

TEST(ExtractFeatures, InBf16AgreeToItsPrecision) {
  const auto data = std::make_shared<ToyDataset>(10, 3);
  ConvolvingEncoder encoder;
  const ViewPipeline views = eval_views(ChosenViews(), data->info());
  const at::Tensor full = extract_features(encoder, data, views, batches_of(4), Progress::silent()).values;
  const at::Tensor half = extract_features(encoder, data, views,
                                           ExtractOptions{.batch_size = 4, .workers = 0, .precision = Precision::kBf16}, Progress::silent())
                              .values;
  EXPECT_EQ(half.scalar_type(), at::kFloat);
  EXPECT_FALSE(at::equal(full, half));
  EXPECT_TRUE(at::allclose(full, half, 2e-2, 2e-2));
  EXPECT_TRUE(at::equal(extract_features(encoder, data, views, batches_of(4), Progress::silent()).values, full));  // autocast is off again
}

TEST(EncoderGuard, PutsBackBuffersAndModes) {
  ToyEncoder encoder;
  encoder.eval();
  {
    const EncoderGuard guard(encoder);
    encoder.train();
    encoder.forward(at::ones({4, 3, 2, 2}));
    EXPECT_NE(encoder.bn().running_mean[0].item<float>(), 0);
  }
  EXPECT_EQ(encoder.bn().running_mean[0].item<float>(), 0);
  EXPECT_EQ(encoder.bn().num_batches_tracked.item<int64_t>(), 0);
  EXPECT_FALSE(encoder.bn().is_training());
}

class NamedDataset : public ToyDataset {
 public:
  NamedDataset() : ToyDataset(4, 2) {}
  std::string source(int64_t index) const override {
    return std::vector<std::string>{"plain.png", "a, b.png", "say \"x\".png", "two\nlines.png"}[index];
  }
};

class EmbeddingFile : public testing::Test {
 protected:
  EmbeddingFile() {
    features_.values = at::tensor({0.1f, -2.f, 1e-20f, 3.f, 16777216.f, 0.333333343f}).view({3, 2});
    features_.labels = {1, 0, kUnknown};
    features_.indices = {1, 3, 2};
  }

  std::string text(const std::string& name) const { return file_text(folder_ / name); }

  TemporaryFolder folder_;
  NamedDataset dataset_;
  Features features_;
};

TEST_F(EmbeddingFile, CsvQuotesNamesAndKeepsEveryBitOfANumber) {
  EXPECT_EQ(write_embeddings(folder_ / "e.csv", features_, dataset_), std::vector<std::string>{folder_ / "e.csv"});
  EXPECT_EQ(text("e.csv"),
            "filenames,embedding_0,embedding_1,labels\n"
            "\"a, b.png\",0.1,-2,1\n"
            "\"two\nlines.png\",1e-20,3,0\n"
            "\"say \"\"x\"\".png\",16777216,0.33333334,-1\n");
}

TEST_F(EmbeddingFile, NpyHasASidecarAndAnExtensionMayBeLeftOut) {
  const std::vector<std::string> both = {folder_ / "v1.2.npy", folder_ / "v1.2.csv"};
  EXPECT_EQ(embedding_paths(folder_ / "v1.2.npy"), both);
  EXPECT_EQ(write_embeddings(folder_ / "v1.2", features_, dataset_), both);
  EXPECT_EQ(text("v1.2.csv"), "filenames,labels\n\"a, b.png\",1\n\"two\nlines.png\",0\n\"say \"\"x\"\".png\",-1\n");
  const NpyArray array = read_npy(both[0]);
  EXPECT_EQ(array.dtype, DType::kFloat32);
  EXPECT_EQ(array.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(array.as<float>()[4], 16777216.f);
}

TEST_F(EmbeddingFile, AnExistingFileIsReplaced) {
  std::ofstream(folder_ / "e.csv") << std::string(10000, 'x');
  write_embeddings(folder_ / "e.csv", features_, dataset_);
  EXPECT_EQ(text("e.csv").find('x'), text("e.csv").find("x\"\".png"));
}

TEST(CsvField, TextThatASpreadsheetWouldRunHasAQuoteBeforeIt) {
  for (const char* formula : {"=1+1", "+1+1", "-1+1", "@SUM(A1)", "=", "-", "-inf"}) {
    EXPECT_EQ(csv_field(formula, CsvCells::kGuarded), std::string("'") + formula);
    EXPECT_EQ(csv_field(formula, CsvCells::kRaw), formula);
  }
  EXPECT_EQ(csv_field("\t=1", CsvCells::kGuarded), "'\t=1");
  EXPECT_EQ(csv_field("\r=1", CsvCells::kGuarded), "\"'\r=1\"");
  EXPECT_EQ(csv_field("=\"a\",b", CsvCells::kGuarded), "\"'=\"\"a\"\",b\"");
  for (const char* kept : {"", "-1", "-1e-3", "a=1", "cat", "'=1"}) EXPECT_EQ(csv_field(kept, CsvCells::kGuarded), kept);
}

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
  EXPECT_THAT(usage_error_of([] { eval_views(chosen("{eval: {resise: {size: 12}}}"), info()); }), HasSubstr("did you mean 'resize'"));
  EXPECT_THAT(usage_error_of([] { eval_views(chosen("{eval: [1]}"), info()); }), HasSubstr("views: eval"));
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
  EXPECT_THAT(usage_error_of([&] { crop_flip_views(ChosenViews(), several); }), HasSubstr("give the recipe views.eval"));
}

TEST(CropFlipViews, KeepTheColourSpaceOfTheTrainingViews) {
  const auto last_step = [](const std::string& views) {
    return crop_flip_views(chosen(views), info()).config().find("steps")->items().back().entries().front().first;
  };
  EXPECT_EQ(last_step("{preset: cmc, eval: {steps: [rgb_to_lab]}}"), "rgb_to_lab");
  EXPECT_EQ(last_step("{preset: cmc_ycbcr}"), "rgb_to_ycbcr");
  EXPECT_EQ(last_step("{preset: sim32}"), "random_horizontal_flip");
}

}  // namespace features_test
}  // namespace debias

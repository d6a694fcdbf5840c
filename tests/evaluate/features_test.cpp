#include "debias/evaluate/features.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "debias/evaluate/encoder_guard.h"
#include "debias/evaluate/eval_views.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace features_test {

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
  EXPECT_NE(data_error_of([&] { extract(encoder, data, batches_of(4)); }).find("toy/9.png: truncated"), std::string::npos);
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
  EXPECT_NE(error_of(ErrorKind::kNumeric,
                     [&] {
                       require_finite(rows, {5, 8, 2}, data, "x");
                     })
                .find("sample 8 of train (toy/8.png)"),
            std::string::npos);
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

}  // namespace features_test
}  // namespace debias

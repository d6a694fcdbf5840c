// Views of JPEG files of which only what they need is decoded, at their own or a reduced size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "debias/data/readers/image_files.h"
#include "tests/data/fixture_files.h"
#include "tests/loader/fake_dataset.h"
#include "tests/support/refusals.h"

namespace debias {
namespace regions_test {

constexpr int64_t kImages = 25;
constexpr int kHeight = 180, kWidth = 240;
const char* const kCrops = "{steps: [{random_resized_crop: {size: 16}}, {random_horizontal_flip: {}}], normalize: {mean: [0], std: [1]}}";

Image wavy(uint64_t seed) {
  Image image{kHeight, kWidth, 3, {}};
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave = std::sin(0.03 * x + 0.02 * y + c + static_cast<double>(seed)) + std::cos(0.04 * y - 0.01 * x);
        image.pixels.push_back(static_cast<uint8_t>(128 + 60 * wave));
      }
    }
  }
  return image;
}

// Files, and how much of them is decoded.
class Files : public Dataset {
 public:
  Files(const std::string& root, const std::vector<ImageFile>& files) : files_({}, root, files) {}
  const DatasetInfo& info() const override { return files_.info(); }
  int64_t size() const override { return files_.size(); }
  int64_t label(int64_t index) const override { return files_.label(index); }
  std::string source(int64_t index) const override { return files_.source(index); }
  Sample get(int64_t index) const override { return files_.get(index); }
  PartialImage region(int64_t index, const RegionChooser& choose) const override {
    PartialImage part = gives_parts_ ? files_.region(index, choose) : Dataset::region(index, choose);
    pixels_ += static_cast<int64_t>(part.image.pixels.size()) / 3;
    return part;
  }
  int64_t pixels() const { return pixels_; }
  void give_whole_images() { gives_parts_ = false; }

 private:
  ImageFiles files_;
  bool gives_parts_ = true;
  mutable std::atomic<int64_t> pixels_{0};
};

class Regions : public testing::Test {
 protected:
  Regions() {
    for (int64_t i = 0; i < kImages; ++i) {
      const fixture::Bytes bytes = fixture::jpeg(wavy(i));
      fixture::write(path(i), bytes);
      files_.push_back({std::to_string(i) + ".jpg", i % 3, kUnknown, kUnknown});
    }
  }
  std::string path(int64_t i) const { return folder_ / (std::to_string(i) + ".jpg"); }
  std::shared_ptr<Files> data() const { return std::make_shared<Files>(folder_.path(), files_); }

  TemporaryFolder folder_;
  std::vector<ImageFile> files_;
};

LoaderOptions options(int64_t views, int64_t cache, Decode decode = Decode::kExact) {
  return LoaderOptions{
      .batch_size = 4, .views = views, .seed = 7, .noise = views > 1 ? 0.3 : 0, .decode = decode, .cache_megabytes = cache};
}

struct Epochs {
  std::string pixels, keys;  // digests
  int64_t failures = 0;
  std::vector<float> values;
};

// Two epochs; a failing batch counts with its message.
Epochs run(const std::shared_ptr<const Dataset>& data, const std::string& pipeline, const LoaderOptions& options) {
  Loader loader(data, views(pipeline), std::make_shared<ShuffledSampler>(kImages), options);
  Epochs result;
  Sha256 pixels, keys;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    loader.start(epoch);
    for (int64_t number = 0; number < loader.batches_per_epoch(); ++number) {
      try {
        const Batch* batch = loader.next();
        const auto* values = batch->images().const_data_ptr<float>();
        result.values.insert(result.values.end(), values, values + batch->images().numel());
        pixels.update(values, static_cast<size_t>(batch->images().numel()) * sizeof(float));
        for (const auto* column : {&batch->ids, &batch->occurrences, &batch->labels}) {
          keys.update(column->data(), column->size() * sizeof(int64_t));
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
        pixels.update(error.what(), std::string(error.what()).size());
        ++result.failures;
      }
    }
  }
  result.pixels = pixels.hex();
  result.keys = keys.hex();
  return result;
}

TEST_F(Regions, GiveTheBytesOfWholeImages) {
  for (const std::string pipeline : {kCrops, "{steps: [{resize: {size: [9, 9]}}, {random_resized_crop: {size: 8}}]}"}) {
    for (const int64_t count : {1, 2, 3}) {
      const auto whole = data();
      whole->give_whole_images();
      const std::string expected = run(whole, pipeline, options(count, 0)).pixels;
      for (const int64_t cache : {0, 1})
        EXPECT_EQ(run(data(), pipeline,
                      LoaderOptions{
                          .batch_size = 4, .views = count, .workers = 2, .seed = 7, .noise = count > 1 ? 0.3 : 0, .cache_megabytes = cache})
                      .pixels,
                  expected)
            << pipeline;
    }
  }
}

TEST_F(Regions, AreSmallUnlessTheImageIsKept) {
  const auto pixels_read = [&](int64_t cache) {
    const auto files = data();
    run(files, kCrops, options(1, cache));
    return files->pixels();
  };
  constexpr int64_t kAll = kImages * kHeight * kWidth;
  EXPECT_LT(pixels_read(0), 3 * kAll / 2);  // twice, and once more for the shape
  EXPECT_EQ(pixels_read(1000), kAll);
}

// Whether damage is noticed must not hang on which images happened to find room in the cache.
TEST_F(Regions, DamageBelowWhatIsNeededIsPassedOverWithOrWithoutACache) {
  for (int64_t i = 1; i < kImages; i += 3) {
    fixture::Bytes bytes = fixture::jpeg(wavy(i));
    for (size_t k = bytes.size() * 9 / 10; k < bytes.size() - 2; ++k) bytes[k] = 0xff;
    fixture::write(path(i), bytes);
  }
  for (const OnError on_error : {OnError::kStop, OnError::kSubstitute}) {
    const Epochs expected = run(
        data(), kCrops, LoaderOptions{.batch_size = 4, .views = 2, .seed = 7, .noise = 0.3, .on_error = on_error, .cache_megabytes = 0});
    if (on_error == OnError::kStop) {
      EXPECT_GT(expected.failures, 0);
      EXPECT_LT(expected.failures, 2 * kImages / 4);
    }
    for (const int64_t cache : {0, 1, 1000}) {
      for (const int64_t workers : {0, 1, 2}) {
        EXPECT_EQ(run(data(), kCrops,
                      LoaderOptions{.batch_size = 4,
                                    .views = 2,
                                    .workers = workers,
                                    .seed = 7,
                                    .noise = 0.3,
                                    .on_error = on_error,
                                    .cache_megabytes = cache})
                      .pixels,
                  expected.pixels)
            << cache;
      }
    }
  }
}

TEST_F(Regions, ScaledGiveOtherPixelsCloseToTheExactOnesAndTheSameKeys) {
  const Epochs exact = run(data(), kCrops, options(2, 0)), scaled = run(data(), kCrops, options(2, 0, Decode::kScaled));
  EXPECT_NE(scaled.pixels, exact.pixels);
  EXPECT_EQ(scaled.keys, exact.keys);
  ASSERT_EQ(scaled.values.size(), exact.values.size());
  double sum = 0;
  for (size_t i = 0; i < exact.values.size(); ++i) sum += std::abs(scaled.values[i] - exact.values[i]);
  EXPECT_LT(sum / static_cast<double>(exact.values.size()) * 255, 4);  // edges lie up to 4 pixels off, at slopes of 2 a pixel
}

TEST_F(Regions, ScaledAreTheSameForAnyWorkersCacheAndStart) {
  const auto scaled = options(2, 0, Decode::kScaled);
  const std::string expected = run(data(), kCrops, scaled).pixels;
  for (const int64_t workers : {0, 1, 2}) {
    for (const int64_t cache : {0, 1, 1000}) {
      LoaderOptions other = scaled;
      other.workers = workers;
      other.cache_megabytes = cache;
      EXPECT_EQ(run(data(), kCrops, other).pixels, expected) << workers << cache;
    }
  }
  Loader from_the_start(data(), views(kCrops), std::make_shared<ShuffledSampler>(kImages), scaled);
  Loader resumed(data(), views(kCrops), std::make_shared<ShuffledSampler>(kImages), options(2, 1000, Decode::kScaled));
  from_the_start.start(1);
  for (int i = 0; i < 3; ++i) from_the_start.next();
  resumed.start(1, 3);
  const at::Tensor expected_images = from_the_start.next()->images(), images = resumed.next()->images();
  EXPECT_EQ(std::memcmp(expected_images.const_data_ptr(), images.const_data_ptr(), expected_images.nbytes()), 0);
}

TEST_F(Regions, ScaledReadFewerPixels) {
  const auto exact = data(), scaled = data();
  run(exact, kCrops, options(2, 0));
  run(scaled, kCrops, options(2, 0, Decode::kScaled));
  EXPECT_LT(scaled->pixels() - kHeight * kWidth, (exact->pixels() - kHeight * kWidth) / 4);  // but for the shape's
}

TEST_F(Regions, OfPngFilesAndOtherPipelinesAreTheSameScaled) {
  const std::string other = "{steps: [{resize: {size: [9, 9]}}, {random_resized_crop: {size: 8}}]}";
  EXPECT_EQ(run(data(), other, options(2, 1, Decode::kScaled)).pixels, run(data(), other, options(2, 0)).pixels);
  for (int64_t i = 0; i < kImages; ++i) fixture::write(path(i), encode_png(wavy(i)));
  const auto kept = data();
  EXPECT_EQ(run(kept, kCrops, options(2, 1000, Decode::kScaled)).pixels, run(data(), kCrops, options(2, 0)).pixels);
  EXPECT_EQ(kept->pixels(), kImages * kHeight * kWidth);  // kept all the same
}

TEST_F(Regions, OfATruncatedFileEndInTheSameErrorExactAndScaled) {
  fixture::Bytes bytes = fixture::jpeg(wavy(5));
  bytes.resize(bytes.size() - 30);
  fixture::write(path(5), bytes);
  std::set<std::string> messages;
  for (const Decode decode : {Decode::kExact, Decode::kScaled}) {
    for (const int64_t cache : {0, 1000}) {
      Loader loader(data(), views(kCrops), std::make_shared<SequentialSampler>(kImages),
                    LoaderOptions{.batch_size = 1, .views = 1, .seed = 7, .noise = 0, .decode = decode, .cache_megabytes = cache});
      loader.start(0);
      for (int i = 0; i < 5; ++i) loader.next();
      messages.insert(data_error_of([&] { loader.next(); }));
    }
  }
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_THAT(*messages.begin(), testing::HasSubstr("5.jpg: truncated JPEG image: Premature end of JPEG file"));
}

}  // namespace regions_test
}  // namespace debias

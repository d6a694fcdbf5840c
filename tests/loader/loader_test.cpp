// Order, determinism, restarts and the shape of batches.
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "debias/core/error.h"
#include "debias/loader/loader.h"
#include "tests/loader/fake_dataset.h"
#include "tests/support/refusals.h"

namespace debias {
namespace loader_test {

using testing::ElementsAre;
using testing::HasSubstr;

struct Copy {  // of a batch, with its own pixels
  std::vector<float> pixels;
  std::vector<int64_t> sizes, ids, occurrences, labels, biases;
  int64_t epoch, number;
  bool operator==(const Copy&) const = default;
};

std::vector<Copy> read_all(Loader& loader) {
  std::vector<Copy> batches;
  while (const Batch* batch = loader.next()) {
    const float* begin = batch->images().const_data_ptr<float>();
    EXPECT_TRUE(batch->images().is_contiguous());
    batches.push_back({{begin, begin + batch->images().numel()},
                       batch->images().sizes().vec(),
                       batch->ids,
                       batch->occurrences,
                       batch->labels,
                       batch->biases,
                       batch->epoch,
                       batch->number});
  }
  return batches;
}

std::vector<Copy> read_epoch(const LoaderOptions& options, int64_t epoch, int64_t first = 0) {
  const auto data = std::make_shared<FakeDataset>(53);
  Loader loader(data, views("sim32"), std::make_shared<ShuffledSampler>(data->size()), options);
  loader.start(epoch, first);
  return read_all(loader);
}

LoaderOptions base_options() { return LoaderOptions{.batch_size = 8, .views = 2, .seed = 11}; }

TEST(Loader, BytesDoNotDependOnWorkersPrefetchOrCache) {
  const std::vector<Copy> expected = read_epoch(LoaderOptions{.batch_size = 8, .views = 2, .workers = 0, .seed = 11}, 3);
  ASSERT_EQ(expected.size(), 7u);
  for (const int64_t workers : {0, 1, 2, 8}) {
    for (const int64_t prefetch : {1, 8}) {
      for (const int64_t cache : {0, 64}) {
        EXPECT_TRUE(
            read_epoch(
                LoaderOptions{.batch_size = 8, .views = 2, .workers = workers, .prefetch = prefetch, .seed = 11, .cache_megabytes = cache},
                3) == expected)
            << workers << " workers, prefetch " << prefetch << ", cache " << cache;
      }
    }
  }
}

// What a network in bfloat16 and with channels last wants, without a copy.
TEST(Loader, ViewsLieAsTheyAreAskedFor) {
  const auto data = std::make_shared<FakeDataset>(53);
  const auto first_batch = [&](const LoaderOptions& options) {
    Loader loader(data, views("sim32"), std::make_shared<ShuffledSampler>(53), options);
    loader.start(0);
    return loader.next()->images().clone();
  };
  const at::Tensor plain = first_batch(base_options());
  EXPECT_TRUE(plain.is_contiguous());
  for (const auto type : {ViewTarget::Type::kFloat32, ViewTarget::Type::kBfloat16}) {
    for (const int64_t workers : {0, 2}) {
      const at::Tensor asked = first_batch(LoaderOptions{
          .batch_size = 8, .views = 2, .workers = workers, .seed = 11, .order = ViewTarget::Order::kChannelsLast, .type = type});
      EXPECT_EQ(asked.sizes(), plain.sizes());
      EXPECT_TRUE(asked[1].is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_TRUE(asked.narrow(1, 2, 3)[0].is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_TRUE(asked.flatten(0, 1).is_contiguous(at::MemoryFormat::ChannelsLast));
      EXPECT_EQ(asked.scalar_type(), type == ViewTarget::Type::kFloat32 ? at::kFloat : at::kBFloat16);
      EXPECT_TRUE(asked.equal(plain.to(asked.scalar_type())));
    }
  }
}

TEST(Loader, AStartInTheMiddleGivesTheRestOfTheEpoch) {
  const std::vector<Copy> whole = read_epoch(LoaderOptions{.batch_size = 8, .views = 2, .workers = 2, .seed = 11}, 3);
  for (const int64_t first : {1, 6, 7}) {
    const std::vector<Copy> rest = read_epoch(LoaderOptions{.batch_size = 8, .views = 2, .workers = 2, .seed = 11}, 3, first);
    EXPECT_TRUE(rest == std::vector<Copy>(whole.begin() + first, whole.end())) << first;
  }
  EXPECT_THROW(read_epoch(base_options(), 3, 8), Error);
}

TEST(Loader, ARestartAbandonsWhatWasUnderWay) {
  const auto data = std::make_shared<FakeDataset>(53);
  for (const int64_t workers : {0, 3}) {
    Loader loader(data, views("sim32"), std::make_shared<ShuffledSampler>(53),
                  LoaderOptions{.batch_size = 8, .views = 2, .workers = workers, .prefetch = 3, .seed = 11});
    const std::vector<Copy> expected = read_epoch(base_options(), 5);
    for (int i = 0; i < 20; ++i) {
      loader.start(i);
      for (int k = 0; k < i % 4; ++k) loader.next();
    }
    loader.start(5);
    EXPECT_TRUE(read_all(loader) == expected);
    EXPECT_EQ(loader.next(), nullptr);
  }
}

TEST(Loader, SeedsAndEpochsGiveOtherViewsOfTheSameOrder) {
  const auto data = std::make_shared<FakeDataset>(8);
  const auto pixels = [&](uint64_t seed, int64_t epoch) {
    Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(8), LoaderOptions{.batch_size = 8, .views = 2, .seed = seed});
    loader.start(epoch);
    return read_all(loader).front().pixels;
  };
  EXPECT_EQ(pixels(11, 0), pixels(11, 0));
  EXPECT_NE(pixels(11, 0), pixels(11, 1));
  EXPECT_NE(pixels(11, 0), pixels(12, 0));
}

TEST(Loader, EveryImageIsVisitedOnceWithItsOwnLabels) {
  std::set<int64_t> ids;
  for (const Copy& batch : read_epoch(LoaderOptions{.batch_size = 8, .views = 2, .workers = 3, .seed = 11}, 0)) {
    for (size_t i = 0; i < batch.ids.size(); ++i) {
      ids.insert(batch.ids[i]);
      EXPECT_EQ(batch.labels[i], FakeDataset::label_of(batch.ids[i] - FakeDataset::kFirstId));
      EXPECT_EQ(batch.biases[i], FakeDataset::bias_of(batch.ids[i] - FakeDataset::kFirstId));
      EXPECT_EQ(batch.occurrences[i], 0);
    }
  }
  EXPECT_EQ(ids.size(), 53u);
}

TEST(Loader, RowsAreViewMajorAndNormalised) {
  const auto data = std::make_shared<FakeDataset>(5);
  Loader loader(data, views("{preset: none, normalize: {mean: [0.5], std: [0.5]}}"), std::make_shared<SequentialSampler>(5),
                LoaderOptions{.batch_size = 4, .views = 3, .workers = 2});
  EXPECT_THAT(loader.image_shape(), ElementsAre(3, 12, 10));
  loader.start(0);
  for (const int64_t rows : {4, 1}) {
    const Batch* batch = loader.next();
    ASSERT_EQ(batch->images().sizes().vec(), (std::vector<int64_t>{3, rows, 3, 12, 10}));
    const float* value = batch->images().const_data_ptr<float>();
    for (int view = 0; view < 3; ++view) {
      for (int64_t row = 0; row < rows; ++row) {
        const Image image = data->get(batch->indices[row]).image;
        for (int c = 0; c < 3; ++c) {
          for (int i = 0; i < 120; ++i) ASSERT_FLOAT_EQ(*value++, (image.pixels[3 * i + c] / 255.0f - 0.5f) / 0.5f);
        }
      }
    }
  }
}

TEST(Loader, TheLastBatchIsKeptOrDropped) {
  EXPECT_EQ(read_epoch(LoaderOptions{.batch_size = 8, .views = 2, .drop_last = false, .seed = 11}, 0).back().ids.size(), 5u);
  const auto dropped = read_epoch(LoaderOptions{.batch_size = 8, .views = 2, .drop_last = true, .workers = 2, .seed = 11}, 0);
  EXPECT_EQ(dropped.size(), 6u);
  EXPECT_EQ(dropped.back().ids.size(), 8u);
  const auto data = std::make_shared<FakeDataset>(53);
  const auto batches = [&](int64_t size, bool drop) {
    return Loader(data, views("none"), std::make_shared<SequentialSampler>(53), LoaderOptions{.batch_size = size, .drop_last = drop})
        .batches_per_epoch();
  };
  EXPECT_EQ(batches(53, true), 1);
  EXPECT_EQ(batches(8, true), 6);
  EXPECT_EQ(batches(8, false), 7);
  EXPECT_EQ(batches(1000, false), 1);
  EXPECT_THROW(batches(54, true), Error);
}

TEST(Loader, ABatchStaysValidUntilTheNextCall) {
  const auto data = std::make_shared<FakeDataset>(64);
  Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(64),
                LoaderOptions{.batch_size = 8, .views = 2, .workers = 4, .prefetch = 1, .seed = 11});
  loader.start(0);
  while (const Batch* batch = loader.next()) {
    const at::Tensor before = batch->images().clone();
    const auto ids = batch->ids;
    data->wait_for_gets(std::min<int64_t>(64, 8 * (batch->number + 2)));  // by now the workers have filled the other slot
    EXPECT_TRUE(at::equal(before, batch->images()));
    EXPECT_EQ(ids, batch->ids);
  }
}

TEST(Loader, RepeatedSamplesGetOtherViews) {
  const auto data = std::make_shared<FakeDataset>(3);
  Loader loader(data, views("sim32"), std::make_shared<WeightedSampler>(std::vector<double>{1, 1, 1}, 12),
                LoaderOptions{.batch_size = 12, .workers = 2});
  loader.start(0);
  const Batch* batch = loader.next();
  std::set<std::pair<int64_t, int64_t>> visits;
  for (size_t i = 0; i < 12; ++i) {
    visits.insert({batch->ids[i], batch->occurrences[i]});
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(at::equal(batch->images()[0][static_cast<int64_t>(i)], batch->images()[0][static_cast<int64_t>(j)]))
          << i << " and " << j;
    }
  }
  EXPECT_EQ(visits.size(), 12u);
}

TEST(Loader, TheCacheDecodesOnce) {
  for (const int64_t workers : {0, 2}) {
    const auto data = std::make_shared<FakeDataset>(20);
    const auto gets_in_two_epochs = [&](int64_t megabytes) {
      Loader loader(data, views("sim32"), std::make_shared<ShuffledSampler>(20),
                    LoaderOptions{.batch_size = 8, .views = 2, .workers = workers, .seed = 11, .cache_megabytes = megabytes});
      const int64_t before = data->gets();
      for (const int64_t epoch : {0, 1}) {
        loader.start(epoch);
        read_all(loader);
      }
      return data->gets() - before;
    };
    EXPECT_EQ(gets_in_two_epochs(1), 20);
    EXPECT_EQ(gets_in_two_epochs(0), 40);
  }
}

TEST(Loader, UnknownImageSizeIsTakenFromTheFirstImage) {
  const auto data = std::make_shared<FakeDataset>(4);
  data->hide_size();
  const Loader loader(data, views("{steps: [{resize: {size: 6}}]}"), std::make_shared<SequentialSampler>(4),
                      LoaderOptions{.batch_size = 2});
  EXPECT_THAT(loader.image_shape(), ElementsAre(3, 7, 6));
}

TEST(Loader, TimeWaitedGrows) {
  const auto data = std::make_shared<FakeDataset>(16);
  Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(16),
                LoaderOptions{.batch_size = 8, .views = 2, .workers = 0, .seed = 11});
  EXPECT_EQ(loader.seconds_waited(), 0);
  loader.start(0);
  loader.next();
  EXPECT_GT(loader.seconds_waited(), 0);
}

TEST(Loader, OptionsOutOfRangeAreRefused) {
  const auto make = [](const LoaderOptions& options) {
    const Loader loader(std::make_shared<FakeDataset>(4), views("none"), std::make_shared<SequentialSampler>(4), options);
  };
  const auto expect_refused = [&](const LoaderOptions& options) { usage_error_of([&] { make(options); }); };
  EXPECT_NO_THROW(make(LoaderOptions()));
  expect_refused(LoaderOptions{.batch_size = 0});
  expect_refused(LoaderOptions{.views = 0});
  expect_refused(LoaderOptions{.views = 70000});
  expect_refused(LoaderOptions{.workers = -1});
  expect_refused(LoaderOptions{.prefetch = 0});
  expect_refused(LoaderOptions{.prefetch = 1025});
  expect_refused(LoaderOptions{.workers = 1025});
  expect_refused(LoaderOptions{.cache_megabytes = -1});
  expect_refused(LoaderOptions{.noise = 0.1});  // one view
  expect_refused(LoaderOptions{.views = 2, .noise = 1.1});
}

// Failures surface for the batch they belong to, and nothing hangs.

LoaderOptions with_workers(int64_t workers) { return LoaderOptions{.batch_size = 4, .views = 2, .workers = workers, .prefetch = 2}; }

class LoaderFailure : public testing::TestWithParam<int64_t> {};

TEST_P(LoaderFailure, SurfacesForItsBatchAndNamesTheSource) {
  const auto data = std::make_shared<FakeDataset>(20);
  data->break_image(9);
  Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(20), with_workers(GetParam()));
  loader.start(0);
  EXPECT_EQ(loader.next()->number, 0);
  EXPECT_EQ(loader.next()->number, 1);
  EXPECT_EQ(data_error_of([&] { loader.next(); }), "fake/9.png: the checksum does not match");
  EXPECT_EQ(loader.next()->number, 3);  // the loader goes on behind it
  EXPECT_EQ(loader.next()->number, 4);
  EXPECT_EQ(loader.next(), nullptr);
}

TEST_P(LoaderFailure, OfSeveralImagesOfABatchTheFirstIsNamed) {
  const auto data = std::make_shared<FakeDataset>(4);
  for (const int64_t index : {1, 2, 3}) data->break_image(index);
  Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(4), with_workers(GetParam()));
  for (int epoch = 0; epoch < 20; ++epoch) {
    loader.start(epoch);
    EXPECT_THAT(data_error_of([&] { loader.next(); }), HasSubstr("fake/1.png"));
  }
}

TEST_P(LoaderFailure, AnImageOfAnotherSizeIsNamedWithBothSizes) {
  const auto data = std::make_shared<FakeDataset>(8);
  data->resize_image(6);
  Loader loader(data, views("none"), std::make_shared<SequentialSampler>(8), with_workers(GetParam()));
  loader.start(0);
  loader.next();
  const std::string message = data_error_of([&] { loader.next(); });
  for (const char* part : {"fake/6.png", "11 x 10", "12 x 10", "resize"}) EXPECT_THAT(message, HasSubstr(part));
}

TEST_P(LoaderFailure, DestructionInTheMiddleDoesNotHang) {
  const auto data = std::make_shared<FakeDataset>(400);
  for (int taken = 0; taken < 8; ++taken) {
    Loader loader(data, views("sim32"), std::make_shared<ShuffledSampler>(400), with_workers(GetParam()));
    if (taken == 7) continue;  // never started
    loader.start(0);
    for (int i = 0; i < taken; ++i) loader.next();
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, LoaderFailure, testing::Values(0, 1, 4));

TEST(LoaderRefusal, OfTheFirstImageAtConstructionNamesTheSource) {
  const auto data = std::make_shared<FakeDataset>(8);
  data->hide_size();
  data->break_image(0);
  EXPECT_THAT(data_error_of([&] { Loader(data, views("none"), std::make_shared<SequentialSampler>(8), with_workers(1)); }),
              HasSubstr("fake/0.png"));
}

TEST(LoaderRefusal, EmptyDataSetsAndNextBeforeStart) {
  const auto none = std::make_shared<FakeDataset>(0), some = std::make_shared<FakeDataset>(8);
  EXPECT_THROW(Loader(none, views("none"), std::make_shared<SequentialSampler>(0), with_workers(1)), Error);
  Loader loader(some, views("none"), std::make_shared<SequentialSampler>(8), with_workers(1));
  EXPECT_THROW(loader.next(), std::logic_error);
}

}  // namespace loader_test
}  // namespace debias

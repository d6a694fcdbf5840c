// Images that cannot be read, and those that stand in for them.
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "debias/loader/image_reader.h"
#include "tests/loader/fake_dataset.h"
#include "tests/support/refusals.h"

namespace debias {
namespace stand_in_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const char* const kIdentity = "{preset: none, normalize: {mean: [0], std: [1]}}";

LoaderOptions substituting() { return LoaderOptions{.batch_size = 8, .seed = 5, .on_error = OnError::kSubstitute}; }

std::shared_ptr<FakeDataset> data_with_broken(int64_t size, const std::vector<int64_t>& broken) {
  const auto data = std::make_shared<FakeDataset>(size);
  for (const int64_t index : broken) data->break_image(index);
  return data;
}

std::vector<int64_t> every_third(int64_t size) {
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < size; i += 3) indices.push_back(i);
  return indices;
}

std::string failure_of(Loader& loader) {
  return data_error_of([&] {
    while (loader.next() != nullptr) {
    }
  });
}

int64_t shown_in(const Batch& batch, int64_t view, int64_t row) {  // of flat images
  return std::lround(batch.images()[view][row].const_data_ptr<float>()[0] * 255);
}

TEST(StandIn, HasItsOwnPixelsIdAndLabels) {
  const auto data = data_with_broken(8, {5});
  data->make_flat();
  Loader loader(data, views(kIdentity), std::make_shared<SequentialSampler>(8), substituting());
  loader.start(0);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->substituted, 1);
  EXPECT_THAT(batch->unreadable, ElementsAre(Pair(5, "fake/5.png: the checksum does not match")));
  for (int64_t row = 0; row < 8; ++row) {
    const int64_t index = batch->indices[row];
    EXPECT_EQ(index == row, row != 5);
    EXPECT_EQ(shown_in(*batch, 0, row), index);
    EXPECT_EQ(batch->ids[row], data->id(index));
    EXPECT_EQ(batch->labels[row], data->label(index));
    EXPECT_EQ(batch->biases[row], data->bias(index));
  }
}

TEST(StandIn, ViewsDifferFromThoseOfItsOwnVisit) {  // of two images, one must stand in for the other
  Loader loader(data_with_broken(2, {1}), views("sim32"), std::make_shared<SequentialSampler>(2),
                LoaderOptions{.batch_size = 8, .views = 2, .seed = 5, .on_error = OnError::kSubstitute});
  loader.start(0);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->ids[0], batch->ids[1]);
  EXPECT_NE(batch->occurrences[0], batch->occurrences[1]);
  for (int view = 0; view < 2; ++view) EXPECT_FALSE(at::equal(batch->images()[view][0], batch->images()[view][1]));
}

TEST(StandIn, NoTwoRowsOfABatchShareIdAndOccurrence) {
  std::vector<int64_t> broken;
  for (int64_t i = 4; i < 64; ++i) broken.push_back(i);
  broken.resize(32);
  Loader loader(data_with_broken(64, broken), views("sim32"), std::make_shared<ShuffledSampler>(64),
                LoaderOptions{.batch_size = 64, .seed = 5, .on_error = OnError::kSubstitute});
  loader.start(0);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->substituted, 32);
  EXPECT_EQ(batch->unreadable.size(), 32u);
  std::set<std::pair<int64_t, int64_t>> keys;
  for (size_t row = 0; row < 64; ++row) keys.emplace(batch->ids[row], batch->occurrences[row]);
  EXPECT_EQ(keys.size(), 64u);
  for (const int64_t occurrence : batch->occurrences) EXPECT_LT(occurrence, kMaxOccurrences);
}

// Two epochs of seven batches, started anew at batch `resumed`.
std::string digest(int64_t workers, int64_t prefetch, int64_t cache, int64_t resumed) {
  const auto data = data_with_broken(53, every_third(53));
  const LoaderOptions options = LoaderOptions{.batch_size = 8,
                                              .views = 2,
                                              .workers = workers,
                                              .prefetch = prefetch,
                                              .seed = 5,
                                              .noise = 0.4,
                                              .on_error = OnError::kSubstitute,
                                              .cache_megabytes = cache};
  auto loader = std::make_unique<Loader>(data, views("sim32"), std::make_shared<ShuffledSampler>(53), options);
  Sha256 hash;
  for (int64_t number = 0; number < 14; ++number) {
    if (number == resumed) loader = std::make_unique<Loader>(data, views("sim32"), std::make_shared<ShuffledSampler>(53), options);
    if (number == resumed || number % 7 == 0) loader->start(number / 7, number % 7);
    const Batch* batch = loader->next();
    hash.update(batch->images().const_data_ptr<float>(), static_cast<size_t>(batch->images().numel()) * sizeof(float));
    std::vector<int64_t> rest = {batch->substituted};
    for (const auto& [index, reason] : batch->unreadable) rest.push_back(index);
    for (const auto& column : {rest, batch->ids, batch->occurrences, batch->labels, batch->biases, batch->indices}) {
      hash.update(column.data(), column.size() * sizeof(int64_t));
    }
  }
  return hash.hex();
}

TEST(StandIn, BytesDoNotDependOnWorkersPrefetchCacheOrAResume) {
  const std::string expected = digest(0, 1, 1, -1);
  for (const int64_t workers : {0, 1, 2, 8}) {
    EXPECT_EQ(digest(workers, 1, 0, 4), expected) << workers;
    EXPECT_EQ(digest(workers, 8, 1, 10), expected) << workers;
  }
}

TEST(StandIn, IsDrawnUniformlyFromTheOthersAndAnewEachEpochAndSeed) {
  const auto data = data_with_broken(6, {2});
  std::map<int64_t, int> drawn;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(6),
                  LoaderOptions{.batch_size = 8, .workers = 0, .seed = seed, .on_error = OnError::kSubstitute});
    for (int64_t epoch = 0; epoch < 40; ++epoch) {
      loader.start(epoch);
      ++drawn[loader.next()->indices[2]];
    }
  }
  EXPECT_EQ(drawn.size(), 5u);
  EXPECT_EQ(drawn.count(2), 0u);
  for (const auto& [index, count] : drawn) EXPECT_NEAR(count, 400, 5 * std::sqrt(400 * 0.8)) << index;
}

TEST(StandIn, OfNoiseViewsIsOfAnotherClassToo) {
  const auto data = data_with_broken(60, every_third(60));  // all of class 0
  for (const int64_t index : {1, 2, 4, 5}) data->break_image(index);
  data->make_flat();
  Loader loader(data, views(kIdentity), std::make_shared<SequentialSampler>(60),
                LoaderOptions{.batch_size = 60, .views = 2, .seed = 5, .noise = 1, .on_error = OnError::kSubstitute});
  loader.start(0);
  const Batch* batch = loader.next();
  EXPECT_GT(batch->substituted, 24 + 10);  // the rows, and many second views
  for (int64_t row = 0; row < 60; ++row) {
    const int64_t second = shown_in(*batch, 1, row);
    EXPECT_EQ(shown_in(*batch, 0, row), batch->indices[row]);
    EXPECT_NE(data->label(second), batch->labels[row]) << row;
    EXPECT_NE(data->label(second), 0) << row;
  }
}

TEST(StandIn, WhereNothingCanBeReadTheImageIsNamed) {
  for (const int64_t size : {1, 2, 40}) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < size; ++i) all.push_back(i);
    for (const int64_t workers : {0, 2}) {
      Loader loader(data_with_broken(size, all), views("sim32"), std::make_shared<SequentialSampler>(size),
                    LoaderOptions{.batch_size = 8, .workers = workers, .seed = 5, .on_error = OnError::kSubstitute});
      loader.start(0);
      EXPECT_EQ(failure_of(loader),
                fmt::format("fake/0.png: the checksum does not match; nor can {} others drawn in its place be read; look "
                            "at all of them with debias data check",
                            std::min<int64_t>(size - 1, 16)));
    }
  }
}

TEST(StandIn, TheShapeIsThatOfAnImageThatCanBeRead) {
  const auto data = data_with_broken(4, {0});
  data->hide_size();
  const Loader loader(data, views("none"), std::make_shared<SequentialSampler>(4), substituting());
  EXPECT_THAT(loader.image_shape(), ElementsAre(3, 12, 10));
  EXPECT_THROW(Loader(data, views("none"), std::make_shared<SequentialSampler>(4), LoaderOptions()), Error);
}

TEST(StandIn, OnlyDataThatCannotBeReadIsReplaced) {
  const auto broke = std::make_shared<FakeDataset>(8);
  broke->break_image(3, ErrorKind::kResource);
  Loader loader(broke, views("sim32"), std::make_shared<SequentialSampler>(8), substituting());
  loader.start(0);
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { loader.next(); }), HasSubstr("fake/3.png"));
  const auto odd = std::make_shared<FakeDataset>(8);  // can be read, but not made into a view
  odd->resize_image(6);
  Loader uneven(odd, views("none"), std::make_shared<SequentialSampler>(8), substituting());
  uneven.start(0);
  EXPECT_THAT(failure_of(uneven), AllOf(HasSubstr("fake/6.png"), HasSubstr("11 x 10")));
}

TEST(StandIn, WithoutTheOptionTheNoiseImageThatFailsIsNamed) {
  const auto data = data_with_broken(4, {3});
  Loader loader(data, views("sim32"), std::make_shared<SequentialSampler>(4),
                LoaderOptions{.batch_size = 1, .views = 2, .workers = 0, .noise = 1});
  int failures = 0;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    loader.start(epoch, 1);
    try {
      EXPECT_EQ(loader.next()->ids[0], data->id(1));
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "fake/3.png: the checksum does not match");
      ++failures;
    }
  }
  EXPECT_GT(failures, 0);
}

// False-positive second views.

// The image that each view of each row shows, for flat images normalised to their index.
std::vector<std::vector<int64_t>> shown_images(const std::shared_ptr<FakeDataset>& data, double noise, int64_t workers, int64_t epoch) {
  data->make_flat();
  const std::string identity = "{preset: none, normalize: {mean: [0], std: [1]}}";
  Loader loader(data, views(identity), std::make_shared<SequentialSampler>(data->size()),
                LoaderOptions{.batch_size = data->size(), .views = 3, .workers = workers, .noise = noise});
  loader.start(epoch);
  const Batch* batch = loader.next();
  std::vector<std::vector<int64_t>> shown(3);
  for (int view = 0; view < 3; ++view) {
    for (int64_t row = 0; row < data->size(); ++row) {
      shown[view].push_back(std::lround(batch->images()[view][row].const_data_ptr<float>()[0] * 255));
    }
  }
  return shown;
}

TEST(NoiseViews, ReplaceOnlyTheSecondViewByAnotherClass) {
  const auto data = std::make_shared<FakeDataset>(240);
  const auto shown = shown_images(data, 0.3, 2, 0);
  int replaced = 0;
  for (int64_t row = 0; row < 240; ++row) {
    EXPECT_EQ(shown[0][row], row);
    EXPECT_EQ(shown[2][row], row);
    if (shown[1][row] == row) continue;
    ++replaced;
    EXPECT_NE(data->label(shown[1][row]), data->label(row)) << row;
  }
  EXPECT_NEAR(replaced, 72, 5 * std::sqrt(240 * 0.21));
}

TEST(NoiseViews, QOfZeroAndOne) {
  const auto data = std::make_shared<FakeDataset>(60);
  const auto without = shown_images(data, 0, 2, 0), always = shown_images(data, 1, 2, 0);
  EXPECT_EQ(without[1], without[0]);
  for (int64_t row = 0; row < 60; ++row) EXPECT_NE(always[1][row], row);
}

TEST(NoiseViews, DoNotDependOnWorkersButOnTheEpoch) {
  const auto data = std::make_shared<FakeDataset>(60);
  EXPECT_EQ(shown_images(data, 0.5, 0, 4), shown_images(data, 0.5, 3, 4));
  EXPECT_NE(shown_images(data, 0.5, 0, 4), shown_images(data, 0.5, 0, 5));
}

TEST(OtherClassDraw, IsUniformOverOtherAndUnknownLabels) {
  FakeDataset data(9);  // labels 0 1 2 0 1 2 0 1 2
  for (const int64_t i : {2, 5}) data.set_label(i, kUnknown);
  const OtherClassDraw draw(data);
  Random random({.seed = 5});
  std::map<int64_t, int> known, unknown;
  for (int i = 0; i < 8000; ++i) {
    ++known[draw.draw(3, random)];
    ++unknown[draw.draw(5, random)];
  }
  EXPECT_EQ(known.size(), 6u);  // all but 0, 3, 6
  for (const auto& [index, count] : known) {
    EXPECT_NE(data.label(index), 0);
    EXPECT_NEAR(count, 8000 / 6, 5 * std::sqrt(8000 / 6));
  }
  EXPECT_EQ(unknown.size(), 8u);
  EXPECT_EQ(unknown.count(5), 0u);
  for (const auto& [index, count] : unknown) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000));
}

TEST(OtherClassDraw, OneClassAloneIsRefused) {
  FakeDataset data(3);
  for (int64_t i = 0; i < 3; ++i) data.set_label(i, 1);
  EXPECT_THROW(OtherClassDraw{data}, Error);
  data.set_label(2, kUnknown);
  EXPECT_NO_THROW(OtherClassDraw{data});
}

}  // namespace stand_in_test
}  // namespace debias

// Failures surface for the batch they belong to, and nothing hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loader/fake_dataset.h"
#include "tests/support/refusals.h"

namespace debias {
namespace loader_failure_test {

using testing::HasSubstr;

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

}  // namespace loader_failure_test
}  // namespace debias

// False-positive second views.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "debias/core/error.h"
#include "debias/loader/loader_options.h"
#include "tests/loader/fake_dataset.h"

namespace debias {
namespace noise_views_test {

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

}  // namespace noise_views_test
}  // namespace debias

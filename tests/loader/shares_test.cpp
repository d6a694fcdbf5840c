// Loaders of several ranks: their shares, put together, are the batches of one.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "debias/core/error.h"
#include "tests/loader/fake_dataset.h"

namespace debias {
namespace shares_test {

constexpr int64_t kImages = 29;  // the last batch of 8 has 5

LoaderOptions options_of(int64_t rank, int64_t ranks, int64_t workers) {
  return LoaderOptions{.batch_size = 8,
                       .views = 2,
                       .workers = workers,
                       .seed = 11,
                       .noise = 0.3,
                       .on_error = OnError::kSubstitute,
                       .rank = rank,
                       .ranks = ranks};
}

std::unique_ptr<Loader> loader_of(int64_t rank, int64_t ranks, int64_t workers) {
  const auto data = std::make_shared<FakeDataset>(kImages);
  for (const int64_t index : {3, 9, 17, 22}) data->break_image(index);
  return std::make_unique<Loader>(data, views("sim32"), std::make_shared<ShuffledSampler>(kImages), options_of(rank, ranks, workers));
}

void expect_shares_of_one(int64_t ranks, int64_t workers) {
  const auto whole = loader_of(0, 1, workers);
  std::vector<std::unique_ptr<Loader>> shares;
  for (int64_t rank = 0; rank < ranks; ++rank) shares.push_back(loader_of(rank, ranks, workers));
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    whole->start(epoch);
    for (const auto& share : shares) share->start(epoch);
    while (const Batch* expected = whole->next()) {
      std::vector<at::Tensor> images;
      int64_t substituted = 0;
      for (const auto& share : shares) {
        const Batch* own = share->next();
        ASSERT_NE(own, nullptr);
        const auto B = static_cast<int64_t>(expected->ids.size());
        ASSERT_EQ(own->ids.size(), expected->ids.size());
        const int64_t rank = static_cast<int64_t>(images.size());
        EXPECT_EQ(own->first_row, B * rank / ranks);
        ASSERT_EQ(own->images().size(1), B * (rank + 1) / ranks - B * rank / ranks);
        for (int64_t row = own->first_row; row < own->first_row + own->images().size(1); ++row) {
          EXPECT_EQ(own->ids[row], expected->ids[row]);
          EXPECT_EQ(own->occurrences[row], expected->occurrences[row]) << "row " << row << " of rank " << rank;
          EXPECT_EQ(own->labels[row], expected->labels[row]);
          EXPECT_EQ(own->indices[row], expected->indices[row]);
        }
        substituted += own->substituted;
        images.push_back(own->images());
      }
      EXPECT_TRUE(at::cat(images, 1).equal(expected->images())) << "batch " << expected->number;
      EXPECT_EQ(substituted, expected->substituted);
    }
    for (const auto& share : shares) EXPECT_EQ(share->next(), nullptr);
  }
}

TEST(Shares, PutTogetherAreTheBatchesOfOneLoader) {
  for (const int64_t ranks : {2, 3, 5}) expect_shares_of_one(ranks, 0);
}

TEST(Shares, DoNotDependOnWorkers) {
  for (const int64_t workers : {1, 3}) expect_shares_of_one(3, workers);
}

TEST(Shares, OfARankThatIsNoneAreRefused) {
  EXPECT_THROW(loader_of(2, 2, 0), Error);
  EXPECT_THROW(loader_of(-1, 2, 0), Error);
}

}  // namespace shares_test
}  // namespace debias

// The stream of batches as one number: whatever the workers, the prefetching and the place where it was taken up again.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "debias/core/sha256.h"
#include "tests/loader/fake_dataset.h"

namespace debias {
namespace batch_digest_test {

constexpr int64_t kImages = 53, kBatches = 50;  // seven batches an epoch

class Stream {
 public:
  Stream(int64_t workers, int64_t prefetch)
      : loader_(std::make_shared<FakeDataset>(kImages), views("sim32"), std::make_shared<ShuffledSampler>(kImages),
                LoaderOptions{.batch_size = 8, .views = 2, .workers = workers, .prefetch = prefetch, .seed = 11, .noise = 0.3}) {}

  // Goes on to hash the batches `first` to `last` - 1, counted over the epochs.
  void hash(int64_t first, int64_t last, Sha256& digest) {
    const int64_t in_epoch = loader_.batches_per_epoch();
    for (int64_t batch = first; batch < last; ++batch) {
      if (batch == first || batch % in_epoch == 0) loader_.start(batch / in_epoch, batch % in_epoch);
      const Batch* next = loader_.next();
      ASSERT_NE(next, nullptr) << batch;
      digest.update(next->images().const_data_ptr<float>(), static_cast<size_t>(next->images().numel()) * sizeof(float));
      for (const std::vector<int64_t>& keys : {next->ids, next->occurrences, next->labels, next->biases, {next->epoch, next->number}}) {
        digest.update(keys.data(), keys.size() * sizeof(int64_t));
      }
    }
  }

 private:
  Loader loader_;
};

std::string digest_of_the_first_batches(int64_t workers, int64_t prefetch) {
  Sha256 digest;
  Stream(workers, prefetch).hash(0, kBatches, digest);
  return digest.hex();
}

TEST(BatchDigest, IsTheSameForAnyWorkersAndPrefetching) {
  const std::string expected = digest_of_the_first_batches(0, 1);
  for (const int64_t workers : {0, 1, 2, 8}) {
    for (const int64_t prefetch : {1, 8}) {
      EXPECT_EQ(digest_of_the_first_batches(workers, prefetch), expected) << workers << " workers, prefetch " << prefetch;
    }
  }
}

TEST(BatchDigest, IsTheSameAfterAResume) {
  const std::string expected = digest_of_the_first_batches(2, 2);
  for (const int64_t stop : {1, 7, 23, 49}) {  // in an epoch, at its end
    Sha256 digest;
    Stream(8, 8).hash(0, stop, digest);
    Stream(1, 1).hash(stop, kBatches, digest);  // a new process has a new loader
    EXPECT_EQ(digest.hex(), expected) << "stopped after " << stop;
  }
}

TEST(BatchDigest, TellsBatchesApart) {
  Sha256 first, second;
  Stream(2, 2).hash(0, kBatches, first);
  Stream(2, 2).hash(1, kBatches + 1, second);
  EXPECT_NE(first.hex(), second.hex());
}

}  // namespace batch_digest_test
}  // namespace debias

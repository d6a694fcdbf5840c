// Batches: of sentences, ahead of their use, shared among ranks, and their digest.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "debias/loader/batch_source.h"
#include "debias/loader/sentence_batches.h"
#include "tests/loader/fake_dataset.h"
#include "tests/support/refusals.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace batches_test {

using testing::ElementsAre;
using testing::HasSubstr;

struct Made {
  explicit Made(const std::string& last_book = "") {
    write_small_corpus(folder.path());
    if (!last_book.empty()) std::ofstream(folder / "books/9.txt") << last_book;
    sentences =
        std::make_shared<Sentences>(options_from<SentencesOptions>(parse_yaml(small_corpus_section(folder.path()), "r"), "x", {"name"}));
  }
  TemporaryFolder folder;
  std::shared_ptr<const Sentences> sentences;
};

std::vector<std::vector<int64_t>> epoch_of(SentenceBatches& batches, int64_t epoch, int64_t first = 0) {
  std::vector<std::vector<int64_t>> all;
  batches.start(epoch, first);
  while (const Batch* batch = batches.next()) all.push_back(batch->ids);
  return all;
}

TEST(SentenceBatches, AreConsecutiveSentencesOfOneBook) {
  const Made made;
  SentenceBatches batches(made.sentences, SentenceBatchOptions{.batch_size = 16, .order = BatchOrder::kSequential});
  EXPECT_EQ(batches.batches_per_epoch(), 3 * 2);  // 40 = 16 + 16 + 8
  const auto all = epoch_of(batches, 0);
  for (size_t k = 0; k < all.size(); ++k) {
    const int64_t first = static_cast<int64_t>(k / 2) * 40 + static_cast<int64_t>(k % 2) * 16;
    for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(all[k][static_cast<size_t>(i)], first + i);
  }
  SentenceBatches whole(made.sentences, SentenceBatchOptions{.batch_size = 16, .drop_last = false});
  EXPECT_EQ(whole.batches_per_epoch(), 3 * 3);
  SentenceBatches pieces(made.sentences, SentenceBatchOptions{.batch_size = 19, .drop_last = false});
  EXPECT_EQ(pieces.batches_per_epoch(), 3 * 2);  // of 40 = 19 + 19 + 2 the two have no third
}

TEST(SentenceBatches, AreDrawnFromEpochAndSeed) {
  const Made made;
  const auto options = SentenceBatchOptions{.batch_size = 5, .seed = 3};
  SentenceBatches batches(made.sentences, options), again(made.sentences, options);
  const auto first = epoch_of(batches, 0), second = epoch_of(batches, 1);
  EXPECT_NE(first, second);
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(second));
  EXPECT_EQ(epoch_of(again, 0), first);
  EXPECT_EQ(epoch_of(again, 1, 4), (std::vector<std::vector<int64_t>>(second.begin() + 4, second.end())));
}

TEST(SentenceBatches, PadWordsAndShareRows) {
  const Made made;
  const auto options = SentenceBatchOptions{.batch_size = 7, .order = BatchOrder::kSequential};
  SentenceBatches whole(made.sentences, options);
  whole.start(0);
  const Batch all = *whole.next();
  const at::Tensor words = all.input("words")[0];
  ASSERT_EQ(words.sizes(), (std::vector<int64_t>{7, 7}));
  EXPECT_EQ(words[0].ge(0).sum().item<int64_t>(), 4);
  EXPECT_EQ(words[3].ge(0).sum().item<int64_t>(), 7);
  for (int64_t rank = 0; rank < 2; ++rank) {
    SentenceBatches part(made.sentences, {.batch_size = 7, .order = BatchOrder::kSequential, .rank = rank, .ranks = 2});
    part.start(0);
    const Batch* own = part.next();
    EXPECT_EQ(own->ids, all.ids);
    EXPECT_EQ(own->first_row, rank == 0 ? 0 : 3);
    const at::Tensor rows = own->input("words")[0];
    EXPECT_EQ(rows.size(0), rank == 0 ? 3 : 4);
    EXPECT_TRUE(rows.equal(words.slice(0, own->first_row, own->first_row + rows.size(0)).slice(1, 0, rows.size(1))));
  }
}

TEST(SentenceBatches, NameTheBooksThatAreTooShortForOne) {
  EXPECT_TRUE(SentenceBatches(Made().sentences, SentenceBatchOptions{.batch_size = 40}).notes().empty());
  const Made made("W1 w2.\n\nW3 w4.\n");
  const auto whole = SentenceBatchOptions{.batch_size = 16};
  EXPECT_THAT(SentenceBatches(made.sentences, whole).notes(),
              testing::ElementsAre("train: 1 of 4 books have fewer than 16 sentences, and none of their 2 is read: 9.txt; a smaller "
                                   "batch_size or drop_last: false reads them"));
  EXPECT_THAT(SentenceBatches(made.sentences, SentenceBatchOptions{.batch_size = 16, .drop_last = false}).notes(),
              testing::ElementsAre("train: 1 of 4 books have fewer than 3 sentences, and none of their 2 is read: 9.txt"));
  EXPECT_EQ(short_books(*made.sentences, 41),
            "4 of 4 books have fewer than 41 sentences, and none of their 122 is read: 0.txt, 1.txt, 2.txt, ...");
}

TEST(SentenceBatches, RefuseBatchesWithoutNeighbours) {
  const Made made;
  const auto refusal = [&](int64_t batch) {
    return usage_error_of([&] { SentenceBatches(made.sentences, SentenceBatchOptions{.batch_size = batch}); });
  };
  EXPECT_THAT(refusal(2), testing::HasSubstr("batch_size 2: a sentence needs its neighbours"));
  EXPECT_THAT(refusal(41), testing::HasSubstr("batch_size 41: no book has as many sentences, the longest has 40"));
}

// The plan of copies ahead of the step, without a device: which copy begins when, into which slot, and what a batch then holds.

constexpr int64_t kAheadImages = 20;  // five batches of four

std::unique_ptr<Loader> loader_of(const std::shared_ptr<FakeDataset>& data, int64_t workers = 0) {
  return std::make_unique<Loader>(data, views("sim32"), std::make_shared<ShuffledSampler>(kAheadImages),
                                  LoaderOptions{.batch_size = 4, .views = 2, .workers = workers, .prefetch = 1, .seed = 5});
}

// Writes down what it is asked for.
class NotedTransfer : public InputTransfer {
 public:
  explicit NotedTransfer(std::vector<std::string>& notes) : notes_(notes) {}
  std::vector<at::Tensor> begin(size_t slot, const std::vector<at::Tensor>& host) override {
    notes_.push_back("copy into " + std::to_string(slot));
    return {host[0].clone()};
  }
  void await(size_t slot) override { notes_.push_back("await " + std::to_string(slot)); }

 private:
  std::vector<std::string>& notes_;
};

TEST(AheadBatches, CopiesTheNextBatchOnceTheStepOnThisOneIsLaunched) {
  std::vector<std::string> notes;
  AheadBatches ahead(loader_of(std::make_shared<FakeDataset>(kAheadImages)), std::make_unique<NotedTransfer>(notes));
  ahead.start(0, 2);  // batches 2, 3 and 4
  while (const Batch* batch = ahead.next()) {
    notes.push_back("step " + std::to_string(batch->number));
    ahead.prepare();
    ahead.prepare();  // once is enough
  }
  EXPECT_THAT(notes,
              ElementsAre("copy into 0", "await 0", "step 2", "copy into 1", "await 1", "step 3", "copy into 0", "await 0", "step 4"));
}

TEST(AheadBatches, CopiesWhenABatchIsAskedForThatNobodyPrepared) {
  std::vector<std::string> notes;
  AheadBatches ahead(loader_of(std::make_shared<FakeDataset>(kAheadImages)), std::make_unique<NotedTransfer>(notes));
  ahead.start(0, 3);
  while (const Batch* batch = ahead.next()) notes.push_back("step " + std::to_string(batch->number));
  EXPECT_THAT(notes, ElementsAre("copy into 0", "await 0", "step 3", "copy into 1", "await 1", "step 4"));
}

TEST(AheadBatches, AreThoseOfTheSource) {
  for (const int64_t workers : {0, 2}) {
    const auto data = std::make_shared<FakeDataset>(kAheadImages);
    const auto plain = loader_of(data, workers);
    AheadBatches ahead(loader_of(data, workers), transfer_to(c10::Device(c10::kCPU)));
    EXPECT_EQ(ahead.batches_per_epoch(), 5);
    EXPECT_EQ(ahead.what(), plain->what());
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      plain->start(epoch, epoch);
      ahead.start(epoch, epoch);
      while (const Batch* expected = plain->next()) {
        const Batch* found = ahead.next();
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(found->number, expected->number);
        EXPECT_EQ(found->ids, expected->ids);
        EXPECT_EQ(found->images().strides(), expected->images().strides());
        EXPECT_TRUE(found->images().equal(expected->images())) << "epoch " << epoch << ", batch " << expected->number;
        if (found->number == 3 && epoch == 1) break;  // start() stops whatever is under way
      }
    }
  }
}

TEST(AheadBatches, FailWhereTheSourceDoes) {
  const auto data = std::make_shared<FakeDataset>(kAheadImages);
  data->break_image(9);
  auto loader = std::make_unique<Loader>(data, views("sim32"), std::make_shared<SequentialSampler>(kAheadImages),
                                         LoaderOptions{.batch_size = 4, .views = 2, .workers = 0});
  AheadBatches ahead(std::move(loader), transfer_to(c10::Device(c10::kCPU)));
  ahead.start(0);
  EXPECT_EQ(ahead.next()->number, 0);
  EXPECT_EQ(ahead.next()->number, 1);  // not here, though the next one is under way
  EXPECT_THAT(data_error_of([&] { ahead.next(); }), HasSubstr("fake/9.png"));
  EXPECT_EQ(ahead.next()->number, 3);
  EXPECT_EQ(ahead.next()->number, 4);
  EXPECT_EQ(ahead.next(), nullptr);
}

TEST(AheadBatches, RefuseASourceWithAState) {
  struct Buffered : BatchSource {
    std::string what() const override { return "rows"; }
    const SampleTable& samples() const override { return data; }
    int64_t batches_per_epoch() const override { return 1; }
    void start(int64_t, int64_t) override {}
    const Batch* next() override { return nullptr; }
    std::vector<std::pair<std::string, at::Tensor>> state() const override { return {{"source.rows", at::zeros({1})}}; }
    FakeDataset data{4};
  };
  EXPECT_THROW(AheadBatches(std::make_unique<Buffered>(), transfer_to(c10::Device(c10::kCPU))), std::logic_error);
}

// Loaders of several ranks: their shares, put together, are the batches of one.

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

// The stream of batches as one number: whatever the workers, the prefetching and the place where it was taken up again.

constexpr int64_t kStreamImages = 53, kBatches = 50;  // seven batches an epoch

class Stream {
 public:
  Stream(int64_t workers, int64_t prefetch)
      : loader_(std::make_shared<FakeDataset>(kStreamImages), views("sim32"), std::make_shared<ShuffledSampler>(kStreamImages),
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

}  // namespace batches_test
}  // namespace debias

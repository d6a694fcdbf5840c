#include "debias/loader/sentence_batches.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusals.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace sentence_batches_test {

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
    auto own_rows = options;
    own_rows.rank = rank;
    own_rows.ranks = 2;
    SentenceBatches part(made.sentences, own_rows);
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

}  // namespace sentence_batches_test
}  // namespace debias

// Collectives among threads: shares, gathering, sums in the order of the ranks, what rank 0 says, and what is said of a rank that fails.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <deque>

#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "debias/ranks/ranks.h"
#include "debias/ranks/store.h"
#include "tests/ranks/threads.h"
#include "tests/support/embeddings.h"
#include "tests/support/refusals.h"
#include "tests/support/registry_names.h"

namespace debias {
namespace ranks_test {

using testing::HasSubstr;

// Of each rank, all different.
at::Tensor values_of(int64_t rank, int64_t count) {
  return at::sin(at::arange(count, at::kFloat) * 0.37 + static_cast<double>(rank)) * std::pow(10.0, static_cast<double>(rank % 3));
}

TEST(Ranks, AloneGiveBackWhatTheyAreGiven) {
  const Ranks& alone = Ranks::alone();
  const at::Tensor rows = values_of(0, 6).view({3, 2});
  EXPECT_TRUE(alone.leads() && alone.is_alone());
  EXPECT_TRUE(alone.gather_rows(rows, 3).equal(rows));
  const at::Tensor sum = rows.clone();
  alone.sum_ordered({sum});
  alone.take_from_leader({sum});
  EXPECT_TRUE(sum.equal(rows));
  EXPECT_EQ(alone.leader_says([] { return "said"; }), "said");
}

TEST(Ranks, SharesCoverABatchInOrder) {
  on_ranks(3, [](const Ranks& ranks) {
    for (const int64_t rows : {3, 4, 5, 7, 8, 256}) {
      int64_t next = 0;
      for (int64_t rank = 0; rank < 3; ++rank) {
        const RowRange share = ranks.share_of(rows, rank);
        EXPECT_EQ(share.begin, next);
        EXPECT_LE(share.size(), ranks.largest_share(rows));
        next = share.end;
      }
      EXPECT_EQ(next, rows);
    }
  });
}

TEST(Ranks, GatheredRowsStandAsInOneProcess) {
  for (const int64_t W : {2, 3, 4}) {
    on_ranks(W, [](const Ranks& ranks) {
      for (const int64_t rows : {4, 7, 16}) {
        const at::Tensor all = at::arange(rows * 6, at::kFloat).view({rows, 2, 3});
        const RowRange share = ranks.share_of(rows);
        EXPECT_TRUE(ranks.gather_rows(all.slice(0, share.begin, share.end), rows).equal(all)) << rows;
        const at::Tensor keys = at::arange(rows, at::kLong);
        EXPECT_TRUE(ranks.gather_rows(keys.slice(0, share.begin, share.end), rows).equal(keys));
      }
    });
  }
}

TEST(Ranks, SumsAreFormedInTheOrderOfTheRanks) {
  for (const int64_t W : {2, 3, 4, 5}) {
    on_ranks(W, [W](const Ranks& ranks) {
      for (const int64_t count : {1, 7, 1000, (1 << 20) + 13}) {  // below, and beyond, one piece
        at::Tensor expected = values_of(0, count).clone();
        for (int64_t rank = 1; rank < W; ++rank) expected += values_of(rank, count);
        const at::Tensor own = values_of(ranks.rank(), count).clone(), small = at::full({2, 2}, static_cast<float>(ranks.rank()));
        ranks.sum_ordered({own, small});
        EXPECT_TRUE(own.equal(expected)) << W << " ranks, " << count;
        EXPECT_TRUE(small.equal(at::full({2, 2}, static_cast<float>(W * (W - 1) / 2))));
      }
    });
  }
}

TEST(Ranks, SumsKeepTheLayoutOfATensor) {
  on_ranks(2, [](const Ranks& ranks) {
    at::Tensor own = at::arange(2 * 3 * 2 * 2, at::kFloat).view({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor doubled = own * 2;
    ranks.sum_ordered({own});
    EXPECT_TRUE(own.equal(doubled));
    EXPECT_TRUE(own.is_contiguous(at::MemoryFormat::ChannelsLast));
  });
}

TEST(Ranks, TakeRankZerosTensorsAndWords) {
  on_ranks(3, [](const Ranks& ranks) {
    at::Tensor tensor = values_of(ranks.rank(), 10).clone();
    ranks.take_from_leader({tensor});
    EXPECT_TRUE(tensor.equal(values_of(0, 10)));
    for (int turn = 0; turn < 3; ++turn) {
      const std::string said = ranks.leader_says([&] { return fmt::format("turn {} of rank {}", turn, ranks.rank()); });
      EXPECT_EQ(said, fmt::format("turn {} of rank 0", turn));
    }
    const auto gathered = ranks.tell_leader(fmt::format("rank {}", ranks.rank()));
    EXPECT_EQ(gathered, ranks.leads() ? (std::vector<std::string>{"rank 0", "rank 1", "rank 2"}) : std::vector<std::string>{});
  });
}

TEST(Ranks, AllHearTheErrorOfTheRankThatFails) {
  const auto texts = heard(3, [](const Ranks& ranks) {
    if (ranks.rank() == 1) throw data_error("image 'a.png' cannot be read");
    ranks.gather(at::ones({4}));
  });
  for (const auto& text : texts) EXPECT_EQ(text, "2 rank 1 of 3: image 'a.png' cannot be read");
}

TEST(Ranks, AnErrorOfRankZeroEndsTheWaitForIt) {
  const auto texts =
      heard(3, [](const Ranks& ranks) { ranks.leader_says([]() -> std::string { throw resource_error("the disk is full"); }); });
  for (const auto& text : texts) EXPECT_EQ(text, "4 rank 0 of 3: the disk is full");
}

TEST(Ranks, ARankThatGoesWithoutAWordIsNamed) {
  const auto texts = heard(3, [](const Ranks& ranks) {
    ranks.gather(at::ones({4}));
    if (ranks.rank() == 2) return;
    ranks.gather(at::ones({4}));
  });
  EXPECT_EQ(texts[2], "");
  for (const int64_t rank : {0, 1}) EXPECT_THAT(texts[rank], HasSubstr("rank 2 of 3 does not answer any more")) << rank;
}

TEST(Ranks, OnesThatDoNotComeAreNamed) {
  const auto meeting = meeting_of_threads();
  Rendezvous rendezvous = thread_rendezvous(meeting);
  rendezvous.setup = std::chrono::milliseconds(300);
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { Ranks({.rank = 0, .size = 3}, rendezvous); }),
              HasSubstr("ranks 1, 2 of 3 did not come within"));
}

TEST(Ranks, TwoOfOneRankAreRefused) {
  const auto meeting = meeting_of_threads();
  Rendezvous rendezvous = thread_rendezvous(meeting);
  rendezvous.setup = std::chrono::milliseconds(100);
  EXPECT_THROW(Ranks({.rank = 0, .size = 2}, rendezvous), Error);
  EXPECT_THAT(usage_error_of([&] { Ranks({.rank = 0, .size = 2}, rendezvous); }), HasSubstr("rank 0 has come already"));
}

TEST(Ranks, OnesThatCountDifferentlyAreRefused) {
  const auto meeting = meeting_of_threads();
  on_threads(2, [&](int64_t rank) {
    EXPECT_THAT(usage_error_of([&] { Ranks({.rank = rank, .size = rank == 0 ? 2 : 3}, thread_rendezvous(meeting)); }),
                HasSubstr("rendezvous: this is one of 3 processes, rank 0 one of 2"))
        << rank;
  });
}

TEST(Ranks, ThoseOfOneMachineAreCountedWhenTheyMeet) {
  const auto meeting = meeting_of_threads();
  const std::vector<std::string> machines = {"a", "b", "a"};
  std::vector<Place> places(3);
  on_threads(3, [&](int64_t rank) {
    Rendezvous rendezvous = thread_rendezvous(meeting);
    rendezvous.machine = machines[rank];
    places[rank] = Ranks({.rank = rank, .size = 3, .local_rank = -1}, rendezvous).place();
  });
  const std::vector<std::pair<int64_t, int64_t>> expected = {{0, 2}, {0, 1}, {1, 2}};
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(std::pair(places[i].local_rank, places[i].local_size), expected[i]) << i;
  on_ranks(2, [](const Ranks& ranks) {
    EXPECT_EQ(ranks.place().local_size, 2);  // of this machine's own name
    EXPECT_EQ(ranks.place().local_rank, ranks.rank());
  });
}

TEST(Ranks, OfSeveralMachinesCannotMeetAtALoopbackAddress) {
  const LocalMeeting meeting;
  on_threads(2, [&](int64_t rank) {
    Rendezvous rendezvous;
    rendezvous.host = "127.0.0.1";
    rendezvous.port = meeting.port();
    rendezvous.setup = std::chrono::seconds(30);
    rendezvous.machine = rank == 0 ? "a" : "b";
    EXPECT_THAT(usage_error_of([&] { Ranks({.rank = rank, .size = 2, .local_rank = -1}, rendezvous); }),
                HasSubstr("--interface: ranks on other machines cannot reach '127.0.0.1', a loopback address"))
        << rank;
  });
}

TEST(Rendezvous, ReadsHostsAndFiles) {
  Rendezvous rendezvous;
  read_rendezvous("node-1:29500", rendezvous);
  EXPECT_EQ(rendezvous.host, "node-1");
  EXPECT_EQ(rendezvous.port, 29500);
  read_rendezvous("file:/shared/meet", rendezvous);
  EXPECT_EQ(rendezvous.file, "/shared/meet");
  for (const char* bad : {"", "node", "node:", ":1", "node:0", "node:70000", "node:1x", "file:"}) {
    EXPECT_THROW(read_rendezvous(bad, rendezvous), Error) << bad;
  }
}

// Or first exchanges of two groups, begun at once, end the process (rendezvous.cpp).
TEST(RanksAsThreads, KeepNoRecordOfExchangesForDebuggers) {
  on_ranks(2, [](const Ranks& ranks) {
    ranks.gather(at::zeros({1}));
    const char* entries = getenv("TORCH_FR_BUFFER_SIZE");
    ASSERT_NE(entries, nullptr);
    EXPECT_STREQ(entries, "0");
  });
}

// What each of three ranks reports; rank 2 has `other` as its recipe.
std::vector<std::string> verdicts(const std::string& other,
                                  const std::function<std::string(const std::string&, const std::string&)>& words) {
  std::vector<std::string> texts(3);
  on_ranks(3, [&](const Ranks& ranks) {
    try {
      require_same({{"the version", "0.1", {}}, {"the recipe", ranks.rank() == 2 ? other : "a\xff", words}}, ranks);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      texts[ranks.rank()] = ranks.failed(error).what();
    }
  });
  return texts;
}

TEST(Agreement, OfAllIsSilent) {
  for (const auto& text : verdicts("a\xff", {})) EXPECT_EQ(text, "");
}

TEST(Agreement, NamesTheRankAndTheDifferenceOnEveryRank) {
  const auto words = [](const std::string& leaders, const std::string& other) { return fmt::format("{} then {}", leaders.size(), other); };
  for (const auto& text : verdicts("b", words)) EXPECT_EQ(text, "rank 2 of 3 has not the recipe of rank 0: 2 then b");
  for (const auto& text : verdicts("b", {})) EXPECT_THAT(text, HasSubstr("'b' there"));
}

TEST(Agreement, LetsDifferencesOfNoMatterPass) {
  for (const auto& text : verdicts("b", [](const auto&, const auto&) { return std::string(); })) EXPECT_EQ(text, "");
}

// Of a store that is kept by a process which is stopped: each question ends, and so do the beats.

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

// As c10d's client of a stopped server: additions wait until it goes on.
class StoppedStore : public c10d::HashStore {
 public:
  explicit StoppedStore(std::shared_future<void> goes_on) : goes_on_(std::move(goes_on)) {}
  StorePointer clone() override { return StorePointer::unsafe_reclaim_from_nonowning(this); }
  int64_t add(const std::string& key, int64_t value) override {
    goes_on_.wait();
    return HashStore::add(key, value);
  }

 private:
  std::shared_future<void> goes_on_;
};

class BoundedStores : public testing::Test {
 protected:
  ~BoundedStores() override { goes_on_.set_value(); }
  std::promise<void> goes_on_;
  StorePointer stopped_ = c10::make_intrusive<StoppedStore>(goes_on_.get_future().share());
};

TEST_F(BoundedStores, AnswerAsTheStoreBelow) {
  BoundedStore store(c10::make_intrusive<c10d::HashStore>());
  put(store, "key", "value");
  EXPECT_EQ(find(store, "key").value_or(""), "value");
  EXPECT_FALSE(find(store, "other").has_value());
  EXPECT_EQ(store.add("count", 2), 2);
  EXPECT_EQ(store.add("count", 3), 5);
  store.setTimeout(std::chrono::milliseconds(50));
  EXPECT_EQ(store.getTimeout(), std::chrono::milliseconds(50));
  EXPECT_ANY_THROW(store.wait({"other"}));
  EXPECT_TRUE(store.check({"key"}));  // an error of the store's own is an answer
}

TEST_F(BoundedStores, ThrowOnceTheStoreIsSilent) {
  BoundedStore store(stopped_);
  store.setTimeout(std::chrono::milliseconds(100));
  const auto begin = Clock::now();
  EXPECT_THROW(store.add("count", 1), NoAnswer);
  EXPECT_GE(Clock::now() - begin, kStorePatience);
  const auto later = Clock::now();
  EXPECT_THROW(find(store, "key"), NoAnswer);
  EXPECT_LT(Clock::now() - later, seconds(2));
}

TEST_F(BoundedStores, BeatsEndThoughTheStoreIsSilent) {
  const auto begin = Clock::now();
  { const RankBeats beats(stopped_, "beats", std::chrono::milliseconds(10)); }
  EXPECT_LT(Clock::now() - begin, seconds(30));
}

// Gathered rows under every registered objective: the loss of each rank is that of one process, and the gradients of the own rows, put
// together, are its gradient, byte for byte.

constexpr int64_t kRows = 14;

class GatheredRows : public testing::TestWithParam<std::string> {
 protected:
  const ObjectiveEntry& entry() const { return find_entry(objective_registry(), GetParam(), "objective"); }

  at::Tensor embeddings() const {
    if (entry().kind == InputKind::kLogits) {
      at::manual_seed(4);
      return at::randn({kRows, 4}, at::kFloat);
    }
    return random_embeddings(kRows, 2, 8, 3).to(at::kFloat);
  }

  at::Tensor loss(const at::Tensor& z) const {
    ObjectiveInput input = {
        .z = z, .labels = at::arange(kRows, at::kLong).remainder(3), .bias = at::arange(kRows, at::kLong).div(2, "floor").remainder(2)};
    if (entry().needs_bias_features)
      input.weights = at::sin(at::arange(kRows * 3, at::kFloat)).view({kRows, 3}) + 1.1;  // on ranks' threads
    return (*entry().make(parse_yaml("{}", "term"), {}))(input).value;
  }
};

TEST_P(GatheredRows, HaveTheLossAndTheGradientOfOneProcess) {
  const at::Tensor z = embeddings();
  const at::Tensor whole = z.clone().requires_grad_();
  const at::Tensor expected = loss(whole);
  expected.backward();
  for (const int64_t W : {2, 3}) {
    on_ranks(W, [&](const Ranks& ranks) {
      const RowRange share = ranks.share_of(kRows);
      at::Tensor own = z.slice(0, share.begin, share.end).clone().requires_grad_();
      const at::Tensor found = loss(gather_rows(own, kRows, ranks));
      found.backward();
      EXPECT_TRUE(found.equal(expected)) << W;
      EXPECT_TRUE(ranks.gather_rows(own.grad(), kRows).equal(whole.grad())) << W;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, GatheredRows, testing::ValuesIn(names_of(objective_registry())), [](const auto& test) { return test.param; });

TEST(GatherRows, LeavesRowsThatNothingReadsWithoutAGradient) {
  on_ranks(2, [](const Ranks& ranks) {
    at::Tensor own = at::ones({2, 3}).requires_grad_(), other = at::ones({2, 3}).requires_grad_();
    const at::Tensor rows = gather_rows(own, 4, ranks), unread = gather_rows(other, 4, ranks);
    rows.sum().backward();
    EXPECT_TRUE(own.grad().defined());
    EXPECT_FALSE(other.grad().defined());
  });
}

}  // namespace ranks_test
}  // namespace debias

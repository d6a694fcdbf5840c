// Of a store that is kept by a process which is stopped: each question ends, and so do the beats.
#include "debias/ranks/store.h"

#include <gtest/gtest.h>

#include <deque>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace debias {
namespace bounded_store_test {

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

}  // namespace bounded_store_test
}  // namespace debias

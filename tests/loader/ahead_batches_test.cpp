// The plan of copies ahead of the step, without a device: which copy begins when, into which slot, and what a batch then holds.
#include "debias/loader/ahead_batches.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/loader/fake_dataset.h"
#include "tests/support/refusals.h"

namespace debias {
namespace ahead_batches_test {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kImages = 20;  // five batches of four

std::unique_ptr<Loader> loader_of(const std::shared_ptr<FakeDataset>& data, int64_t workers = 0) {
  return std::make_unique<Loader>(data, views("sim32"), std::make_shared<ShuffledSampler>(kImages),
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
  AheadBatches ahead(loader_of(std::make_shared<FakeDataset>(kImages)), std::make_unique<NotedTransfer>(notes));
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
  AheadBatches ahead(loader_of(std::make_shared<FakeDataset>(kImages)), std::make_unique<NotedTransfer>(notes));
  ahead.start(0, 3);
  while (const Batch* batch = ahead.next()) notes.push_back("step " + std::to_string(batch->number));
  EXPECT_THAT(notes, ElementsAre("copy into 0", "await 0", "step 3", "copy into 1", "await 1", "step 4"));
}

TEST(AheadBatches, AreThoseOfTheSource) {
  for (const int64_t workers : {0, 2}) {
    const auto data = std::make_shared<FakeDataset>(kImages);
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
  const auto data = std::make_shared<FakeDataset>(kImages);
  data->break_image(9);
  auto loader = std::make_unique<Loader>(data, views("sim32"), std::make_shared<SequentialSampler>(kImages),
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

}  // namespace ahead_batches_test
}  // namespace debias

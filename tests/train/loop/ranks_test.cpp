// Trainings of several ranks, as threads: what they have in common with one process.
//
// W ranks that each see B / W images at a time do what one process does with micro_batch B / W, byte for byte: parameters, optimizers,
// metrics.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/npy.h"
#include "debias/core/registry.h"
#include "debias/data/name_table.h"
#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/state/checkpoint.h"
#include "tests/ranks/device_doubles.h"
#include "tests/support/refusals.h"
#include "tests/support/registry_names.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/rank_training.h"

namespace debias {
namespace ranks_test {

using testing::HasSubstr;
using testing::StartsWith;

void expect_same_tensors(const std::string& a, const std::string& b) {
  const auto in_a = tensors_of(a), in_b = tensors_of(b);
  ASSERT_EQ(in_a.size(), in_b.size());
  for (size_t i = 0; i < in_a.size(); ++i) {
    const auto& [name, bytes] = in_a[i];
    const std::string& others = in_b[i].second;
    if (name.ends_with("running_mean") || name.ends_with("running_var")) {
      ASSERT_EQ(bytes.size(), others.size());
      const auto* x = reinterpret_cast<const float*>(bytes.data());
      const auto* y = reinterpret_cast<const float*>(others.data());
      for (size_t k = 0; k < bytes.size() / sizeof(float); ++k) EXPECT_NEAR(x[k], y[k], 2e-6 * (1 + std::abs(x[k]))) << name;
    } else {
      EXPECT_TRUE(bytes == others) << b << " " << name;
    }
  }
}

void expect_same_training(const std::string& a, const std::string& b) {
  EXPECT_EQ(file_text(a + "/metrics.jsonl"), file_text(b + "/metrics.jsonl")) << b;
  expect_same_tensors(a + "/checkpoints/last.safetensors", b + "/checkpoints/last.safetensors");
}

// One process with parts of that size, from a checkpoint (or the beginning) to a step; what it leaves, in `out`. A run of its own cannot
// change the size of its parts.
void train_in_parts(Config root, int64_t part, int64_t last_step, const std::string& from, const std::string& out) {
  root.assign(fmt::format("train.micro_batch={}", part));
  const TrainInput input = input_for(root);
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  const Trained trained = {parts.model, *parts.optimizers, *parts.method, *parts.source};
  TrainingState state;
  if (!from.empty()) {
    const OpenCheckpoint checkpoint = open_checkpoint(from);
    restore(checkpoint, trained);
    state = checkpoint.state;
  }
  const int64_t batches = parts.source->batches_per_epoch();
  parts.model.train(true);
  for (; state.step < last_step; state.batch = 0, ++state.epoch) {
    parts.method->terms().begin_epoch(state.epoch);
    parts.source->start(state.epoch, state.batch);
    while (state.step < last_step) {
      const auto batch = parts.source->next();
      if (!batch) break;
      set_learning_rate(*parts.optimizers->network, parts.schedule->learning_rate(state.epoch, batch->number, batches));
      parts.method->run(*batch, ++state.step);
      ++state.batch;
    }
    if (state.batch < batches) break;
  }
  save_checkpoint(out, trained, state, {resolve_recipe(input.recipe, *input.dataset), name_table(*input.dataset), {}});
}

// The recipe with B / W images at a time, in one process and on W ranks.
void expect_ranks_are_parts(Config root, int64_t W) {
  const TemporaryFolder folder;
  train_on_ranks(in_folder(root, folder.path() + "/ranks"), W);
  const int64_t batch = read_recipe(root).train.batch_size;
  root.assign(fmt::format("train.micro_batch={}", batch / W));
  train(input_for(in_folder(root, folder.path() + "/one")));
  expect_same_training(folder.path() + "/one", folder.path() + "/ranks");
}

// Each normalises its own rows, as one process does with a part at a time.
Config parts_of(int64_t batch_size, int64_t epochs) {
  Config root = batches_of(batch_size, epochs);
  root.assign("train.synchronise_norm=false");
  return root;
}

TEST(RankTraining, IsThatOfOneProcessInParts) {
  expect_ranks_are_parts(parts_of(16, 4), 2);  // 24 steps
  expect_ranks_are_parts(parts_of(15, 4), 3);
  expect_ranks_are_parts(parts_of(16, 4), 4);
  expect_ranks_are_parts(parts_of(16, 4), 8);
}

TEST(RankTraining, JointForwardsAndPartsOfShares) {
  Config root = parts_of(16, 1);
  root.assign("views.forward=joint");
  expect_ranks_are_parts(root, 2);
  // Shares of 8 in parts of 4 are one process' parts of 4: sums of gradients are formed in another order.
  const TemporaryFolder folder;
  root.assign("train.micro_batch=4");
  train_on_ranks(in_folder(root, folder.path() + "/ranks"), 2);
  train(input_for(in_folder(root, folder.path() + "/one")));
  const auto first = [&](const char* run) { return metric_lines(folder.path() + run).front().at("loss").get<double>(); };
  EXPECT_NEAR(first("/ranks"), first("/one"), 1e-4);
}

TEST(RankTraining, BetweenDevicesIsThatByWayOfTheHost) {
  const TemporaryFolder folder;
  const auto device = std::make_shared<HostAsDevice>();
  train_on_ranks(in_folder(batches_of(16, 1), folder.path() + "/host"), 2);
  train_on_ranks(in_folder(batches_of(16, 1), folder.path() + "/devices"), 2, {},
                 [&](Rendezvous& rendezvous, int64_t) { rendezvous.devices = device; });
  expect_same_training(folder.path() + "/host", folder.path() + "/devices");
  EXPECT_GT(*device->calls, 2 * HostAsDevice::kTrials);
  EXPECT_THAT(file_text(folder.path() + "/devices/train.log"), HasSubstr("tensors cross between devices, through a double"));
  EXPECT_THAT(file_text(folder.path() + "/host/train.log"), testing::Not(HasSubstr("devices")));
}

class RefusingHost : public HostAsDevice {
 public:
  std::string open() const override { throw resource_error("no library"); }
};

TEST(RankTraining, SaysWhyTensorsOfDevicesGoByWayOfTheHost) {
  const TemporaryFolder folder;
  KeptLog log;
  train_on_ranks(
      in_folder(batches_of(16, 1), folder.path() + "/run"), 2,
      [&](TrainInput& input, const Ranks& ranks) {
        if (ranks.leads()) input.log = &log;
      },
      [&](Rendezvous& rendezvous, int64_t rank) {
        rendezvous.devices = rank == 1 ? std::make_shared<RefusingHost>() : std::make_shared<HostAsDevice>();
      });
  EXPECT_THAT(log.text, HasSubstr("warning: tensors of devices cross by way of the host: rank 1 of 2: no library\n"));
}

class EveryObjectiveOnRanks : public testing::TestWithParam<std::string> {};

TEST_P(EveryObjectiveOnRanks, IsThatOfOneProcessInParts) {
  const TemporaryFolder folder;
  Config root = parts_of(16, 1);
  const ObjectiveEntry* entry = &find_entry(objective_registry(), GetParam(), "objective");
  root.assign("objective={name: " + entry->name + (entry->needs_bias_features ? ", bias_features: " + write_bias_features(folder) : "") +
              "}");
  if (entry->kind == InputKind::kLogits) root.assign("classifier={name: linear, gradient: flow}");
  expect_ranks_are_parts(root, 2);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryObjectiveOnRanks, testing::ValuesIn(names_of(objective_registry())),
                         [](const auto& test) { return test.param; });

Config many_parts(const TemporaryFolder& folder) {
  Config root = parts_of(16, 3);
  root.assign(
      "objective=[{name: hard_negatives, beta: {schedule: linear, from: 2, to: 0.1}}, {name: fairkl, 'on': encoder, mode: mean, weight: "
      "{schedule: steps, values: {0: 0.5, 2: 0.25}}, bias_features: " +
      write_bias_features(folder) + "}, {name: cross_entropy}]");
  root.assign("classifier={name: linear, gradient: flow}");
  root.assign("views.noise=0.3");
  return root;
}

TEST(RankTraining, OfSeveralTermsASchedulesAndAClassifierIsThatOfOneProcess) {
  const TemporaryFolder folder;
  expect_ranks_are_parts(many_parts(folder), 4);
  Config probe = parts_of(16, 2);
  probe.assign("classifier={name: linear}");  // a probe with an optimizer of its own
  expect_ranks_are_parts(probe, 2);
}

TEST(RankTraining, OfAShortLastBatchIsThatOfOneProcess) {
  Config root = parts_of(20, 2);  // the last of 96 images are 16
  root.assign("train.drop_last=false");
  const TemporaryFolder folder;
  train_on_ranks(in_folder(root, folder.path() + "/ranks"), 2);
  root.assign("train.micro_batch=10");  // the last batch in parts of 10 and 6, on the ranks of 8 and 8
  train(input_for(in_folder(root, folder.path() + "/one")));
  const auto ranks = metric_lines(folder.path() + "/ranks"), one = metric_lines(folder.path() + "/one");
  ASSERT_EQ(ranks.size(), one.size());
  EXPECT_EQ(ranks[0], one[0]);  // steps 2 and 4 of 5
  EXPECT_EQ(ranks[1], one[1]);
}

// Stopped on `rank` after so many steps, and resumed with `then` ranks.
void train_in_two_on_ranks(const Config& root, int64_t W, int64_t rank, int64_t steps, int64_t then) {
  std::atomic<int> flag{0};
  StopAfter stop(flag, steps);
  const auto stop_one = [&](TrainInput& input, const Ranks& ranks) {
    if (ranks.rank() != rank) return;
    input.stop_signal = &flag;
    input.progress = &stop;
  };
  ASSERT_THAT(error_of(ErrorKind::kInterrupted, [&] { train_on_ranks(root, W, stop_one); }),
              HasSubstr(fmt::format("rank {} of {}: stopped by SIGTERM after step {}", rank, W, steps + 1)));
  const auto resume = [](TrainInput& input, const Ranks&) { input.existing = ExistingFolder::kResume; };
  train_on_ranks(root, then, resume);
}

TEST(RankTraining, StoppedOnAnyRankIsResumedByteForByte) {
  const TemporaryFolder folder;
  const Config root = many_parts(folder);
  train_on_ranks(in_folder(root, folder.path() + "/whole"), 3);
  for (const int64_t rank : {0, 2}) {
    const std::string path = fmt::format("{}/stopped-{}", folder.path(), rank);
    train_in_two_on_ranks(in_folder(root, path), 3, rank, 7, 3);
    expect_same_run(folder.path() + "/whole", path);
  }
}

TEST(RankTraining, IsResumedWithAnotherNumberOfRanks) {
  const TemporaryFolder folder;
  const Config root = in_folder(parts_of(16, 3), folder.path() + "/run");
  train_in_two_on_ranks(root, 4, 1, 8, 2);
  const auto lines = metric_lines(folder.path() + "/run");
  EXPECT_EQ(lines.back().at("epoch"), 3);
  EXPECT_EQ(lines.size(), 12u);  // nine of steps, three of epochs
  EXPECT_THAT(file_text(folder.path() + "/run/train.log"), HasSubstr("the run used 4 processes, now 2"));
  // One process, with the parts that the four and then the two have.
  const Config one = parts_of(16, 3);
  train_in_parts(one, 4, 9, "", folder.path() + "/nine");
  train_in_parts(one, 8, 18, folder.path() + "/nine", folder.path() + "/all");
  expect_same_tensors(folder.path() + "/all", folder.path() + "/run/checkpoints/last.safetensors");
}

// One network in float32 without batch normalisation: the same on any number of ranks but for the order of sums.
TEST(RankTraining, OfMomentumContrastKeepsOneQueueOnAllRanks) {
  Config root = parts_of(16, 2);
  root.assign("method={name: moco, queue: 48, momentum: 0.9}");
  const TemporaryFolder folder;
  train_on_ranks(in_folder(root, folder.path() + "/two"), 2);
  train_in_two_on_ranks(in_folder(root, folder.path() + "/resumed"), 2, 1, 5, 2);
  expect_same_run(folder.path() + "/two",
                  folder.path() + "/resumed");  // the queue, its samples and labels, and the copy are among its tensors
  train(input_for(in_folder(root, folder.path() + "/one")));
  const auto queue_of = [&](const char* run, const char* name) {
    for (const auto& [tensor, bytes] : tensors_of(folder.path() + run + "/checkpoints/last.safetensors")) {
      if (tensor == name) return bytes;
    }
    return std::string();
  };
  for (const char* name : {"queue.samples", "queue.labels", "queue.next"}) {
    EXPECT_EQ(queue_of("/two", name), queue_of("/one", name)) << name;  // the keys of all rows, in the order of the batch
    EXPECT_FALSE(queue_of("/two", name).empty());
  }
}

TEST(RankTraining, RefusesRanksThatDiffer) {
  const TemporaryFolder folder;
  const Config root = in_folder(parts_of(16, 1), folder.path() + "/run");
  const auto with = [&](const std::string& change) {
    return usage_error_of([&] {
      train_on_ranks(root, 2, [&](TrainInput& input, const Ranks& ranks) {
        if (ranks.rank() == 0) return;
        Config other = root;
        other.assign(change);
        input.recipe = read_recipe(other);
        const std::shared_ptr<const Dataset> dataset = input.recipe.train_data.make_images();
        input.dataset = dataset;
        input.data.sets["train"] = fingerprint(*dataset, input.recipe.train_data, Verify::kListing);
      });
    });
  };
  EXPECT_THAT(with("optimizer.learning_rate=0.5"), StartsWith("rank 1 of 2 has not the recipe of rank 0: optimizer.learning_rate is"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/run"));
}

TEST(RankTraining, RefusesMoreRanksThanABatchHasRows) {
  const TemporaryFolder folder;
  const Config root = in_folder(parts_of(4, 1), folder.path() + "/run");
  EXPECT_THAT(usage_error_of([&] { train_on_ranks(root, 5); }), HasSubstr("5 ranks share batches of 4 images; start at most 4"));
  EXPECT_THAT(usage_error_of([&] { train_on_ranks(root, 3); }),
              HasSubstr("3 ranks share a batch of 4: one sees one image alone in a pass"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/run"));
}

}  // namespace ranks_test
}  // namespace debias

#include "debias/agent/replay.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/core/error.h"
#include "debias/encoders/state.h"
#include "debias/train/state/checkpoint.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace replay_test {

constexpr int64_t kPixels = 4, kBytes = 3 * kPixels * kPixels;

std::vector<uint8_t> picture(int value) { return std::vector<uint8_t>(kBytes, static_cast<uint8_t>(value)); }

std::vector<int> values(const std::vector<const uint8_t*>& stack) {
  std::vector<int> all;
  for (const uint8_t* one : stack) all.push_back(one[0]);
  return all;
}

ReplayShape shape_of(int64_t capacity, int64_t window, int64_t spare) {
  return {.picture_bytes = kBytes, .stack = 3, .actions = 1, .capacity = capacity, .window = window, .spare = spare};
}

// Episodes of `steps` steps; picture and reward of a step are its number over all.
void live(Replay& replay, int episodes, int steps, int& number) {
  for (int episode = 0; episode < episodes; ++episode) {
    replay.begin_episode(picture(number++));
    for (int step = 0; step < steps; ++step) {
      replay.add(std::vector<float>{static_cast<float>(number)}, number, picture(number));
      ++number;
    }
  }
}

TEST(ReplayTest, StacksThePicturesOfATransitionWithinItsEpisode) {
  const TemporaryFolder folder;
  Replay replay(folder.path() + "/pictures", shape_of(20, 40, 0));
  int number = 0;
  live(replay, 2, 4, number);  // pictures 0..4 and 5..9
  ASSERT_EQ(replay.size(), 8);
  EXPECT_THAT(values(replay.at(0).seen), testing::ElementsAre(0, 0, 0));
  EXPECT_THAT(values(replay.at(0).next), testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(values(replay.at(3).seen), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(values(replay.at(3).next), testing::ElementsAre(2, 3, 4));
  EXPECT_THAT(values(replay.at(4).seen), testing::ElementsAre(5, 5, 5));
  EXPECT_THAT(values(replay.at(5).next), testing::ElementsAre(5, 6, 7));
  EXPECT_EQ(replay.at(5).reward, 7);
  EXPECT_EQ(replay.at(5).action[0], 7);
}

TEST(ReplayTest, KeepsTheNewestOfItsCapacityAndNoneWhosePicturesAreGone) {
  const TemporaryFolder folder;
  Replay by_capacity(folder.path() + "/a", shape_of(5, 30, 4)), by_window(folder.path() + "/b", shape_of(50, 10, 4));
  int first = 0, second = 0;
  live(by_capacity, 3, 9, first);
  ASSERT_EQ(by_capacity.size(), 5);
  EXPECT_EQ(by_capacity.at(0).reward, 25);
  live(by_window, 3, 9, second);  // pictures 20..29 are in the window, those of the last episode
  ASSERT_EQ(by_window.size(), 9);
  EXPECT_THAT(values(by_window.at(0).seen), testing::ElementsAre(20, 20, 20));
  EXPECT_THAT(values(by_window.at(8).next), testing::ElementsAre(27, 28, 29));
}

void save(Replay& replay, const std::string& path) { save_checkpoint(path, replay.state(), {}); }

TEST(ReplayTest, ComesBackAsItWasSavedWhateverWasAddedSince) {
  const TemporaryFolder folder;
  const std::string pictures = folder.path() + "/pictures", checkpoint = folder.path() + "/checkpoint";
  int number = 0;
  {
    Replay replay(pictures, shape_of(5, 12, 6));
    live(replay, 3, 9, number);
    save(replay, checkpoint);
    EXPECT_EQ(replay.unsaved(), 0);
    replay.begin_episode(picture(101));
    for (int i = 0; i < 5; ++i) replay.add(std::vector<float>{0.0f}, 0, picture(102 + i));  // as many as are spare
    EXPECT_EQ(replay.unsaved(), 6);
  }
  Replay replay(pictures, shape_of(5, 12, 6));
  replay.load(SafetensorsFile::open(checkpoint));
  ASSERT_EQ(replay.size(), 5);
  EXPECT_THAT(values(replay.at(0).seen), testing::ElementsAre(22, 23, 24));
  EXPECT_EQ(replay.newest_picture()[0], 29);
  replay.add(std::vector<float>{1.0f}, 30, picture(30));
  EXPECT_THAT(values(replay.at(4).next), testing::ElementsAre(28, 29, 30));
}

TEST(ReplayTest, PictureThatWasChangedIsRefused) {
  const TemporaryFolder folder;
  const std::string pictures = folder.path() + "/pictures", checkpoint = folder.path() + "/checkpoint";
  int number = 0;
  {
    Replay replay(pictures, shape_of(20, 40, 0));
    live(replay, 1, 9, number);
    save(replay, checkpoint);
  }
  std::fstream file(pictures, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4 * kBytes + 7);
  file.put(99);
  file.close();
  Replay replay(pictures, shape_of(20, 40, 0));
  EXPECT_THAT(data_error_of([&] { replay.load(SafetensorsFile::open(checkpoint)); }),
              testing::HasSubstr("frame 4 of '" + pictures + "' is not the one that the checkpoint knows"));
}

TEST(ReplayTest, LargerThanTheDiskSaysWhatToLower) {
  const TemporaryFolder folder;
  ReplayShape shape = shape_of(10, int64_t{1} << 40, 0);
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { Replay(folder.path() + "/pictures", shape); }),
              testing::HasSubstr("lower replay.capacity or replay.megabytes"));
}

// Pictures in which every pixel says where it lies.
std::vector<uint8_t> map_of_places(int64_t pixels) {
  std::vector<uint8_t> all(static_cast<size_t>(3 * pixels * pixels));
  for (int64_t i = 0; i < static_cast<int64_t>(all.size()); ++i) all[static_cast<size_t>(i)] = static_cast<uint8_t>(i % (pixels * pixels));
  return all;
}

TEST(BatchesTest, CropsOfASampleAreAlikeInAllChannelsAndNeverTheLastPlace) {
  const TemporaryFolder folder;
  constexpr int64_t kSide = 10, kCrop = 6;
  Replay replay(folder.path() + "/pictures", {.picture_bytes = 3 * kSide * kSide, .stack = 3, .actions = 1, .capacity = 20, .window = 40});
  replay.begin_episode(map_of_places(kSide));
  for (int i = 0; i < 6; ++i) replay.add(std::vector<float>{0.5f}, i, map_of_places(kSide));
  const BatchShape shape{.batch_size = 400, .channels = 9, .pixels = kSide, .crop = kCrop, .positives = 2, .actions = 1, .seed = 3};
  const AgentBatch batch = draw_batch(replay, shape, 17);
  std::vector<int64_t> seen_at(kSide * kSide);
  for (const at::Tensor& pictures : {batch.seen, batch.next, batch.positives[0], batch.positives[1]}) {
    for (int64_t row = 0; row < shape.batch_size; ++row) {
      const auto place = pictures[row][0][0][0].item<int64_t>();
      ++seen_at[static_cast<size_t>(place)];
      for (int64_t c = 1; c < 9; ++c) ASSERT_TRUE(at::equal(pictures[row][0], pictures[row][c]));
      ASSERT_EQ(pictures[row][0][2][3].item<int64_t>(), place + 2 * kSide + 3);
    }
  }
  for (int64_t top = 0; top < kSide; ++top) {
    for (int64_t left = 0; left < kSide; ++left) {
      const bool may_be = top < kSide - kCrop && left < kSide - kCrop;
      EXPECT_EQ(seen_at[static_cast<size_t>(top * kSide + left)] > 0, may_be) << top << ", " << left;
    }
  }
  EXPECT_FALSE(at::equal(batch.seen, batch.positives[0]));
  EXPECT_FALSE(at::equal(batch.positives[0], batch.positives[1]));
  EXPECT_EQ(std::get<0>(at::_unique(batch.rewards)).numel(), 6);
}

TEST(BatchesTest, AreAFunctionOfSeedAndStep) {
  const TemporaryFolder folder;
  Replay replay(folder.path() + "/pictures", shape_of(20, 40, 0));
  int number = 0;
  live(replay, 1, 9, number);
  const BatchShape shape{.batch_size = 8, .channels = 9, .pixels = kPixels, .crop = 2, .positives = 1, .actions = 1, .seed = 3};
  const AgentBatch one = draw_batch(replay, shape, 5), same = draw_batch(replay, shape, 5), other = draw_batch(replay, shape, 6);
  EXPECT_TRUE(at::equal(one.seen, same.seen) && at::equal(one.noise, same.noise) && at::equal(one.rewards, same.rewards));
  EXPECT_FALSE(at::equal(one.noise, other.noise));
  EXPECT_FALSE(at::equal(one.noise, one.noise_next));
  EXPECT_FALSE(at::equal(random_action(shape, 1), random_action(shape, 2)));
}

TEST(BatchesTest, CentreCropLeavesAsMuchOnEitherSide) {
  const BatchShape shape{.channels = 3, .pixels = 10, .crop = 6};
  const at::Tensor crop = centre_crop(map_of_places(10), shape);
  EXPECT_EQ(crop.sizes(), (std::vector<int64_t>{1, 3, 6, 6}));
  EXPECT_EQ(crop[0][2][0][0].item<int64_t>(), 22);
}

}  // namespace replay_test
}  // namespace debias

#include "debias/core/atomic_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tests/core/file_bytes.h"

namespace debias {
namespace unfinished_test {

namespace fs = std::filesystem;

TEST(Unfinished, FilesAndFoldersAreRemovedWithWhatTheyHold) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "made/inner/deep");
  for (int i = 0; i < 300; ++i) put_bytes(folder / "made/inner/" + std::string(40, 'x') + std::to_string(i), "");
  put_bytes(folder / "made/inner/deep/z", "z");
  put_bytes(folder / "file", "a");
  put_bytes(folder / "other", "b");
  fs::create_directory_symlink(folder / "kept", folder / "made/link");
  fs::create_directory(folder / "kept");
  put_bytes(folder / "kept/c", "c");
  const Unfinished made(folder / "made"), file(folder / "file"), gone(folder / "none");
  remove_unfinished();
  EXPECT_FALSE(fs::exists(folder / "made"));
  EXPECT_FALSE(fs::exists(folder / "file"));
  EXPECT_EQ(bytes_of(folder / "other"), "b");
  EXPECT_EQ(bytes_of(folder / "kept/c"), "c");  // a link is removed, not what it names
}

TEST(Unfinished, WhatIsFinishedStays) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "a");
  put_bytes(folder / "b", "b");
  Unfinished held(folder / "b");
  {
    const Unfinished a(folder / "a");
    held = Unfinished();
  }
  remove_unfinished();
  EXPECT_EQ(bytes_of(folder / "a"), "a");
  EXPECT_EQ(bytes_of(folder / "b"), "b");
}

TEST(Unfinished, HoldsNothingBeyondItsPlaces) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<Unfinished>> all;
  for (int i = 0; i < 100; ++i) all.push_back(std::make_unique<Unfinished>(folder / "none"));
  put_bytes(folder / "a", "a");
  const Unfinished a(folder / "a"), long_path(folder / std::string(5000, 'x'));
  remove_unfinished();
  EXPECT_EQ(bytes_of(folder / "a"), "a");
}

TEST(Unfinished, AFileUnderConstructionIsOneUntilItIsCommitted) {
  const TemporaryFolder folder;
  AtomicFile written(folder / "a"), committed(folder / "b");
  committed.commit();
  remove_unfinished();
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_TRUE(fs::exists(folder / "b"));
}

}  // namespace unfinished_test
}  // namespace debias

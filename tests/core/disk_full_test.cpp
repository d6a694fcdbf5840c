#include "debias/core/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "tests/support/small_disk.h"

namespace debias {
namespace disk_full_test {

using testing::HasSubstr;

constexpr int64_t kDisk = 256 << 10, kRoom = 64 << 10;

TEST(DiskFull, SaysWhatTheWholeFileNeedsAndWhatIsFreeAndLeavesTheOldOne) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  write_file_atomically(disk / "old", "old");
  disk.fill(kRoom);
  const int64_t room = disk.free();
  const std::string whole(100'000, 'x');
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      write_file_atomically(disk / "old", whole);
      FAIL() << "it had room";
    } catch (const DiskFull& full) {
      EXPECT_EQ(full.kind(), ErrorKind::kResource);
      EXPECT_EQ(full.needed(), whole.size());
      EXPECT_THAT(full.what(), HasSubstr(fmt::format("the disk is full: 100000 bytes are needed, {} are free", room)));
    }
    EXPECT_EQ(disk.free(), room);
    EXPECT_EQ(std::filesystem::file_size(disk / "old"), 3u);
  }
  disk.make_room();
  write_file_atomically(disk / "old", whole);
}

TEST(DiskFull, OfFilesInPartsSaysWhatAllPartsNeed) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  disk.fill(kRoom);
  const std::vector<float> values(60'000);
  const auto need = [&](const auto& write) -> uint64_t {
    try {
      write();
    } catch (const DiskFull& full) {
      return full.needed();
    }
    return 0;
  };
  const TensorBytes tensor{"a", DType::kFloat32, {30'000}, values.data()};
  TensorBytes other = tensor;
  other.name = "b";
  EXPECT_GE(need([&] { write_safetensors(disk / "x", {tensor, other}, {}); }), 240'000u);
  EXPECT_GE(need([&] { write_npy(disk / "y.npy", DType::kFloat32, {60'000}, values.data()); }), 240'000u);
}

TEST(DiskFull, FreeBytesAreThoseOfTheFolderAboveWhatIsNotThereYet) {
  const SmallDisk disk(kDisk);
  if (!disk.is_there()) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(free_bytes(disk / "a/b/c"), disk.free());
}

}  // namespace disk_full_test
}  // namespace debias

#include "debias/core/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

#include "tests/core/file_bytes.h"
#include "tests/support/refusals.h"

namespace debias {
namespace atomic_file_test {

using testing::AllOf;
using testing::HasSubstr;

// A disk with room for `bytes` more in a file: further writes fail with EFBIG as they would with ENOSPC.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

std::string failure(const std::string& path) {
  return error_of(ErrorKind::kResource, [&] { write_file_atomically(path, "new"); });
}

TEST(AtomicFile, AppearsWholeOnCommitAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("ne", 2);
    file.write("w", 1);
    EXPECT_EQ(bytes_of(folder / "a"), "old");
    file.commit();
  }
  EXPECT_EQ(bytes_of(folder / "a"), "new");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, WithoutCommitTheTargetStaysAndNothingIsLeft) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a"), other(folder / "b");
    file.write("new", 3);
  }
  EXPECT_EQ(bytes_of(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, TwoWritersOfOneTargetDoNotMix) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a"), second(folder / "a");
  first.write("first", 5);
  second.write("second", 6);
  first.commit();
  second.commit();
  EXPECT_EQ(bytes_of(folder / "a"), "second");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, TakesAnotherNameWhereAKilledProcessLeftItsOwn) {
  const TemporaryFolder folder;
  size_t left = 0;
  {
    AtomicFile probe(folder / "a");  // learns the number that the next ones count from
    const std::string name = std::filesystem::directory_iterator(folder.path())->path().string();
    const auto dash = name.rfind('-');
    for (int ahead = 1; ahead <= 3; ++ahead, ++left)
      put_bytes(name.substr(0, dash + 1) + std::to_string(std::stoi(name.substr(dash + 1)) + ahead), "x");
  }
  write_file_atomically(folder / "a", "new");
  EXPECT_EQ(bytes_of(folder / "a"), "new");
  EXPECT_EQ(folder.entries(), left + 1);
}

TEST(AtomicFile, AFullDiskIsAResourceErrorAndChangesNothing) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "old");
  const std::string big(100'000, 'x');
  {
    const SmallDisk disk(65536);
    EXPECT_THAT(error_of(ErrorKind::kResource, [&] { write_file_atomically(folder / "a", big); }),
                AllOf(HasSubstr(folder / "a"), HasSubstr("ulimit -f: 65536 bytes")));
  }
  EXPECT_EQ(bytes_of(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, AMissingFolderIsAResourceErrorNamingPathAndReason) {
  const TemporaryFolder folder;
  EXPECT_THAT(failure(folder / "none/a"), AllOf(HasSubstr(folder / "none/a"), HasSubstr("No such file or directory")));
  put_bytes(folder / "file", "");
  EXPECT_THAT(failure(folder / "file/a"), HasSubstr("Not a directory"));
}

TEST(AtomicFile, AFolderWithoutPermissionIsAResourceError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "locked");
  std::filesystem::permissions(folder / "locked", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_THAT(failure(folder / "locked/a"), HasSubstr("Permission denied"));
}

TEST(AtomicFile, ReplacesNeitherFoldersNorDevices) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "b");
  EXPECT_THAT(failure(folder / "b"), AllOf(HasSubstr(folder / "b"), HasSubstr("not a regular file")));
  std::filesystem::create_symlink("/dev/null", folder / "null");
  EXPECT_THAT(failure(folder / "null"), HasSubstr("not a regular file"));
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(RenameDurably, ReplacesTheTargetOrNamesIt) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "new");
  put_bytes(folder / "b", "old");
  rename_durably(folder / "a", folder / "b");
  EXPECT_EQ(bytes_of(folder / "b"), "new");
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { rename_durably(folder / "a", folder / "c"); }),
              AllOf(HasSubstr(folder / "a"), HasSubstr(folder / "c"), HasSubstr("No such file")));
}

}  // namespace atomic_file_test
}  // namespace debias

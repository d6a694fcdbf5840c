// Files and descriptors: read in pieces, written whole or not at all, taken away where unfinished, and what a full disk says.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "debias/core/atomic_file.h"
#include "debias/core/input_file.h"
#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "debias/core/stand_in.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace files_test {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

TEST(InputFile, ReadsPiecesAtTheirOffsets) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "0123456789");
  const InputFile file(folder / "a");
  EXPECT_EQ(file.size(), 10u);
  std::string piece(3, ' ');
  file.read(7, piece.data(), 3);
  EXPECT_EQ(piece, "789");
  file.read(0, piece.data(), 2);
  EXPECT_EQ(piece, "019");
  file.read(10, piece.data(), 0);
}

TEST(InputFile, NamesThePathAndWhatIsWrong) {
  const TemporaryFolder folder;
  const auto open = [&](const std::string& path) { return data_error_of([&] { InputFile{path}; }); };
  EXPECT_THAT(open(folder / "none"), AllOf(HasSubstr(folder / "none"), HasSubstr("No such file")));
  EXPECT_THAT(open(folder.path()), AllOf(HasSubstr(folder.path()), HasSubstr("not a regular file")));
  EXPECT_THAT(open("/dev/zero"), HasSubstr("not a regular file"));
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(open(folder / "pipe"), HasSubstr("not a regular file"));  // and does not wait for a writer
}

TEST(InputFile, AFileCutWhileOpenIsADataError) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "0123456789");
  const InputFile file(folder / "a");
  std::filesystem::resize_file(folder / "a", 4);
  std::string bytes(10, ' ');
  EXPECT_THAT(data_error_of([&] { file.read(0, bytes.data(), 10); }), AllOf(HasSubstr(folder / "a"), HasSubstr("it is cut")));
}

// A disk with room for `bytes` more in a file: further writes fail with EFBIG as they would with ENOSPC.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
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
    EXPECT_EQ(file_text(folder / "a"), "old");
    file.commit();
  }
  EXPECT_EQ(file_text(folder / "a"), "new");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, WithoutCommitTheTargetStaysAndNothingIsLeft) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a"), other(folder / "b");
    file.write("new", 3);
  }
  EXPECT_EQ(file_text(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(AtomicFile, TwoWritersOfOneTargetDoNotMix) {
  const TemporaryFolder folder;
  AtomicFile first(folder / "a"), second(folder / "a");
  first.write("first", 5);
  second.write("second", 6);
  first.commit();
  second.commit();
  EXPECT_EQ(file_text(folder / "a"), "second");
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
  EXPECT_EQ(file_text(folder / "a"), "new");
  EXPECT_EQ(folder.entries(), left + 1);
}

TEST(AtomicFile, AFullDiskIsAResourceErrorAndChangesNothing) {
  const TemporaryFolder folder;
  put_bytes(folder / "a", "old");
  const std::string big(100'000, 'x');
  {
    const FileSizeLimit limit(65536);
    EXPECT_THAT(error_of(ErrorKind::kResource, [&] { write_file_atomically(folder / "a", big); }),
                AllOf(HasSubstr(folder / "a"), HasSubstr("ulimit -f: 65536 bytes")));
  }
  EXPECT_EQ(file_text(folder / "a"), "old");
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
  EXPECT_EQ(file_text(folder / "b"), "new");
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { rename_durably(folder / "a", folder / "c"); }),
              AllOf(HasSubstr(folder / "a"), HasSubstr(folder / "c"), HasSubstr("No such file")));
}

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
  EXPECT_EQ(file_text(folder / "other"), "b");
  EXPECT_EQ(file_text(folder / "kept/c"), "c");  // a link is removed, not what it names
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
  EXPECT_EQ(file_text(folder / "a"), "a");
  EXPECT_EQ(file_text(folder / "b"), "b");
}

TEST(Unfinished, HoldsNothingBeyondItsPlaces) {
  const TemporaryFolder folder;
  std::vector<std::unique_ptr<Unfinished>> all;
  for (int i = 0; i < 100; ++i) all.push_back(std::make_unique<Unfinished>(folder / "none"));
  put_bytes(folder / "a", "a");
  const Unfinished a(folder / "a"), long_path(folder / std::string(5000, 'x'));
  remove_unfinished();
  EXPECT_EQ(file_text(folder / "a"), "a");
}

TEST(Unfinished, AFileUnderConstructionIsOneUntilItIsCommitted) {
  const TemporaryFolder folder;
  AtomicFile written(folder / "a"), committed(folder / "b");
  committed.commit();
  remove_unfinished();
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_TRUE(fs::exists(folder / "b"));
}

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

int open_null() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

TEST(Descriptor, IsClosedWithItsScope) {
  int number = -1;
  {
    const Descriptor file(open_null());
    number = file.value();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, IsClosedOnce) {
  std::optional<Descriptor> file(open_null());
  const int number = file->value();
  file->shut();
  EXPECT_EQ(file->value(), -1);
  const Descriptor next(open_null());
  ASSERT_EQ(next.value(), number);  // the lowest that is free
  file->shut();
  file.reset();
  EXPECT_TRUE(is_open(number));
}

TEST(Descriptor, IsClosedByWhomItWasMovedTo) {
  std::optional<Descriptor> first(open_null());
  const int number = first->value();
  std::optional<Descriptor> second(std::move(*first));
  EXPECT_EQ(first->value(), -1);
  first.reset();
  EXPECT_TRUE(is_open(number));
  EXPECT_EQ(second->value(), number);
  second.reset();
  EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, ClosesWhatItHadWhereAnotherIsMovedIntoIt) {
  Descriptor file(open_null());
  const int before = file.value();
  file = Descriptor(open_null());
  EXPECT_NE(file.value(), before);
  EXPECT_TRUE(is_open(file.value()));
  EXPECT_FALSE(is_open(before));
}

TEST(Descriptor, StaysOpenWhereItIsReleased) {
  int number = -1;
  {
    Descriptor file(open_null());
    number = file.release();
    EXPECT_EQ(file.value(), -1);
  }
  EXPECT_TRUE(is_open(number));
  const Descriptor again(number);
}

TEST(Descriptor, OfWhatCouldNotBeOpenedIsNothingToClose) {
  const int failed = open("/dev/null/none", O_RDONLY | O_CLOEXEC);
  ASSERT_LT(failed, 0);
  Descriptor none(failed);
  errno = 0;
  none.shut();
  EXPECT_EQ(errno, 0);  // close(-1) would leave EBADF
}

class ForeignFiles : public testing::Test {
 protected:
  std::string written(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string what(const std::string& path) { return foreign_file(InputFile(path)).what; }
  TemporaryFolder folder_;
};

const std::string kFilled(100, '\x7f');

TEST_F(ForeignFiles, AreRecognisedByTheirFirstBytesWhateverTheirName) {
  const std::vector<float> numbers = {1, 2};
  write_npy(folder_ / "z.bin", DType::kFloat32, {2}, numbers.data());
  EXPECT_EQ(what(folder_ / "z.bin"), "a NumPy array");
  EXPECT_THAT(what(written("a", "PK\x03\x04" + kFilled)), HasSubstr("torch.save"));
  EXPECT_THAT(what(written("b", std::string("\x80\x02\x8a\x0a", 4) + kFilled)), HasSubstr("torch.save"));
  EXPECT_EQ(what(written("c", std::string("\x08\x07\x12\x07pytorch", 11) + kFilled)), "an ONNX network");
  EXPECT_EQ(what(written("d.onnx", kFilled)), "an ONNX network");
  EXPECT_EQ(what(written("e", "seed: 1\nencoder: resnet18\n")), "a text file");
  EXPECT_EQ(what(written("f", std::string("\x01\x02\x03", 3) + kFilled)), "");
  EXPECT_EQ(what(written("g", "")), "");
}

// 640 is 80 02 in the bytes of a header's length, as a pickle of torch begins.
TEST_F(ForeignFiles, AreNotSeenInSafetensors) {
  for (const uint64_t length : {uint64_t{640}, uint64_t{0x120708}}) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i) & 0xff));
    EXPECT_EQ(what(written("ours", bytes + "{\"a\": 1}" + std::string(2000, ' '))), "") << length;
  }
}

TEST_F(ForeignFiles, AreNamedWithWhatToDoWhereSafetensorsAreRead) {
  const auto refusal = [&](const std::string& path) { return error_of(ErrorKind::kData, [&] { SafetensorsFile::open(path); }); };
  EXPECT_THAT(refusal(written("model.pth", "PK\x03\x04" + kFilled)), HasSubstr("python -m debias.weights convert"));
  EXPECT_THAT(refusal(written("z.npy", "\x93NUMPY" + kFilled)), HasSubstr("it is a NumPy array, not a safetensors file; embeddings"));
  EXPECT_THAT(refusal(written("noise", std::string(100, '\xff'))), HasSubstr("is it a safetensors file?"));
}

TEST(StandIn, IsNamedWithWhatToDo) {
  const auto what = [](std::string_view start) { return stand_in(start).what; };
  EXPECT_EQ(what("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n"), "a pointer of Git LFS");
  EXPECT_EQ(what("\xef\xbb\xbf\n <!DOCTYPE HTML><html>"), "an HTML page");
  EXPECT_EQ(what("<html lang=en>"), "an HTML page");
  EXPECT_EQ(what("<?xml version='1.0'?><Error>"), "an XML document");
  EXPECT_EQ(what("{\"error\": 404}"), "a JSON text");
  EXPECT_EQ(what("PK\x03\x04rest"), "a zip archive or an Excel workbook");
  EXPECT_EQ(what("\x1f\x8b\x08"), "a file compressed by gzip");
  EXPECT_EQ(what("path,label\na,b\n"), "");
  EXPECT_EQ(what("version,label\n1,2\n"), "");
  EXPECT_EQ(what(""), "");
}

}  // namespace files_test
}  // namespace debias

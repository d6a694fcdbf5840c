#include "debias/core/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/core/file_bytes.h"
#include "tests/support/refusals.h"

namespace debias {
namespace input_file_test {

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

}  // namespace input_file_test
}  // namespace debias

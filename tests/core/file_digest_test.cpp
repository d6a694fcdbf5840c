#include "debias/core/sha256.h"

#include <gtest/gtest.h>

#include <fstream>

#include "debias/core/error.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace file_digest_test {

TEST(FileDigest, IsThatOfFips180) {
  const TemporaryFolder folder;
  std::ofstream(folder / "abc", std::ios::binary) << "abc";
  EXPECT_EQ(file_digest(folder / "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::ofstream(folder / "million", std::ios::binary) << std::string(1000000, 'a');
  EXPECT_EQ(file_digest(folder / "million"), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_THROW(file_digest(folder / "none"), Error);
}

}  // namespace file_digest_test
}  // namespace debias

#include <gtest/gtest.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace digests_test {

std::string hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  return hash.hex();
}

// FIPS 180-2, appendix B, and the empty message.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(hash_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnThePieces) {
  Sha256 hash;
  hash.update("a", 1);
  hash.update(nullptr, 0);
  hash.update("bc", 2);
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.hex(), hash_of("abc"));
}

TEST(FileDigest, IsThatOfFips180) {
  const TemporaryFolder folder;
  std::ofstream(folder / "abc", std::ios::binary) << "abc";
  EXPECT_EQ(file_digest(folder / "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::ofstream(folder / "million", std::ios::binary) << std::string(1000000, 'a');
  EXPECT_EQ(file_digest(folder / "million"), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_THROW(file_digest(folder / "none"), Error);
}

}  // namespace digests_test
}  // namespace debias

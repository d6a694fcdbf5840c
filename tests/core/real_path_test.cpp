#include "debias/core/paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace debias {
namespace real_path_test {

namespace fs = std::filesystem;

class RealPaths : public testing::Test {
 protected:
  RealPaths() {
    fs::create_directories(folder_ / "a/deep");
    std::ofstream(folder_ / "a/1") << "x";
    fs::create_directory_symlink("a", folder_ / "b");
    fs::create_symlink("circle", folder_ / "circle");
  }
  std::string below(const std::string& name) const { return fs::canonical(folder_.path()).string() + "/" + name; }

  TemporaryFolder folder_;
};

TEST_F(RealPaths, HaveNoLinksDotsAndLastSlashes) {
  for (const char* name : {"a/1", "b/1", "b/../b/1", "./a/./1", "a/deep/../1"}) EXPECT_EQ(real_path(folder_ / name), below("a/1")) << name;
  for (const char* name : {"a", "b", "b/", "a/."}) EXPECT_EQ(real_path(folder_ / name), below("a")) << name;
  EXPECT_EQ(real_path("."), fs::current_path().string());
  EXPECT_EQ(real_path("/"), "/");
}

TEST_F(RealPaths, OfWhatIsGoneFollowFromWhatIsThere) {
  for (const char* name : {"b/gone/x", "b/gone/x/", "b/gone/./y/../x"}) EXPECT_EQ(real_path(folder_ / name), below("a/gone/x")) << name;
  EXPECT_EQ(real_path("b/../gone"), fs::current_path().string() + "/gone");
  EXPECT_EQ(real_path(folder_ / "a/../circle/x/"), folder_ / "circle/x");
  EXPECT_EQ(real_path(""), "");
}

TEST_F(RealPaths, LieInAFolderByWhateverLinks) {
  for (const char* inside : {"a", "a/", "a/1", "b/1", "b/deep/gone", "gone/../a/x"}) {
    for (const char* outside : {"a", "a/", "b", "b/"}) EXPECT_TRUE(lies_in(folder_ / inside, folder_ / outside)) << inside << outside;
  }
  EXPECT_TRUE(lies_in("gone/x", "gone/"));  // of which neither is there
  EXPECT_TRUE(lies_in(folder_ / "a", "/"));
  for (const char* beside : {"", "c", "ab/1", "a2", "a/../1"}) EXPECT_FALSE(lies_in(folder_ / beside, folder_ / "b")) << beside;
  EXPECT_FALSE(lies_in(folder_ / "a", folder_ / "a/deep"));
}

}  // namespace real_path_test
}  // namespace debias

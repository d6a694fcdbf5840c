// Nothing is written into folders of data, by whatever name.
#include "debias/core/paths.h"

#include <gmock/gmock.h>

#include "tests/core/file_bytes.h"
#include "tests/support/refusals.h"

namespace debias {
namespace data_folder_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

class DataFolders : public testing::Test {
 protected:
  DataFolders() { fs::create_directories(folder_ / "data/a"); }
  void expect_refused(const std::string& path, const std::vector<std::string>& roots, const std::string& named) const {
    EXPECT_EQ(usage_error_of([&] { refuse_inside_data(path, roots, "page"); }),
              "page '" + path + "' is inside the data folder '" + named + "'; nothing is written there: choose another page");
  }
  TemporaryFolder folder_;
};

TEST_F(DataFolders, RefuseWhatLiesInThem) {
  const std::string data = folder_ / "data", other = folder_ / "other";
  for (const char* inside : {"data", "data/", "data/x", "data/a/b/x", "other/../data/x", "data/../data/x"}) {
    expect_refused(folder_ / inside, {other, data}, data);
    expect_refused(folder_ / inside, {data + "/"}, data + "/");
  }
  expect_refused("y/x", {"y"}, "y");  // of which neither is there
  expect_refused("y/x", {"y/"}, "y/");
}

TEST_F(DataFolders, RefuseWhatLiesInThemByALink) {
  fs::create_directory_symlink("data", folder_ / "link");
  fs::create_directory_symlink("data/a", folder_ / "deeper");
  expect_refused(folder_ / "link/x", {folder_ / "data"}, folder_ / "data");
  expect_refused(folder_ / "data/x", {folder_ / "link"}, folder_ / "link");
  expect_refused(folder_ / "deeper/x", {folder_ / "data"}, folder_ / "data");
}

TEST_F(DataFolders, LeaveAloneWhatLiesBesideThem) {
  for (const char* beside : {"data2/x", "dat", "x", "data/../x", "other/data/x"}) {
    EXPECT_NO_THROW(refuse_inside_data(folder_ / beside, {folder_ / "data", folder_ / "data/"})) << beside;
  }
  EXPECT_NO_THROW(refuse_inside_data(folder_ / "data", {folder_ / "data/a"}));
  EXPECT_NO_THROW(refuse_inside_data(folder_ / "x", {""}));
  EXPECT_NO_THROW(refuse_inside_data("", {folder_ / "data", "."}));
  EXPECT_NO_THROW(refuse_run_inside_data(folder_ / "data2", {"", folder_ / "data"}));
  EXPECT_NO_THROW(refuse_run_inside_data("", {"."}));
}

TEST_F(DataFolders, OfARunInThemSayThatItIsToBeMoved) {
  fs::create_directory_symlink("data/a", folder_ / "link");
  EXPECT_EQ(usage_error_of([&] {
              refuse_run_inside_data(folder_ / "link/run", {folder_ / "other", folder_ / "data"});
            }),
            "run '" + folder_ / "link/run" + "' is inside the data folder '" + folder_ / "data" +
                "'; nothing is written there: move the run out of it");
}

}  // namespace data_folder_test
}  // namespace debias

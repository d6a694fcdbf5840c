// Paths without links, folders that hold data, and what lies below a folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "debias/core/paths.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace paths_test {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

// Nothing is written into folders of data, by whatever name.

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

// Folders and what lies below them: order, links and their loops, what cannot be looked at.

class FolderWalks : public testing::Test {
 protected:
  void put(const std::string& name) const {
    fs::create_directories(fs::path(folder_ / name).parent_path());
    std::ofstream(folder_ / name) << "x";
  }
  void link(const std::string& to, const std::string& name) const { fs::create_directory_symlink(to, folder_ / name); }

  TemporaryFolder folder_;
};

// Of the folders as they are visited; the files of each sorted.
std::vector<std::string> files_in(const FolderWalk& walk) {
  std::vector<std::string> names;
  walk_folders(walk, [&](const FolderContent& content) {
    EXPECT_FALSE(content.failure) << content.path;
    EXPECT_EQ(fs::path(content.path).lexically_normal(), (fs::path(walk.folder) / content.prefix).lexically_normal().parent_path());
    std::vector<std::string> here;
    for (const FolderFile& file : content.files) here.push_back(content.prefix + file.name);
    std::sort(here.begin(), here.end());
    names.insert(names.end(), here.begin(), here.end());
  });
  return names;
}

TEST_F(FolderWalks, VisitAFolderBeforeThoseInItAndThoseByTheirNames) {
  for (const char* name : {"b/1", "a/z/2", "a/3", "a.d/4", "B/5", "c", "a/z/y/6"}) put(name);
  EXPECT_THAT(files_in({folder_.path(), folder_.path()}), ElementsAre("c", "B/5", "a/3", "a/z/2", "a/z/y/6", "a.d/4", "b/1"));
  EXPECT_THAT(files_in({folder_ / "a", folder_.path()}), ElementsAre("3", "z/2", "z/y/6"));
  EXPECT_THAT(read_folder(folder_.path()).folders, ElementsAre("B", "a", "a.d", "b"));
}

TEST_F(FolderWalks, PassOverWhatIsHiddenAndOneMoreName) {
  for (const char* name : {"a/1", "a/.hidden", ".git/2", "a/.git/3", "skipped/4", "a/skipped", "..d/5"}) put(name);
  EXPECT_THAT(files_in({folder_.path(), folder_.path()}), ElementsAre("a/1", "a/skipped", "skipped/4"));
  EXPECT_THAT(files_in({folder_.path(), folder_.path(), "skipped"}), ElementsAre("a/1"));
  EXPECT_THAT(read_folder(folder_.path(), "skipped").folders, ElementsAre("a"));
}

TEST_F(FolderWalks, EnterALinkedFolderOnce) {
  for (const char* name : {"root/a/1", "elsewhere/deep/2"}) put(name);
  link(folder_ / "elsewhere", "root/b");
  link("../elsewhere/deep", "root/c");  // which b holds
  link("b", "root/d");
  EXPECT_THAT(files_in({folder_ / "root", folder_ / "root"}), ElementsAre("a/1", "b/deep/2"));
  EXPECT_THAT(read_folder(folder_ / "root").folders, ElementsAre("a", "b", "c", "d"));
}

TEST_F(FolderWalks, LeaveTheRootAndWhatHoldsItToItself) {
  for (const char* name : {"outer/root/a/1", "outer/root/b/2", "outer/3"}) put(name);
  link(".", "outer/root/a/self");
  link("..", "outer/root/a/up");
  link("../..", "outer/root/a/out");
  link(folder_.path(), "outer/root/b/top");
  EXPECT_THAT(files_in({folder_ / "outer/root", folder_ / "outer/root"}), ElementsAre("a/1", "b/2"));
  EXPECT_THAT(files_in({folder_ / "outer/root/a", folder_ / "outer/root"}), ElementsAre("1"));
  link(".", "outer/root/whole");  // a walk from there begins at the root by another name
  EXPECT_THAT(files_in({folder_ / "outer/root/whole", folder_ / "outer/root"}), ElementsAre("a/1", "b/2"));
}

TEST_F(FolderWalks, DoNotLeaveTheirFolderForThoseBesideIt) {
  for (const char* name : {"root/train/a/1", "root/train/b/2", "root/test/a/3"}) put(name);
  link("..", "root/train/a/up");
  link(folder_ / "root/train", "root/train/a/whole");
  EXPECT_THAT(files_in({folder_ / "root/train/a", folder_ / "root"}), ElementsAre("1"));
  EXPECT_THAT(files_in({folder_ / "root/train", folder_ / "root"}), ElementsAre("a/1", "b/2"));
}

TEST_F(FolderWalks, SayWhatLinksLeadToAndWhichLeadNowhere) {
  put("1");
  fs::create_symlink("1", folder_ / "2");
  fs::create_symlink("gone", folder_ / "3");
  fs::create_symlink("4", folder_ / "4");
  ASSERT_EQ(mkfifo((folder_ / "5").c_str(), 0600), 0);
  std::vector<FolderFile> files = read_folder(folder_.path()).files;
  std::sort(files.begin(), files.end(), [](const FolderFile& a, const FolderFile& b) { return a.name < b.name; });
  ASSERT_EQ(files.size(), 5u);
  EXPECT_EQ(files[0].type, fs::file_type::regular);
  EXPECT_FALSE(files[0].is_link);
  EXPECT_FALSE(files[0].failure);
  EXPECT_EQ(files[1].type, fs::file_type::regular);
  EXPECT_TRUE(files[1].is_link);
  EXPECT_FALSE(files[1].failure);
  EXPECT_EQ(files[2].type, fs::file_type::not_found);
  EXPECT_TRUE(files[2].is_link);
  EXPECT_EQ(files[2].failure, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(files[3].is_link);
  EXPECT_EQ(files[3].failure, std::errc::too_many_symbolic_link_levels);
  EXPECT_EQ(files[4].type, fs::file_type::fifo);
  EXPECT_FALSE(files[4].is_link);
}

TEST_F(FolderWalks, LeaveToTheirCallerWhatCannotBeListed) {
  put("file");
  const auto expect_visit = [&](const std::string& path, std::errc why) {
    int visits = 0;
    walk_folders({path, path}, [&](const FolderContent& content) {
      ++visits;
      EXPECT_EQ(content.path, path);
      EXPECT_EQ(content.failure, why) << content.failure.message();
      EXPECT_THAT(content.files, IsEmpty());
      EXPECT_THAT(content.folders, IsEmpty());
    });
    EXPECT_EQ(visits, 1) << path;
  };
  expect_visit(folder_ / "gone", std::errc::no_such_file_or_directory);
  expect_visit(folder_ / "file", std::errc::not_a_directory);
}

}  // namespace paths_test
}  // namespace debias

#include "debias/data/readers/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "debias/data/readers/class_selection.h"
#include "tests/data/readers/image_tree.h"
#include "tests/support/refusals.h"

namespace debias {
namespace image_folder_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

class ImageFolder : public ImageTree {
 protected:
  std::unique_ptr<Dataset> open(ImageFolderOptions options = {}) {
    options.root = folder_.path();
    return make_image_folder(options);
  }
  std::string message(ImageFolderOptions options = {}) {
    return data_error_of([&] { open(options); });
  }
};

TEST_F(ImageFolder, OrdersByteWise) {
  add("b/2.png");
  add("b/10.png");
  add("b/sub/deeper/1.PNG");
  add("a/x.png");
  add("Z/y.png");
  write(folder_ / "a/notes.txt", "not an image");
  add("a/.hidden.png");
  add(".cache/x.png");
  const auto data = open();
  EXPECT_THAT(data->info().class_names, ElementsAre("Z", "a", "b"));
  EXPECT_THAT(sources(*data), ElementsAre("Z/y.png", "a/x.png", "b/10.png", "b/2.png", "b/sub/deeper/1.PNG"));
  EXPECT_THAT(labels(*data), ElementsAre(0, 1, 2, 2, 2));
  EXPECT_THAT(data->info().mean, ElementsAre(0.485, 0.456, 0.406));
  EXPECT_EQ(data->info().height, 0);
}

TEST_F(ImageFolder, TakesTheFolderOfTheSplit) {
  add("train/cat/1.png");
  add("test/cat/2.png");
  add("test/dog/3.png");
  EXPECT_THAT(sources(*open()), ElementsAre("train/cat/1.png"));
  EXPECT_THAT(sources(*open(ImageFolderOptions{.split = "test"})), ElementsAre("test/cat/2.png", "test/dog/3.png"));
  EXPECT_THAT(message(ImageFolderOptions{.split = "valid"}), HasSubstr("no such folder for split valid; the root has test, train"));
  EXPECT_THAT(usage_error_of([&] { open(ImageFolderOptions{.split = "../x"}); }), HasSubstr("split"));
}

TEST_F(ImageFolder, WithoutClassFoldersItIsUnlabelled) {
  add("2.png");
  add("1.png", 9);
  const auto data = open();
  EXPECT_THAT(data->info().class_names, IsEmpty());
  EXPECT_THAT(sources(*data), ElementsAre("1.png", "2.png"));
  EXPECT_EQ(data->get(0).label, kUnknown);
  EXPECT_EQ(data->get(0).image.pixels[0], 9);
}

TEST_F(ImageFolder, RefusesWhatHoldsNoImages) {
  EXPECT_THAT(message(), HasSubstr("has neither class folders with readable images nor readable images"));
  fs::create_directory(folder_ / "b");
  EXPECT_THAT(message(), HasSubstr("has neither class folders with readable images"));
}

TEST_F(ImageFolder, FoldersWithoutImagesAreNoClasses) {
  add("a/1.png");
  add("c/1.png");
  fs::create_directory(folder_ / "b");
  write(folder_ / "results/table.csv", "x");
  add("__MACOSX/a/1.png");
  const auto data = open();
  EXPECT_THAT(data->info().class_names, ElementsAre("a", "c"));
  EXPECT_THAT(labels(*data), ElementsAre(0, 1));
  EXPECT_THAT(
      data->info().remarks,
      ElementsAre(
          "folder " + folder_.path() + ": 2 folders without a readable image are ignored (b, results)",
          "folder " + folder_.path() +
              ": 1 hidden or system folder (__MACOSX 1) with 1 image passed over (first: __MACOSX); rename what belongs to the set"));
}

TEST_F(ImageFolder, CountsWhatSystemsLeaveInFoldersAndReadsNoneOfIt) {
  add("cat/1.png");
  add("dog/1.png");
  for (const char* path : {"cat/@eaDir/1.png/SYNOPHOTO_THUMB.png", "dog/deep/@eadir/1.png", "#recycle/cat/2.png", "lost+found/3.png",
                           "System Volume Information/4.png", "$RECYCLE.BIN/5.png", ".Trash-1000/files/6.png", "cat/._1.png"}) {
    add(path);
  }
  const auto data = open();
  EXPECT_THAT(sources(*data), ElementsAre("cat/1.png", "dog/1.png"));
  EXPECT_THAT(data->info().class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(data->info().remarks,
              ElementsAre(AllOf(HasSubstr("7 hidden or system folders"), HasSubstr("@eaDir 1"), HasSubstr("with 7 images"),
                                HasSubstr("and 1 hidden image file passed over (first: #recycle)"))));
}

TEST_F(ImageFolder, CountsImagesBesideTheClassFolders) {
  add("train/a/1.png");
  add("train/3.png");
  EXPECT_THAT(sources(*open()), ElementsAre("train/a/1.png"));
  EXPECT_THAT(open()->info().remarks,
              ElementsAre("folder " + (folder_ / "train") + ": 1 image outside the class folders is not read (train/3.png)"));
  write(folder_ / "classes.txt", "a\n");
  EXPECT_THAT(open(ImageFolderOptions{.classes = folder_ / "classes.txt"})->info().remarks, ElementsAre(HasSubstr("1 image outside")));
}

TEST_F(ImageFolder, FoldersNamedAsSplitsAreNoClasses) {
  for (const std::string splits : {"Train Test", "training testing", "train2 val"}) {
    std::istringstream names(splits);
    for (std::string name; names >> name;) add(splits + "/" + name + "/cat/1.png");
  }
  const auto message_of_root = [&](const std::string& root) {
    return data_error_of([&] { make_image_folder(ImageFolderOptions{.root = folder_ / root}); });
  };
  EXPECT_THAT(message_of_root("Train Test"),
              AllOf(HasSubstr("has no folder train"), HasSubstr("(Test, Train); set split=Train, or rename")));
  EXPECT_THAT(message_of_root("training testing"), HasSubstr("set split=training,"));
  EXPECT_THAT(make_image_folder(ImageFolderOptions{.root = folder_ / "train2 val"})->info().class_names, ElementsAre("train2", "val"));
  fs::remove_all(folder_ / "train2 val/train2");
  EXPECT_THAT(message_of_root("train2 val"), HasSubstr("set split=val,"));
  const auto named = ImageFolderOptions{.root = folder_ / "Train Test", .split = "Train"};
  EXPECT_THAT(make_image_folder(named)->info().class_names, ElementsAre("cat"));
}

TEST_F(ImageFolder, NamesOfClassesAreUtf8) {
  add("K\xc3\xa4se/1.png");
  EXPECT_THAT(open()->info().class_names, ElementsAre("K\xc3\xa4se"));
  add("K\xe4se/1.png");
  EXPECT_THAT(open()->info().class_names, ElementsAre("K\xc3\xa4se", "K\\xe4se"));
  write(folder_ / "classes.txt", "K\xe4se\n");
  EXPECT_THAT(message(ImageFolderOptions{.classes = folder_ / "classes.txt"}), HasSubstr("classes.txt: is not UTF-8"));
}

TEST_F(ImageFolder, ReadsBadImagesOnlyWhenAsked) {
  add("a/1.png");
  write(folder_ / "a/2.jpg", "text");
  fs::create_symlink("nowhere", folder_ / "a/3.png");
  const auto data = open();
  ASSERT_EQ(data->size(), 3);
  EXPECT_NO_THROW(data->get(0));
  EXPECT_THAT(data_error_of([&] { data->get(1); }),
              AllOf(HasSubstr(folder_ / "a/2.jpg"), HasSubstr("is not an image of a supported format")));
  EXPECT_THAT(data_error_of([&] { data->get(2); }), HasSubstr(folder_ / "a/3.png"));
}

TEST_F(ImageFolder, NamesOnceWhatLooksLikeAnImageButIsNotRead) {
  add("a/1.png");
  EXPECT_THAT(open()->info().remarks, IsEmpty());
  for (const char* name : {"b/1.heic", "a/sub/z.HEIC", "a/b.gif", "a/.hidden.gif", "a/notes.txt"}) write(folder_ / name, "x");
  write(folder_ / "a/sub/IMG_0001", encode_png(solid(3, 4, 1, 2, 3)));
  write(folder_ / "a/sub/README", "text");
  add("b/2.png");
  EXPECT_THAT(open()->info().remarks,
              ElementsAre("folder " + folder_.path() +
                          ": 4 files look like images but are not read (.heic 2, .gif 1, no ending 1; first: a/b.gif)"));
}

TEST_F(ImageFolder, NamesWhatIsNotReadWhereNothingIs) {
  write(folder_ / "a/1.heic", "x");
  EXPECT_THAT(message(), HasSubstr("nor readable images; 1 file is not read (.heic 1); JPEG, PNG"));
  std::filesystem::rename(folder_ / "a/1.heic", folder_ / "1.gif");
  std::filesystem::remove(folder_ / "a");
  EXPECT_THAT(message(), HasSubstr("nor readable images; 1 file is not read (.gif 1)"));
}

TEST_F(ImageFolder, RemarksDoNotSteerTheTerminal) {
  add("a/1.png");
  write(folder_ / "a/\x1b[2J.gif", "x");
  ASSERT_EQ(open()->info().remarks.size(), 1u);
  EXPECT_THAT(open()->info().remarks[0], AllOf(HasSubstr("a/\\x1b[2J.gif"), testing::Not(HasSubstr("\x1b"))));
}

TEST_F(ImageFolder, LoopsOfLinksEnd) {
  add("a/1.png");
  add("b/2.png");
  fs::create_directory_symlink(folder_.path(), folder_ / "a/up");
  fs::create_directory_symlink(".", folder_ / "a/self");
  fs::create_directory_symlink("/", folder_ / "a/top");
  fs::create_directories(folder_ / "a/x/y");
  fs::create_directory_symlink("..", folder_ / "a/x/y/back");
  EXPECT_THAT(sources(*open()), ElementsAre("a/1.png", "b/2.png"));
}

// Neither to the other classes of the split nor to those of another split.
TEST_F(ImageFolder, LinksToParentsOfAClassCountNothingTwice) {
  for (const char* name : {"train/a/1.png", "train/b/2.png", "test/a/3.png"}) add(name);
  fs::create_directory_symlink("..", folder_ / "train/a/up");
  fs::create_directory_symlink("../..", folder_ / "train/b/root");
  fs::create_directory_symlink("..", folder_ / "train/c");
  fs::create_directory_symlink(".", folder_ / "train/d");
  const auto data = open();
  EXPECT_THAT(sources(*data), ElementsAre("train/a/1.png", "train/b/2.png"));
  EXPECT_THAT(data->info().class_names, ElementsAre("a", "b"));
}

TEST_F(ImageFolder, FollowsLinksToFoldersElsewhere) {
  const TemporaryFolder elsewhere;
  write(elsewhere / "more/5.png", encode_png(solid(3, 4, 1, 2, 3)));
  add("a/1.png");
  fs::create_directory_symlink(elsewhere.path(), folder_ / "a/linked");
  fs::create_directory_symlink(elsewhere.path(), folder_ / "c");
  EXPECT_THAT(sources(*open()), ElementsAre("a/1.png", "a/linked/more/5.png", "c/more/5.png"));
}

TEST_F(ImageFolder, ReadsGroupsFromOneColumnOrSeveral) {
  for (const std::string name : {"1", "2", "3", "4"}) add("a/" + name + ".png");
  write(folder_ / "t.csv", "path,label,group,day\na/1.png,x,p,1\na/2.png,x,q,1\na/3.png,x,p,2\na/4.png,x,,1\n");
  const auto groups = [&](const std::string& group) {
    const auto data = open(ImageFolderOptions{.labels = {.file = folder_ / "t.csv", .group = group}});
    std::vector<int64_t> all;
    for (int64_t i = 0; i < data->size(); ++i) all.push_back(data->group(i));
    return all;
  };
  EXPECT_THAT(groups(""), ElementsAre(0, 1, 0, kUnknown));
  EXPECT_THAT(groups("group,day"), ElementsAre(0, 1, 2, kUnknown));
  EXPECT_THAT(groups("day"), ElementsAre(0, 0, 1, 0));
}

TEST_F(ImageFolder, ASelectionGroupsFoldersIntoClasses) {
  for (const std::string name : {"beagle", "oak", "pug", "tabby"}) add(name + "/1.png");
  write(folder_ / "classes.txt", "# mine\ndog: pug beagle poodle\n\ntabby\n");
  const auto data = open(ImageFolderOptions{.classes = folder_ / "classes.txt"});
  EXPECT_THAT(data->info().class_names, ElementsAre("dog", "tabby"));
  EXPECT_THAT(sources(*data), ElementsAre("beagle/1.png", "pug/1.png", "tabby/1.png"));
  EXPECT_THAT(labels(*data), ElementsAre(0, 0, 1));
  const auto fails = [&](const std::string& text, const std::string& expected) {
    write(folder_ / "classes.txt", text);
    EXPECT_THAT(message(ImageFolderOptions{.classes = folder_ / "classes.txt"}), HasSubstr(expected)) << text;
  };
  fails("cat: persian\n", "has no folder with images of any class");
  fails("pug\ndog: pug\n", "folder pug is given twice");
  fails("dog: pug\ndog: beagle\n", "class dog is given twice");
  fails("# none\n", "names no class");
  fails("big dog: pug\n", "expected CLASS: FOLDER");
  EXPECT_THAT(message(ImageFolderOptions{.classes = folder_ / "nowhere.txt"}), HasSubstr("nowhere.txt"));
}

TEST_F(ImageFolder, ASelectionKeepsTheNumbersOfClassesThatAreNotThere) {
  add("n02123045/cat.png");
  add("n02174001/beetle.png");
  const auto data = open(ImageFolderOptions{.classes = "imagenet9"});
  EXPECT_EQ(data->info().class_names.size(), 9u);
  EXPECT_THAT(labels(*data), ElementsAre(1, 8));
  EXPECT_THAT(data->info().remarks, ElementsAre(HasSubstr("has no images of dog, frog, turtle, bird, monkey, fish, crab (classes")));
  write(folder_ / "classes.txt", "cat: n02123045\nn02174001\n");
  EXPECT_THAT(open(ImageFolderOptions{.classes = folder_ / "classes.txt"})->info().remarks, IsEmpty());
}

TEST_F(ImageFolder, FourClassesOfCifarAreThoseFolders) {
  for (const char* folder : {"airplane", "cat", "dog", "horse", "ship", "truck"}) add(std::string(folder) + "/0001.png");
  const auto data = open(ImageFolderOptions{.classes = "cifar4"});
  EXPECT_THAT(data->info().class_names, ElementsAre("cat", "dog", "ship", "truck"));
  EXPECT_THAT(labels(*data), ElementsAre(0, 1, 2, 3));
}

TEST(ClassSelection, KnowsImageNetsSubsets) {
  const ClassSelection nine = read_class_selection("imagenet9");
  EXPECT_THAT(nine.class_names, ElementsAre("dog", "cat", "frog", "turtle", "bird", "monkey", "fish", "crab", "insect"));
  EXPECT_EQ(nine.label_of.size(), 42u);
  EXPECT_EQ(nine.label_of.at("n02655020"), 6);
  const ClassSelection hundred = read_class_selection("imagenet100");
  EXPECT_EQ(hundred.class_names.size(), 100u);
  EXPECT_EQ(hundred.label_of.at("n01558993"), 0);
  EXPECT_EQ(hundred.label_of.at("n13040303"), 99);
}

}  // namespace image_folder_test
}  // namespace debias

#include "debias/evaluate/name_file.h"

#include <gtest/gtest.h>

#include "tests/support/file_text.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace name_file_test {

class NamedSet : public Dataset {
 public:
  explicit NamedSet(std::vector<std::string> classes, std::vector<std::string> biases = {}) {
    info_.class_names = std::move(classes);
    info_.bias_names = std::move(biases);
  }
  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return 3; }
  Sample get(int64_t) const override { return {}; }
  std::string source(int64_t index) const override { return index == 0 ? "a,b.png" : "c.png"; }

 private:
  DatasetInfo info_;
};

Features of_three() {
  Features features;
  features.labels = {1, 0, kUnknown};
  features.biases = {0, kUnknown, 7};
  features.indices = {0, 1, 2};
  return features;
}

TEST(NameFile, HasALineForEachRowAndNoNameForAnUnknownNumber) {
  const TemporaryFolder folder;
  const auto path = write_names(folder / "e.npy", of_three(), NamedSet({"cat", "dog \"x\""}, {"red"}));
  ASSERT_EQ(path, folder / "e.names.csv");
  EXPECT_EQ(file_text(*path),
            "filenames,labels,class,bias,bias_name\n"
            "\"a,b.png\",1,\"dog \"\"x\"\"\",0,red\n"
            "c.png,0,cat,-1,\n"
            "c.png,-1,,7,\n");
}

TEST(NameFile, LiesBesideTheArrayOrTheTable) {
  EXPECT_EQ(name_path("x/e"), "x/e.names.csv");
  EXPECT_EQ(name_path("x/e.csv"), "x/e.names.csv");
  EXPECT_EQ(name_path("x/v1.2"), "x/v1.2.names.csv");
}

TEST(NameFile, IsNotWrittenWithoutNames) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_names(folder / "e.npy", of_three(), NamedSet({})), std::nullopt);
  EXPECT_EQ(folder.entries(), 0u);
}

}  // namespace name_file_test
}  // namespace debias

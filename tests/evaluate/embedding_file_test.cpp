#include "debias/evaluate/embedding_file.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "debias/core/npy.h"
#include "tests/evaluate/toy.h"
#include "tests/support/file_text.h"

namespace debias {
namespace embedding_file_test {

class NamedDataset : public ToyDataset {
 public:
  NamedDataset() : ToyDataset(4, 2) {}
  std::string source(int64_t index) const override {
    return std::vector<std::string>{"plain.png", "a, b.png", "say \"x\".png", "two\nlines.png"}[index];
  }
};

class EmbeddingFile : public testing::Test {
 protected:
  EmbeddingFile() : folder_(testing::TempDir() + "/debias_embedding_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    features_.values = at::tensor({0.1f, -2.f, 1e-20f, 3.f, 16777216.f, 0.333333343f}).view({3, 2});
    features_.labels = {1, 0, kUnknown};
    features_.indices = {1, 3, 2};
  }
  ~EmbeddingFile() override { std::filesystem::remove_all(folder_); }

  std::string text(const std::string& name) const { return file_text(folder_ + "/" + name); }

  std::string folder_;
  NamedDataset dataset_;
  Features features_;
};

TEST_F(EmbeddingFile, CsvQuotesNamesAndKeepsEveryBitOfANumber) {
  EXPECT_EQ(write_embeddings(folder_ + "/e.csv", features_, dataset_), std::vector<std::string>{folder_ + "/e.csv"});
  EXPECT_EQ(text("e.csv"),
            "filenames,embedding_0,embedding_1,labels\n"
            "\"a, b.png\",0.1,-2,1\n"
            "\"two\nlines.png\",1e-20,3,0\n"
            "\"say \"\"x\"\".png\",16777216,0.33333334,-1\n");
}

TEST_F(EmbeddingFile, NpyHasASidecarAndAnExtensionMayBeLeftOut) {
  const std::vector<std::string> both = {folder_ + "/v1.2.npy", folder_ + "/v1.2.csv"};
  EXPECT_EQ(embedding_paths(folder_ + "/v1.2.npy"), both);
  EXPECT_EQ(write_embeddings(folder_ + "/v1.2", features_, dataset_), both);
  EXPECT_EQ(text("v1.2.csv"), "filenames,labels\n\"a, b.png\",1\n\"two\nlines.png\",0\n\"say \"\"x\"\".png\",-1\n");
  const NpyArray array = read_npy(both[0]);
  EXPECT_EQ(array.dtype, DType::kFloat32);
  EXPECT_EQ(array.shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(array.as<float>()[4], 16777216.f);
}

TEST_F(EmbeddingFile, AnExistingFileIsReplaced) {
  std::ofstream(folder_ + "/e.csv") << std::string(10000, 'x');
  write_embeddings(folder_ + "/e.csv", features_, dataset_);
  EXPECT_EQ(text("e.csv").find('x'), text("e.csv").find("x\"\".png"));
}

TEST(CsvField, TextThatASpreadsheetWouldRunHasAQuoteBeforeIt) {
  for (const char* formula : {"=1+1", "+1+1", "-1+1", "@SUM(A1)", "=", "-", "-inf"}) {
    EXPECT_EQ(csv_field(formula, CsvCells::kGuarded), std::string("'") + formula);
    EXPECT_EQ(csv_field(formula, CsvCells::kRaw), formula);
  }
  EXPECT_EQ(csv_field("\t=1", CsvCells::kGuarded), "'\t=1");
  EXPECT_EQ(csv_field("\r=1", CsvCells::kGuarded), "\"'\r=1\"");
  EXPECT_EQ(csv_field("=\"a\",b", CsvCells::kGuarded), "\"'=\"\"a\"\",b\"");
  for (const char* kept : {"", "-1", "-1e-3", "a=1", "cat", "'=1"}) EXPECT_EQ(csv_field(kept, CsvCells::kGuarded), kept);
}

}  // namespace embedding_file_test
}  // namespace debias

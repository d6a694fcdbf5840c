// Which changes of a feature table its digests show.
#include "debias/fix/table_digest.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/fix/gaussian_table.h"

namespace debias {
namespace table_digest_test {

struct Part {
  const char *path, *label, *bias, *split, *other;
};

class TableDigestTest : public testing::Test {
 protected:
  TableDigestTest() { write_npy(folder_ / "z.npy", DType::kFloat32, {3, 2}, values_.data()); }
  std::string rows(const Part& last = {"p2", "ape", "red", "test", "x"}, const std::string& bias = "bias") const {
    std::ofstream csv(folder_ / "c.csv");
    csv << "path,label," << bias << ",split,other\np0,ape,red,train,x\np1,bee,blue,train,x\n";
    csv << last.path << "," << last.label << "," << last.bias << "," << last.split << "," << last.other << "\n";
    csv.close();
    return digest(TableRowOptions{.biases = std::vector<std::string>{bias}}).rows;
  }
  TableDigest digest(const TableRowOptions& columns) const {
    return table_digest(open_feature_table(FeatureTableFiles{.vectors = folder_ / "z.npy", .csv = folder_ / "c.csv"}, columns));
  }
  TemporaryFolder folder_;
  std::vector<float> values_ = {1, 2, 3, 4, 5, 6};
};

TEST_F(TableDigestTest, OfRowsCoversTheColumnsInUse) {
  const std::string whole = rows();
  EXPECT_EQ(whole.size(), 64u);
  EXPECT_EQ(rows({"p2", "ape", "red", "test", "y"}), whole);
  for (const Part& changed :
       {Part{"p3", "ape", "red", "test", "x"}, Part{"p2", "bee", "red", "test", "x"}, Part{"p2", "ape", "blue", "test", "x"},
        Part{"p2", "ape", "", "test", "x"}, Part{"p2", "ape", "red", "valid", "x"}}) {
    EXPECT_NE(rows(changed), whole);
  }
  EXPECT_NE(rows({"p2", "ape", "red", "test", "x"}, "colour"), whole);
}

TEST_F(TableDigestTest, OfNumbersCoversEachOfThem) {
  const auto of_age = [&](const std::string& last) {
    std::ofstream(folder_ / "c.csv") << "label,age\nape,30\nbee,41.5\nape," + last + "\n";
    return digest(TableRowOptions{.biases = std::vector<std::string>{"age"}, .numeric = {"age"}}).rows;
  };
  EXPECT_EQ(of_age("50"), of_age("5e1"));
  EXPECT_NE(of_age("50"), of_age("50.25"));
  EXPECT_NE(of_age("50"), of_age(""));
}

TEST_F(TableDigestTest, OfVectorsCoversEveryByteOfALargeFile) {
  const int64_t n = 10000, D = 640;  // 25.6 MB: several blocks
  std::vector<float> large(static_cast<size_t>(n * D), 1);
  std::string csv = "label\n";
  for (int64_t i = 0; i < n; ++i) csv += i % 2 == 0 ? "ape\n" : "bee\n";
  std::ofstream(folder_ / "c.csv") << csv;
  const auto of_vectors = [&] {
    write_npy(folder_ / "z.npy", DType::kFloat32, {n, D}, large.data());
    return digest({}).vectors;
  };
  const std::string whole = of_vectors();
  EXPECT_EQ(of_vectors(), whole);
  for (const size_t place : {size_t{0}, size_t{3'000'001}, large.size() - 1}) {
    large[place] = 2;
    EXPECT_NE(of_vectors(), whole) << place;
    large[place] = 1;
  }
}

}  // namespace table_digest_test
}  // namespace debias

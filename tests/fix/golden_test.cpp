// Against concept-erasure and scikit-learn (tests/golden/make_fix.py).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <fstream>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "debias/data/sample_table.h"
#include "debias/evaluate/descent.h"
#include "debias/features/feature_table.h"
#include "debias/fix/erasure.h"
#include "debias/fix/fit_rows.h"
#include "debias/fix/weighted_heads.h"
#include "tests/fix/gaussian_table.h"
#include "tests/support/golden_folder.h"

namespace debias {
namespace golden_test {

at::Tensor golden(const std::string& name) {
  const SafetensorsFile file = SafetensorsFile::open(golden_folder(".") + "/fix.safetensors");
  const TensorEntry& entry = *file.find(name);
  const bool is_whole = entry.dtype == DType::kInt64;
  at::Tensor tensor = at::empty(entry.shape, is_whole ? at::kLong : entry.dtype == DType::kFloat32 ? at::kFloat : at::kDouble);
  file.read(entry, tensor.data_ptr());
  return is_whole ? tensor : tensor.to(at::kDouble);
}

double largest_gap(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(Golden, LeaceIsConceptErasuresProjection) {
  const at::Tensor x = golden("x"), z = at::one_hot(golden("biases"), 4).to(at::kDouble);
  const auto n = static_cast<double>(x.size(0));
  const at::Tensor centred = x - x.mean(0), cross = centred.t().mm(z - z.mean(0)) / (n - 1);
  const AffineErasure erasure = leace({x.mean(0), centred.t().mm(centred) / n, cross, x.size(0)});
  EXPECT_LE(largest_gap(erasure.left.mm(erasure.right), golden("leace")), 1e-9);
  EXPECT_LE(largest_gap(erasure.mean, golden("leace_mean")), 1e-9);
}

TEST(Golden, LeaceOfRowsInMemoryIsThatUpToTheirFloats) {
  const StandardRows rows(golden("x"));
  const at::Tensor z = at::one_hot(golden("biases"), 4).to(at::kDouble);
  const AffineErasure erasure = leace(leace_moments(rows, z, at::ones({rows.size()}, at::kBool)));
  EXPECT_LE(largest_gap(erasure.left.mm(erasure.right), golden("leace")), 1e-6);
  EXPECT_LE(largest_gap(erasure.mean, golden("leace_mean")), 1e-6);
}

TEST(Golden, LeaceLeavesOutTheRowsThatAreNotUsed) {
  const at::Tensor x = golden("x"), z = at::one_hot(golden("biases"), 4).to(at::kDouble);
  const int64_t n = x.size(0);
  const at::Tensor more = at::cat({at::full({3, x.size(1)}, 5.0, at::kDouble), x}), more_z = at::cat({at::ones({3, 4}, at::kDouble), z});
  const AffineErasure erasure = leace(leace_moments(StandardRows(more), more_z, at::arange(n + 3).ge(3)));
  EXPECT_LE(largest_gap(erasure.left.mm(erasure.right), golden("leace")), 1e-6);
}

TEST(Golden, ABalancedHeadIsScikitLearnsWithThoseWeights) {
  const StandardRows rows(golden("x"));
  const at::Tensor labels = golden("labels"), groups = labels * 4 + golden("biases");
  const at::Tensor counts = at::bincount(groups, {}, 12).clamp_min(5).to(at::kDouble);
  const at::Tensor weights = counts.reciprocal().index_select(0, groups);
  const double l2 = 1 / (0.1 * 240);
  const HeadProblem problem{weights.to(at::kFloat), l2, head_preconditioner(at::eye(10, at::kDouble), l2), nullptr};
  const HeadFit fit = fit_heads(rows, labels, 3, {problem}, {.tolerance = 1e-6}).front();
  EXPECT_LE(largest_gap(fit.head.weight, golden("head_weight")), 2e-4);
  const at::Tensor bias = golden("head_bias");
  EXPECT_LE(largest_gap(fit.head.bias - fit.head.bias.mean(), bias - bias.mean()), 2e-4);
}

// Which changes of a feature table its digests show.

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

}  // namespace golden_test
}  // namespace debias

#include "debias/train/methods/bias_data.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>

#include "debias/core/error.h"
#include "debias/core/npy.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace bias_data_test {

// Ids 10, 11, ...; label and bias by table.
class Listed : public SampleTable {
 public:
  explicit Listed(std::vector<std::array<int64_t, 2>> keys) : keys_(std::move(keys)) {
    info_.name = "listed";
    info_.class_names = {"a", "b", "c"};
    info_.bias_names = {"red", "green"};
  }
  const DatasetInfo& info() const override { return info_; }
  std::string what() const override { return "samples"; }
  int64_t size() const override { return static_cast<int64_t>(keys_.size()); }
  int64_t id(int64_t index) const override { return 10 + index; }
  int64_t label(int64_t index) const override { return keys_[index][0]; }
  int64_t bias(int64_t index) const override { return keys_[index][1]; }
  std::string source(int64_t index) const override { return fmt::format("row {}", index); }

 private:
  DatasetInfo info_;
  std::vector<std::array<int64_t, 2>> keys_;
};

TEST(BiasData, ThePriorIsADistributionOfLabelsForEachBiasValue) {
  const Listed data({{0, 0}, {0, 0}, {1, 0}, {2, 0}, {1, 1}, {-1, 1}, {1, -1}});
  EXPECT_TRUE(at::allclose(label_given_bias(data), at::tensor({0.5, 0.0, 0.25, 1.0, 0.25, 0.0}, at::kDouble).view({3, 2})));
  EXPECT_EQ(label_given_bias(Listed({{0, 0}})).select(1, 1).sum().item<double>(), 0);  // no sample of that bias label
  const at::Tensor drawn = label_given_bias(Listed({{0, 0}, {0, 0}, {1, 0}, {1, 1}}), {0.25, 0.25, 1.5, 0.125});
  EXPECT_TRUE(at::allclose(drawn, at::tensor({0.25, 0.0, 0.75, 1.0, 0.0, 0.0}, at::kDouble).view({3, 2})));
  EXPECT_THROW(label_given_bias(Listed({{0, 2}})), Error);
}

class BiasFeatures : public ::testing::Test {
 protected:
  std::string write(const std::vector<int64_t>& shape, std::vector<float> values) {
    const std::string path = folder_.path() + "/g.npy";
    write_npy(path, DType::kFloat32, shape, values.data());
    return path;
  }
  std::string refusal(const std::string& path) {
    const std::string message = data_error_of([&] { read_bias_features(path, data_); });
    EXPECT_EQ(message.find(path), 0u) << message;
    return message;
  }
  TemporaryFolder folder_;
  Listed data_{{{0, 0}, {1, 1}}};  // ids 10 and 11
};

TEST_F(BiasFeatures, AreRowsBySampleId) {
  std::vector<float> values(24);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const at::Tensor features = read_bias_features(write({12, 2}, values), data_);
  EXPECT_EQ(features[11][1].item<float>(), 23);
  EXPECT_EQ(features.size(0), 12);
}

TEST_F(BiasFeatures, ThatDoNotFitAreRefusedByPath) {
  EXPECT_NE(refusal(write({11, 2}, std::vector<float>(22))).find("a row for each sample id up to 11 of data set 'listed', found (11, 2)"),
            std::string::npos);
  EXPECT_NE(refusal(write({24}, std::vector<float>(24))).find("found (24)"), std::string::npos);
  std::vector<float> values(24);
  values[6] = NAN;
  EXPECT_NE(refusal(write({12, 2}, values)).find("row 3 is not finite (1 such rows)"), std::string::npos);
  const std::string path = folder_.path() + "/i.npy";
  const std::vector<int64_t> integers(12);
  write_npy(path, DType::kInt64, {12, 1}, integers.data());
  EXPECT_NE(refusal(path).find("must be float32 or float64"), std::string::npos);
}

}  // namespace bias_data_test
}  // namespace debias

#include "debias/features/feature_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "debias/core/dtype.h"
#include "debias/core/safetensors.h"
#include "tests/features/table_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace feature_vectors_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Vectors : public testing::Test {
 protected:
  template <class T>
  std::string npy(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
    write_npy(folder_ / "z.npy", dtype, shape, values.data());
    return folder_ / "z.npy";
  }
  static std::vector<float> all(const FeatureVectors& vectors) {
    std::vector<float> values(static_cast<size_t>(vectors.rows() * vectors.dimensions()));
    vectors.read(0, vectors.rows(), values.data());
    return values;
  }
  TemporaryFolder folder_;
};

TEST(Float16, EveryBitPatternHasItsValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {  // sign, 5 bits of exponent, 10 of mantissa
    const double mantissa = bits & 0x3ff;
    const int exponent = static_cast<int>(bits >> 10 & 31);
    double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    const float found = float16_value(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(found)) << bits;
    } else {
      EXPECT_EQ(found, static_cast<float>(bits & 0x8000 ? -value : value)) << bits;
      EXPECT_EQ(std::signbit(found), (bits & 0x8000) != 0) << bits;
    }
  }
}

TEST_F(Vectors, EachElementTypeIsReadAsFloat32) {
  EXPECT_THAT(all(FeatureVectors::open(npy<uint16_t>(DType::kFloat16, {2, 2}, {0x3c00, 0xc000, 0x0001, 0x7bff}))),
              ElementsAre(1.0f, -2.0f, 0x1p-24f, 65504.0f));
  EXPECT_THAT(all(FeatureVectors::open(npy<float>(DType::kFloat32, {1, 3}, {0.1f, -2, 3}))), ElementsAre(0.1f, -2.0f, 3.0f));
  EXPECT_THAT(all(FeatureVectors::open(npy<double>(DType::kFloat64, {2, 1}, {0.1, 1e-3}))), ElementsAre(0.1f, 1e-3f));
}

TEST_F(Vectors, BlocksOfRowsAreThoseOfTheWhole) {
  std::vector<double> values(1'100'003 * 1);  // more than a block of bytes
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 4093) / 8;
  const FeatureVectors vectors = FeatureVectors::open(npy<double>(DType::kFloat64, {std::ssize(values), 1}, values));
  std::vector<float> block(600'000);
  vectors.read(500'003, 600'000, block.data());
  for (size_t i = 0; i < block.size(); ++i) ASSERT_EQ(block[i], static_cast<float>(values[500'003 + i])) << i;
  EXPECT_FALSE(vectors.first_unusable());
}

TEST_F(Vectors, ATensorOfASafetensorsFileIsFoundByItsName) {
  const std::vector<float> first = {1, 2}, second = {3, 4, 5, 6};
  const std::vector<uint16_t> third = {0x3f80, 0xc000};
  write_safetensors(folder_ / "z.safetensors",
                    {{"a", DType::kFloat32, {1, 2}, first.data()},
                     {"b", DType::kFloat32, {2, 2}, second.data()},
                     {"half", DType::kBFloat16, {2, 1}, third.data()}},
                    {});
  const std::string path = folder_ / "z.safetensors";
  EXPECT_THAT(all(FeatureVectors::open(path, "b")), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(all(FeatureVectors::open(path, "half")), ElementsAre(1, -2));
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(path); }), AllOf(HasSubstr("3 tensors"), HasSubstr("--key")));
  EXPECT_THAT(usage_error_of([&] { FeatureVectors::open(path, "haff"); }), HasSubstr("did you mean 'half'"));
}

TEST_F(Vectors, TheFirstValueThatIsNotFiniteIsNamedByRowAndColumn) {
  std::vector<float> values(3 * 700'000, 1);
  values[3 * 600'001 + 2] = std::nanf("");
  values[3 * 600'002] = std::numeric_limits<float>::infinity();
  const FeatureVectors vectors = FeatureVectors::open(npy<float>(DType::kFloat32, {700'000, 3}, values));
  EXPECT_THAT(data_error_of([&] { require_usable(vectors); }), AllOf(HasSubstr("row 600001"), HasSubstr("nan in column 2")));
}

TEST_F(Vectors, AValueWhoseSquaresOverflowFloat32IsTooLarge) {
  const FeatureVectors doubles = FeatureVectors::open(npy<double>(DType::kFloat64, {1, 2}, {1.0, 1e39}));
  EXPECT_THAT(data_error_of([&] { require_usable(doubles); }), HasSubstr("row 0 (from 0) has 1e+39 in column 1, too large for float32"));
  const FeatureVectors floats = FeatureVectors::open(npy<float>(DType::kFloat32, {2, 2}, {1, 2, -1e20f, 3}));
  EXPECT_THAT(data_error_of([&] { require_usable(floats); }), HasSubstr("row 1 (from 0) has -1e+20 in column 0, too large"));
  const float most = floats.largest();
  const FeatureVectors edge = FeatureVectors::open(npy<float>(DType::kFloat32, {2, 2}, {most, most, -most, -most}));
  EXPECT_FALSE(edge.first_unusable());
  EXPECT_TRUE(std::isfinite(4 * most * most + 4 * most * most));
}

TEST_F(Vectors, WhatIsNoMatrixOfFloatsIsRejected) {
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(npy<int32_t>(DType::kInt32, {2, 1}, {1, 2})); }), HasSubstr("found int32"));
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(npy<float>(DType::kFloat32, {2}, {1, 2})); }), HasSubstr("found [2]"));
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(npy<float>(DType::kFloat32, {0, 2}, {})); }), HasSubstr("found [0, 2]"));
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(npy<float>(DType::kFloat32, {1, 1, 2}, {1, 2})); }), HasSubstr("found [1, 1, 2]"));
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(folder_ / "absent.npy"); }), HasSubstr("absent.npy"));
}

TEST_F(Vectors, OtherFormatsAreRejectedWithTheConversion) {
  EXPECT_THAT(usage_error_of([] { FeatureVectors::open("z.parquet"); }), HasSubstr("pandas.read_parquet"));
  EXPECT_THAT(usage_error_of([] { FeatureVectors::open("z.pt"); }), HasSubstr("torch.load"));
  EXPECT_THAT(usage_error_of([] { FeatureVectors::open("z.csv"); }), HasSubstr("debias embed"));
  EXPECT_THAT(usage_error_of([] { FeatureVectors::open("z.h5"); }), HasSubstr("'.h5'"));
  EXPECT_THAT(usage_error_of([&] { FeatureVectors::open(npy<float>(DType::kFloat32, {1, 1}, {1}), "k"); }), HasSubstr("--key k"));
}

TEST_F(Vectors, AFileThatWasCutIsADataError) {
  const std::string path = npy<float>(DType::kFloat32, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const FeatureVectors vectors = FeatureVectors::open(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  EXPECT_THAT(data_error_of([&] { FeatureVectors::open(path); }), HasSubstr("is cut"));
  EXPECT_THAT(data_error_of([&] { all(vectors); }), HasSubstr("is cut"));
}

}  // namespace feature_vectors_test
}  // namespace debias

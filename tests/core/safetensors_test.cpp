#include "debias/core/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/file_bytes.h"
#include "tests/support/refusals.h"

namespace debias {
namespace safetensors_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kWeights[] = {1.5f, -2, 3, 4};
constexpr int64_t kSeven = 7;

std::vector<TensorBytes> tensors() {
  return {{"b.weight", DType::kFloat32, {2, 2}, kWeights}, {"a", DType::kInt64, {}, &kSeven}, {"empty", DType::kUInt8, {0, 3}, nullptr}};
}

class Safetensors : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.safetensors";
};

TEST_F(Safetensors, ReadsBackWhatItWrote) {
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"\xc3\xa9", "a line\n\"quoted\"\x01"}, {"", ""}};
  write_safetensors(path_, tensors(), metadata, /*with_checksum=*/false);
  const auto file = SafetensorsFile::open(path_);
  EXPECT_EQ(file.path(), path_);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "b.weight");
  EXPECT_EQ(file.tensors()[1].name, "a");
  EXPECT_EQ(file.find("none"), nullptr);
  const TensorEntry* weight = file.find("b.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->dtype, DType::kFloat32);
  EXPECT_THAT(weight->shape, ElementsAre(2, 2));
  float values[4];
  ASSERT_EQ(weight->end - weight->begin, sizeof values);
  file.read(*weight, values);
  EXPECT_THAT(values, testing::ElementsAreArray(kWeights));
  int64_t seven = 0;
  file.read(*file.find("a"), &seven);
  EXPECT_EQ(seven, 7);
  file.read(*file.find("empty"), nullptr);
  EXPECT_FALSE(verify_safetensors(file));
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(Safetensors, ReadsBackEveryType) {
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i) {
    const auto dtype = static_cast<DType>(i);
    write_safetensors(path_, {{"t", dtype, {1}, kWeights}}, {});
    EXPECT_EQ(SafetensorsFile::open(path_).find("t")->dtype, dtype) << name_of(dtype);
  }
}

// safetensors.numpy.save of the Python package, version 0.8.
TEST_F(Safetensors, ReadsWhatThePythonPackageWrites) {
  std::string bytes("\x20\x01\0\0\0\0\0\0", 8);
  bytes +=
      "{\"__metadata__\":{\"\xc3\xa9\":\"line\\n\\\"q\\\"\",\"format\":\"pt\"},\"a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]"
      "},"
      "\"b.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]},\"half\":{\"dtype\":\"F16\",\"shape\":[2],"
      "\"data_offsets\":[24,28]},\"empty\":{\"dtype\":\"U8\",\"shape\":[0,3],\"data_offsets\":[28,28]}}    ";
  bytes += std::string("\x07\0\0\0\0\0\0\0\0\0\xc0?\0\0\0\xc0\0\0\0\0\x80@\0<\0@", 28);
  put_bytes(path_, bytes);
  const auto file = SafetensorsFile::open(path_);
  EXPECT_THAT(file.metadata(), ElementsAre(std::pair("format", "pt"), std::pair("\xc3\xa9", "line\n\"q\"")));
  ASSERT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.tensors()[3].name, "empty");
  float values[4];
  file.read(*file.find("b.weight"), values);
  EXPECT_THAT(values, testing::ElementsAreArray(kWeights));
  EXPECT_FALSE(verify_safetensors(file));
}

// These bytes were read back with that package.
TEST_F(Safetensors, WritesTheseBytes) {
  write_safetensors(path_, tensors(), {{"format", "pt"}}, /*with_checksum=*/false);
  std::string expected("\xd8\0\0\0\0\0\0\0", 8);
  expected +=
      "{\"__metadata__\":{\"format\":\"pt\"},\"b.weight\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
      "\"a\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[16,24]},\"empty\":{\"dtype\":\"U8\",\"shape\":[0,3],\"data_offsets\":[24,24]"
      "}}";
  expected.resize(8 + 0xd8, ' ');
  expected += std::string("\0\0\xc0?\0\0\0\xc0\0\0\0\0\x80@\x07\0\0\0\0\0\0\0", 24);
  EXPECT_EQ(bytes_of(path_), expected);
}

TEST_F(Safetensors, AFileWithoutTensorsIsAFile) {
  write_safetensors(path_, {}, {}, false);
  EXPECT_EQ(bytes_of(path_), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(SafetensorsFile::open(path_).tensors().empty());
  write_safetensors(path_, {}, {});
  EXPECT_TRUE(verify_safetensors(SafetensorsFile::open(path_)));
}

TEST_F(Safetensors, StartsTheDataAtAMultipleOfEight) {
  for (int length = 0; length < 16; ++length) {
    write_safetensors(path_, {{"t", DType::kUInt8, {1}, kWeights}}, {{"k", std::string(length, 'x')}});
    EXPECT_EQ(bytes_of(path_).size() % 8, 1u);
    EXPECT_TRUE(verify_safetensors(SafetensorsFile::open(path_)));
  }
}

TEST_F(Safetensors, RefusesToWriteWhatCannotBeRead) {
  const auto fault = [&](const std::vector<TensorBytes>& which, const std::map<std::string, std::string>& metadata) {
    const std::string message = usage_error_of([&] { write_safetensors(path_, which, metadata); });
    EXPECT_THAT(message, HasSubstr(path_));
    EXPECT_EQ(folder_.entries(), 0u);
    return message;
  };
  const TensorBytes one{"t", DType::kUInt8, {1}, kWeights};
  EXPECT_THAT(fault({one, one}, {}), HasSubstr("\"t\" is taken"));
  EXPECT_THAT(fault({{"__metadata__", DType::kUInt8, {1}, kWeights}}, {}), HasSubstr("is taken"));
  EXPECT_THAT(fault({{"t\xff", DType::kUInt8, {1}, kWeights}}, {}), HasSubstr("not UTF-8"));
  EXPECT_THAT(fault({one}, {{"k", "\xff"}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(fault({{"t", DType::kFloat32, {int64_t{1} << 62, 4}, kWeights}}, {}), HasSubstr("overflows"));
  EXPECT_THAT(fault({one}, {{"k", std::string(100'000'001, 'x')}}), HasSubstr("at most 100000000"));
}

TEST_F(Safetensors, KeepsTheTargetWhenWritingFails) {
  EXPECT_THAT(error_of(ErrorKind::kResource, [&] { write_safetensors(folder_ / "none/a", tensors(), {}); }), HasSubstr(folder_ / "none/a"));
}

TEST_F(Safetensors, ReadingAFileThatWasCutSinceIsADataError) {
  write_safetensors(path_, tensors(), {});
  const auto file = SafetensorsFile::open(path_);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 20);
  float values[4];
  EXPECT_THAT(data_error_of([&] { file.read(*file.find("b.weight"), values); }), AllOf(HasSubstr(path_), HasSubstr("cut")));
}

}  // namespace safetensors_test
}  // namespace debias

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "debias/core/safetensors.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

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
  bytes += std::string("\x07\0\0\0\0\0\0\0\0\0\xc0?\0\0\0\xc0\0\0@@\0\0\x80@\0<\0@", 28);
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
  expected += std::string("\0\0\xc0?\0\0\0\xc0\0\0@@\0\0\x80@\x07\0\0\0\0\0\0\0", 24);
  EXPECT_EQ(file_text(path_), expected);
}

TEST_F(Safetensors, AFileWithoutTensorsIsAFile) {
  write_safetensors(path_, {}, {}, false);
  EXPECT_EQ(file_text(path_), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(SafetensorsFile::open(path_).tensors().empty());
  write_safetensors(path_, {}, {});
  EXPECT_TRUE(verify_safetensors(SafetensorsFile::open(path_)));
}

TEST_F(Safetensors, StartsTheDataAtAMultipleOfEight) {
  for (int length = 0; length < 16; ++length) {
    write_safetensors(path_, {{"t", DType::kUInt8, {1}, kWeights}}, {{"k", std::string(length, 'x')}});
    EXPECT_EQ(file_text(path_).size() % 8, 1u);
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

// Damaged and hostile safetensors files: each is a data error that names the path and the fault, whatever it claims.

std::string prefixed(uint64_t length, const std::string& rest) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i) & 0xff));
  return bytes + rest;
}

std::string with_header(const std::string& header, size_t data_bytes) {
  return prefixed(header.size(), header + std::string(data_bytes, 'd'));
}

class DamagedSafetensors : public testing::Test {
 protected:
  void open_and_verify(const std::string& bytes) const {
    put_bytes(path_, bytes);
    verify_safetensors(SafetensorsFile::open(path_));
  }
  std::string fault(const std::string& bytes) const {
    const std::string message = data_error_of([&] { open_and_verify(bytes); });
    EXPECT_THAT(message, HasSubstr(path_));
    return message;
  }
  std::string header_fault(const std::string& header, size_t data_bytes = 4) const { return fault(with_header(header, data_bytes)); }
  // Of a file with one tensor of 4 bytes.
  std::string tensor_fault(const std::string& fields) const { return header_fault("{\"t\":{" + fields + "}}"); }
  void expect_whole(const std::string& header, size_t data_bytes = 4) const {
    EXPECT_NO_THROW(open_and_verify(with_header(header, data_bytes))) << header;
  }

  std::string checksummed() const {
    write_safetensors(path_, {{"w", DType::kFloat32, {2}, kWeights}, {"n", DType::kInt64, {}, &kSeven}, {"e", DType::kUInt8, {0}, nullptr}},
                      {{"escaped", "\x1f"}, {"format", "pt"}});
    return file_text(path_);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.safetensors";
};

TEST_F(DamagedSafetensors, LengthsBeyondTheFileOrTheLimit) {
  EXPECT_THAT(fault(""), HasSubstr("0 bytes, too few"));
  EXPECT_THAT(fault("1234567"), HasSubstr("7 bytes, too few"));
  EXPECT_THAT(fault(prefixed(0, "")), HasSubstr("does not begin with '{'"));
  EXPECT_THAT(fault(prefixed(3, "{}")), AllOf(HasSubstr("claims 3 bytes"), HasSubstr("2 are left")));
  EXPECT_THAT(fault(prefixed(100'000'000, "{}")), HasSubstr("are left"));
  EXPECT_THAT(fault(prefixed(100'000'001, "{}")), HasSubstr("at most 100000000"));
  EXPECT_THAT(fault(prefixed(~uint64_t{0}, "{}")), HasSubstr("at most 100000000"));
  EXPECT_THAT(fault(prefixed(uint64_t{1} << 63, "{}")), HasSubstr("at most 100000000"));
  EXPECT_THAT(data_error_of([&] { SafetensorsFile::open(folder_ / "none"); }), HasSubstr(folder_ / "none"));
  EXPECT_THAT(data_error_of([&] { SafetensorsFile::open(folder_.path()); }), HasSubstr("not a regular file"));
}

TEST_F(DamagedSafetensors, MalformedJson) {
  for (const char* header : {"{", "{\"a\"}", "{} x", "{}{}", "{\"a\":}", "{'a':1}", "{\"a\":{\"dtype\":\"U8\",}}", "{\"\xff\":{}}",
                             "{\"a\n\":{}}", "{/**/}", "{\"__metadata__\":{\"a\":\"\\u12\"}}", "{\"__metadata__\":{\"a\":\"\\ud800\"}}"}) {
    EXPECT_THAT(header_fault(header, 0), HasSubstr("malformed JSON at byte")) << header;
  }
  EXPECT_THAT(header_fault(std::string("{}\0", 3), 0), HasSubstr("malformed JSON"));
  for (const char* header : {"[]", "1", "\"a\"", " {}", "\xef\xbb\xbf{}", "null"}) {
    EXPECT_THAT(header_fault(header, 0), HasSubstr("does not begin with")) << header;
  }
}

TEST_F(DamagedSafetensors, HostileNestingIsRefusedAtOnce) {
  const size_t deep = 5'000'000;
  EXPECT_THAT(header_fault("{\"t\":" + std::string(deep, '['), 0), HasSubstr("\"t\" is not a JSON object"));
  EXPECT_THAT(header_fault("{\"t\":{\"shape\":" + std::string(deep, '['), 0), HasSubstr("shape is not a list"));
  EXPECT_THAT(header_fault("{\"__metadata__\":{\"a\":" + std::string(deep, '['), 0), HasSubstr("metadata \"a\" is not text"));
  std::string objects;
  for (size_t i = 0; i < deep / 5; ++i) objects += "{\"a\":";
  EXPECT_NE(header_fault(objects, 0), "no error");
}

TEST_F(DamagedSafetensors, KeysThatStandTwice) {
  const std::string tensor = R"("t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  EXPECT_THAT(header_fault("{" + tensor + "," + tensor + "}", 2), HasSubstr("\"t\" appears twice"));
  EXPECT_THAT(header_fault("{" + tensor + ",\"\\u0074\":{}}", 2), HasSubstr("\"t\" appears twice"));
  EXPECT_THAT(header_fault(R"({"__metadata__":{"a":"1","a":"2"}})", 0), HasSubstr("metadata \"a\" appears twice"));
  EXPECT_THAT(header_fault(R"({"__metadata__":{},"__metadata__":{}})", 0), HasSubstr("appears twice"));
  EXPECT_THAT(tensor_fault(R"("dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4])"), HasSubstr("two fields dtype"));
}

TEST_F(DamagedSafetensors, EntriesThatAreNoTensors) {
  expect_whole(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})");
  EXPECT_THAT(header_fault(R"({"t":[]})"), HasSubstr("\"t\" is not a JSON object"));
  EXPECT_THAT(header_fault(R"({"t":null})"), HasSubstr("\"t\" is not a JSON object"));
  EXPECT_THAT(tensor_fault(R"("shape":[4],"data_offsets":[0,4])"), HasSubstr("has no dtype"));
  EXPECT_THAT(tensor_fault(R"("dtype":"U8","data_offsets":[0,4])"), HasSubstr("has no shape"));
  EXPECT_THAT(tensor_fault(R"("dtype":"U8","shape":[4])"), HasSubstr("has no data_offsets"));
  EXPECT_THAT(tensor_fault(R"("dtype":"U8","shape":[4],"data_offsets":[0,4],"extra":1)"), HasSubstr("unknown field \"extra\""));
  EXPECT_THAT(tensor_fault(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"), HasSubstr("unknown dtype \"F31\""));
  EXPECT_THAT(tensor_fault(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])"), HasSubstr("unknown dtype"));
  EXPECT_THAT(tensor_fault(R"("dtype":3,"shape":[1],"data_offsets":[0,4])"), HasSubstr("dtype is not text"));
  EXPECT_THAT(tensor_fault(R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])"), HasSubstr("dtype is not text"));
}

TEST_F(DamagedSafetensors, ShapesThatAreNone) {
  const auto shape = [&](const std::string& text) { return tensor_fault(R"("dtype":"U8","data_offsets":[0,4],"shape":)" + text); };
  expect_whole(R"({"t":{"dtype":"U8","data_offsets":[0,4],"shape":[2,2]}})");
  for (const char* text :
       {"4", "\"4\"", "null", "{}", "[-4]", "[4.0]", "[4e0]", "[true]", "[\"4\"]", "[[4]]", "[null]", "[-0]", "[18446744073709551616]"}) {
    EXPECT_THAT(shape(text), HasSubstr("shape is not a list of whole numbers")) << text;
  }
  for (const char* text : {"[18446744073709551615]", "[9223372036854775808]", "[4294967296,4294967296]", "[9223372036854775807,2]"}) {
    EXPECT_THAT(shape(text), HasSubstr("overflow")) << text;
  }
  EXPECT_THAT(tensor_fault(R"("dtype":"F64","data_offsets":[0,4],"shape":[2305843009213693952])"), HasSubstr("overflows"));
  EXPECT_THAT(shape("[3]"), AllOf(HasSubstr("ask for 3 bytes"), HasSubstr("give 4")));
  EXPECT_THAT(shape("[]"), HasSubstr("ask for 1 bytes"));
  std::string many = "[4";
  for (int i = 0; i < 64; ++i) many += ",1";
  EXPECT_THAT(shape(many + "]"), HasSubstr("more than 64 dimensions"));
}

TEST_F(DamagedSafetensors, OffsetsThatAreNone) {
  const auto offsets = [&](const std::string& text) { return tensor_fault(R"("dtype":"U8","shape":[4],"data_offsets":)" + text); };
  for (const char* text : {"4", "[]", "[0]", "[0,4,4]", "[-1,4]", "[0,4.0]", "[\"0\",4]", "[[0,4]]", "{}", "null"}) {
    EXPECT_THAT(offsets(text), HasSubstr("data_offsets are not two whole numbers")) << text;
  }
  EXPECT_THAT(offsets("[4,0]"), HasSubstr("run backwards"));
  EXPECT_THAT(offsets("[18446744073709551615,3]"), HasSubstr("run backwards"));
  EXPECT_THAT(offsets("[18446744073709551611,18446744073709551615]"), HasSubstr("hole"));
  EXPECT_THAT(offsets("[1,5]"), HasSubstr("hole"));
}

TEST_F(DamagedSafetensors, TensorsThatDoNotTileTheData) {
  const auto two = [](int begin) {
    return fmt::format(R"({{"b":{{"dtype":"U8","shape":[4],"data_offsets":[{},{}]}},)"
                       R"("a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}}})",
                       begin, begin + 4);
  };
  expect_whole(two(4), 8);
  EXPECT_THAT(header_fault(two(3), 7), HasSubstr("overlap"));
  EXPECT_THAT(header_fault(two(0), 4), HasSubstr("overlap"));
  EXPECT_THAT(header_fault(two(5), 9), HasSubstr("hole"));
  EXPECT_THAT(header_fault(two(4), 9), HasSubstr("has a tail"));
  EXPECT_THAT(header_fault(two(4), 7), HasSubstr("is cut"));
  EXPECT_THAT(header_fault("{}", 1), HasSubstr("has a tail"));
}

TEST_F(DamagedSafetensors, MetadataThatIsNoMapOfTexts) {
  expect_whole(R"({"__metadata__":{"a":"b"}})", 0);
  for (const char* value : {"1", "null", "{}", "[]", "true", "1.5", "-1"}) {
    EXPECT_THAT(header_fault(fmt::format(R"({{"__metadata__":{{"a":{}}}}})", value), 0), HasSubstr("metadata \"a\" is not text")) << value;
  }
  EXPECT_THAT(header_fault(R"({"__metadata__":"a"})", 0), HasSubstr("\"__metadata__\" is not a JSON object"));
}

TEST_F(DamagedSafetensors, EveryFlippedBitOfAChecksummedFileIsFound) {
  const std::string whole = checksummed();
  ASSERT_TRUE(verify_safetensors(SafetensorsFile::open(path_)));
  ASSERT_THAT(whole, HasSubstr("\\u001f"));  // whose f may turn into an F, which JSON does not tell apart
  ASSERT_THAT(whole, HasSubstr("} "));       // the header is padded
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    ASSERT_NE(fault(damaged), "no error") << "bit " << bit % 8 << " of byte " << bit / 8;
  }
}

TEST_F(DamagedSafetensors, EveryTruncationAndTailIsFound) {
  const std::string whole = checksummed();
  for (size_t length = 0; length < whole.size(); ++length) ASSERT_NE(fault(whole.substr(0, length)), "no error") << length;
  EXPECT_THAT(fault(whole + '\0'), HasSubstr("has a tail"));
}

TEST_F(DamagedSafetensors, AChecksumThatIsMissingMalformedOrOfAnotherFileIsReported) {
  EXPECT_THAT(header_fault(R"({"__metadata__":{"debias.sha256":"00"}})", 0), HasSubstr("checksum is malformed"));
  EXPECT_THAT(header_fault(R"({"__metadata__":{"debias.sha256":""}})", 0), HasSubstr("checksum is malformed"));
  const std::string zeros(64, '0');
  EXPECT_THAT(header_fault(fmt::format(R"({{"__metadata__":{{"debias.sha256":"{}"}}}})", zeros), 0), HasSubstr("does not match"));
  EXPECT_THAT(header_fault(fmt::format(R"({{"__metadata__":{{"debias.sha257":"{}"}}}})", zeros), 0), HasSubstr("name of its checksum"));
  expect_whole(R"({"__metadata__":{"debias.state":"","debias.md5":""}})", 0);
}

TEST_F(DamagedSafetensors, AStaleChecksumIsNotCarriedOver) {
  checksummed();
  const auto metadata = SafetensorsFile::open(path_).metadata();
  ASSERT_TRUE(metadata.contains("debias.sha256"));
  write_safetensors(path_, {}, metadata, /*with_checksum=*/false);
  EXPECT_FALSE(verify_safetensors(SafetensorsFile::open(path_)));
  write_safetensors(path_, {}, metadata);
  EXPECT_TRUE(verify_safetensors(SafetensorsFile::open(path_)));
}

TEST_F(DamagedSafetensors, TheChecksumIsFoundBesideTextThatLooksLikeIt) {
  const std::string zeros(64, '0');
  write_safetensors(path_, {}, {{"a", "\"debias.sha256\":\"" + zeros + "\""}, {"\"debias.sha256", zeros}, {"x\"debias.sha256", zeros}});
  EXPECT_TRUE(verify_safetensors(SafetensorsFile::open(path_)));
}

TEST_F(DamagedSafetensors, RandomDamageIsAnErrorAndNeverACrash) {
  const std::string whole = checksummed();
  std::mt19937 random(1);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string damaged = whole;
    const size_t bytes = 1 + random() % 4;
    for (size_t i = 0; i < bytes; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (damaged == whole) continue;
    try {
      open_and_verify(damaged);
      // Damage to two bytes of the checksum's name makes it another file's metadata; nothing else may pass.
      EXPECT_EQ(damaged.find("\"debias.sha256\""), std::string::npos);
    } catch (const Error&) {
      fault(damaged);
    }
  }
}

TEST_F(DamagedSafetensors, MessagesShowHostileNamesAsOneShortLine) {
  const std::string message = header_fault("{\"\\u001b[2J\\n" + std::string(100'000, 'x') + "\":1}", 0);
  EXPECT_LT(message.size(), 300u);
  EXPECT_THAT(message, HasSubstr("\\u001b[2J\\n"));
}

}  // namespace safetensors_test
}  // namespace debias

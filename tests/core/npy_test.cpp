#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "debias/core/dtype.h"
#include "debias/core/npy.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace npy_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// A file with this header, padded to `length` bytes.
std::string npy(std::string header, const std::string& data, size_t length = 118, int version = 1) {
  header.resize(length - 1, ' ');
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  if (version > 1) file += std::string(2, '\0');
  return file + header + "\n" + data;
}

std::string header_of(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

class Npy : public testing::Test {
 protected:
  NpyArray read(const std::string& bytes) const {
    put_bytes(path_, bytes);
    return read_npy(path_);
  }
  std::string fault(const std::string& bytes) const {
    const std::string message = data_error_of([&] { read(bytes); });
    EXPECT_THAT(message, HasSubstr(path_));
    return message;
  }
  template <class T>
  std::vector<int64_t> integers(DType dtype, const std::vector<T>& values) const {
    write_npy(path_, dtype, {static_cast<int64_t>(values.size())}, values.data());
    return npy_integers(read_npy(path_), path_);
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "a.npy";
};

// numpy.save of numpy.array([[1.5, -2, 3], [4, 5, 6.25]], '<f4'), NumPy 2.4.
const std::string kFromNumPy = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                                   std::string("\x00\x00\xc0?\x00\x00\x00\xc0\x00\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xc8@", 24));

TEST_F(Npy, ReadsWhatNumPyWrites) {
  const NpyArray array = read(kFromNumPy);
  EXPECT_EQ(array.dtype, DType::kFloat32);
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_EQ(array.count(), 6);
  EXPECT_THAT(array.as<float>(), ElementsAre(1.5f, -2, 3, 4, 5, 6.25f));
}

TEST_F(Npy, WritesNumPysBytes) {
  const std::vector<float> values = {1.5, -2, 3, 4, 5, 6.25};
  write_npy(path_, DType::kFloat32, {2, 3}, values.data());
  EXPECT_EQ(file_text(path_), kFromNumPy);
  EXPECT_EQ(folder_.entries(), 1u);
}

TEST_F(Npy, ReadsAllVersions) {
  const std::string header = header_of("'<i8'", "()");
  const std::string seven = bytes_of_values<int64_t>({7});
  for (int version : {1, 2, 3}) EXPECT_THAT(read(npy(header, seven, 116, version)).as<int64_t>(), ElementsAre(7)) << version;
  EXPECT_THAT(fault(npy(header, seven, 116, 4)), HasSubstr("found 4.0"));
  EXPECT_THAT(fault(npy(header, seven, 116, 0)), HasSubstr("found 0.0"));
}

TEST_F(Npy, ReadsBackEveryTypeAndShape) {
  const std::string bytes = "0123456789abcdef0123456789abcdef0123456789abcdef";
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kBFloat16) continue;
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{}, {1}, {3}, {2, 3}, {0}, {4, 0, 5}, {1, 2, 1, 3}}) {
      write_npy(path_, dtype, shape, bytes.data());
      const NpyArray array = read_npy(path_);
      EXPECT_EQ(array.dtype, dtype);
      EXPECT_EQ(array.shape, shape);
      EXPECT_EQ(std::string(array.as<char>().begin(), array.as<char>().end()), bytes.substr(0, array.bytes.size()));
      EXPECT_EQ((file_text(path_).size() - array.bytes.size()) % 64, 0u);
    }
  }
}

TEST_F(Npy, AlignsTheDataForHeadersOfEveryLength) {
  for (int64_t extent = 1; extent < 1'000'000'000; extent *= 100) {
    for (int dimensions = 2; dimensions < 12; ++dimensions) {
      std::vector<int64_t> shape(dimensions, extent);
      shape[1] = 0;
      shape.resize(2 + dimensions / 2, 1);
      write_npy(path_, DType::kUInt8, shape, nullptr);
      const std::string bytes = file_text(path_);
      EXPECT_EQ(bytes.size() % 64, 0u);
      EXPECT_EQ(bytes.back(), '\n');
      EXPECT_EQ(read_npy(path_).shape, shape);
    }
  }
}

TEST_F(Npy, FortranOrderIsFineInOneDimensionOnly) {
  const std::string data = bytes_of_values<float>({1, 2});
  EXPECT_THAT(read(npy(header_of("'<f4'", "(2,)", "True"), data)).as<float>(), ElementsAre(1, 2));
  EXPECT_THAT(fault(npy(header_of("'<f4'", "(1, 2)", "True"), data)), HasSubstr("Fortran order"));
}

TEST_F(Npy, RefusesTypesItDoesNotReadAndSaysWhich) {
  const auto type = [&](const std::string& descr) { return fault(npy(header_of(descr, "(1,)"), std::string(16, '\0'))); };
  EXPECT_THAT(type("'>f4'"), AllOf(HasSubstr("big endian"), HasSubstr("astype('<f4')")));
  EXPECT_THAT(type("'|O'"), HasSubstr("object"));
  EXPECT_THAT(type("'<c16'"), HasSubstr("complex"));
  EXPECT_THAT(type("[('a', '<f4')]"), HasSubstr("structured"));
  for (const char* descr : {"'<U4'", "'|S4'", "'|V2'", "'<f16'", "'<M8[s]'", "'<b1x'", "'|i2'", "'=f4'", "'f4'", "'<'", "''"}) {
    EXPECT_NE(type(descr), "no error") << descr;
  }
}

TEST_F(Npy, RefusesHeadersThatNumPyDoesNotWrite) {
  const std::string data(4, '\0');
  const auto refused = [&](const std::string& header) { EXPECT_THAT(fault(npy(header, data)), HasSubstr("malformed")) << header; };
  EXPECT_EQ(read(npy("{\"shape\":(1,),'descr':'<f4',\n'fortran_order':False}", data)).count(), 1);
  refused("");
  refused("{}");
  refused("{'descr': '<f4', 'fortran_order': False}");
  refused("{'descr': '<f4', 'shape': (1,)}");
  refused("{'fortran_order': False, 'shape': (1,)}");
  refused("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x");
  refused("{'descr': '<f4', 'fortran_order': False 'shape': (1,)}");
  refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': [1]}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}");
  refused("{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os'),)}");
  refused("{'descr: '<f4', 'fortran_order': False, 'shape': (1,)}");
}

TEST_F(Npy, RefusesSizesBeforeAllocatingThem) {
  const auto shape = [&](const std::string& text) { return fault(npy(header_of("'<f4'", text), std::string(8, '\0'))); };
  EXPECT_THAT(shape("(4611686018427387904, 4)"), HasSubstr("overflows"));
  EXPECT_THAT(shape("(4611686018427387904,)"), HasSubstr("overflows"));  // only once multiplied by the element's size
  EXPECT_THAT(shape("(99999999999999999999,)"), HasSubstr("overflows"));
  EXPECT_THAT(shape("(1000000000000,)"), AllOf(HasSubstr("4000000000000"), HasSubstr("is cut")));
  EXPECT_THAT(shape("(3,)"), HasSubstr("is cut"));
  EXPECT_THAT(shape("(1,)"), HasSubstr("has a tail"));
  std::string claim = npy(header_of("'<f4'", "(2,)"), std::string(8, '\0'), 116, 2);
  claim[11] = '\x7f';
  EXPECT_THAT(fault(claim), HasSubstr("at most 65536"));
}

TEST_F(Npy, RefusesWhatIsNoNpyFile) {
  EXPECT_THAT(fault(""), HasSubstr("0 bytes"));
  EXPECT_THAT(fault("filenames,embedding_0,labels\n"), HasSubstr("not an .npy file"));
  std::filesystem::remove(path_);
  EXPECT_THAT(data_error_of([&] { read_npy(path_); }), AllOf(HasSubstr(path_), HasSubstr("No such file")));
}

TEST_F(Npy, RefusesEveryTruncationAndEveryTail) {
  for (int version : {1, 2}) {
    const std::string whole = npy(header_of("'<f4'", "(2,)"), bytes_of_values<float>({1, 2}), 116, version);
    for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(fault(whole.substr(0, length)), "no error") << length;
    EXPECT_THAT(fault(whole + '\0'), HasSubstr("has a tail"));
  }
}

TEST_F(Npy, SurvivesRandomDamage) {
  std::mt19937 random(1);
  int read_all_the_same = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    std::string bytes = kFromNumPy;
    const size_t damaged = 1 + random() % 3;
    for (size_t i = 0; i < damaged; ++i) bytes[random() % 70] = static_cast<char>(random());
    put_bytes(path_, bytes);
    try {
      const NpyArray array = read_npy(path_);
      EXPECT_EQ(array.bytes.size(), 24u);
      EXPECT_EQ(array.count() * size_of(array.dtype), 24u);
      ++read_all_the_same;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_LT(read_all_the_same, 500);
}

TEST_F(Npy, IntegersOfEveryWidthAndSign) {
  EXPECT_THAT(integers<uint8_t>(DType::kUInt8, {0, 255}), ElementsAre(0, 255));
  EXPECT_THAT(integers<uint16_t>(DType::kUInt16, {0, 65535}), ElementsAre(0, 65535));
  EXPECT_THAT(integers<uint32_t>(DType::kUInt32, {0, 4294967295u}), ElementsAre(0, 4294967295));
  EXPECT_THAT(integers<int8_t>(DType::kInt8, {-128, 127}), ElementsAre(-128, 127));
  EXPECT_THAT(integers<int16_t>(DType::kInt16, {-32768, 32767}), ElementsAre(-32768, 32767));
  EXPECT_THAT(integers<int32_t>(DType::kInt32, {-1, 1 << 30}), ElementsAre(-1, 1 << 30));
  EXPECT_THAT(integers<int64_t>(DType::kInt64, {-1, int64_t{1} << 62}), ElementsAre(-1, int64_t{1} << 62));
  EXPECT_THAT(integers<uint8_t>(DType::kBool, {0, 1, 2}), ElementsAre(0, 1, 1));  // any byte but zero is true, as in NumPy
  const auto max = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  EXPECT_THAT(integers<uint64_t>(DType::kUInt64, {1, max}), ElementsAre(1, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(data_error_of([&] {
                integers<uint64_t>(DType::kUInt64, {1, max + 1});
              }),
              AllOf(HasSubstr(path_), HasSubstr("9223372036854775808 at index 1")));
  for (DType dtype : {DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    EXPECT_THAT(data_error_of([&] { integers<double>(dtype, {1}); }),
                AllOf(HasSubstr(path_), HasSubstr("integers were expected"), HasSubstr(std::string(name_of(dtype)))));
  }
}

TEST_F(Npy, HasNoBFloat16) {
  EXPECT_THAT(usage_error_of([&] { write_npy(path_, DType::kBFloat16, {0}, nullptr); }), AllOf(HasSubstr(path_), HasSubstr("bfloat16")));
  EXPECT_EQ(folder_.entries(), 0u);
}

TEST(DType, NamesAreDistinctAndEndWithTheSizeInBits) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(name_of(dtype));
    EXPECT_TRUE(names.insert(name_of(dtype)).second) << name;
    if (dtype == DType::kBool) continue;
    EXPECT_EQ(std::stoul(name.substr(name.find_first_of("0123456789"))), 8 * size_of(dtype)) << name;
  }
  EXPECT_EQ(name_of(DType::kBool), "bool");
  EXPECT_EQ(size_of(DType::kBool), 1u);
}

}  // namespace npy_test
}  // namespace debias

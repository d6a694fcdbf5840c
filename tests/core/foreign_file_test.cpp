#include "debias/core/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "debias/core/npy.h"
#include "debias/core/safetensors.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace foreign_file_test {

using testing::HasSubstr;

class ForeignFiles : public testing::Test {
 protected:
  std::string written(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string what(const std::string& path) { return foreign_file(InputFile(path)).what; }
  TemporaryFolder folder_;
};

const std::string kFilled(100, '\x7f');

TEST_F(ForeignFiles, AreRecognisedByTheirFirstBytesWhateverTheirName) {
  const std::vector<float> numbers = {1, 2};
  write_npy(folder_ / "z.bin", DType::kFloat32, {2}, numbers.data());
  EXPECT_EQ(what(folder_ / "z.bin"), "a NumPy array");
  EXPECT_THAT(what(written("a", "PK\x03\x04" + kFilled)), HasSubstr("torch.save"));
  EXPECT_THAT(what(written("b", std::string("\x80\x02\x8a\x0a", 4) + kFilled)), HasSubstr("torch.save"));
  EXPECT_EQ(what(written("c", std::string("\x08\x07\x12\x07pytorch", 11) + kFilled)), "an ONNX network");
  EXPECT_EQ(what(written("d.onnx", kFilled)), "an ONNX network");
  EXPECT_EQ(what(written("e", "seed: 1\nencoder: resnet18\n")), "a text file");
  EXPECT_EQ(what(written("f", std::string("\x01\x02\x03", 3) + kFilled)), "");
  EXPECT_EQ(what(written("g", "")), "");
}

// 640 is 80 02 in the bytes of a header's length, as a pickle of torch begins.
TEST_F(ForeignFiles, AreNotSeenInSafetensors) {
  for (const uint64_t length : {uint64_t{640}, uint64_t{0x120708}}) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i) & 0xff));
    EXPECT_EQ(what(written("ours", bytes + "{\"a\": 1}" + std::string(2000, ' '))), "") << length;
  }
}

TEST_F(ForeignFiles, AreNamedWithWhatToDoWhereSafetensorsAreRead) {
  const auto refusal = [&](const std::string& path) { return error_of(ErrorKind::kData, [&] { SafetensorsFile::open(path); }); };
  EXPECT_THAT(refusal(written("model.pth", "PK\x03\x04" + kFilled)), HasSubstr("python -m debias.weights convert"));
  EXPECT_THAT(refusal(written("z.npy", "\x93NUMPY" + kFilled)), HasSubstr("it is a NumPy array, not a safetensors file; embeddings"));
  EXPECT_THAT(refusal(written("noise", std::string(100, '\xff'))), HasSubstr("is it a safetensors file?"));
}

}  // namespace foreign_file_test
}  // namespace debias

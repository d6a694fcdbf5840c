#include "debias/encoders/torchscript.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "debias/encoders/state.h"
#include "tests/encoders/one_thread.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace torchscript_test {

const char* const kPools = R"(
def forward(self, x):
    return self.scale * torch.matmul(x.mean(3).mean(2), self.weight)
)";

class TorchScriptFile : public testing::Test {
 protected:
  std::string path() const { return folder_ / "net.pt"; }

  void save(const std::string& forward, at::ScalarType type = at::kFloat) const {
    torch::jit::Module script("Net");
    script.register_parameter("weight", at::arange(12, at::kFloat).reshape({3, 4}).to(type), /*is_buffer=*/false);
    script.register_buffer("scale", at::full({1}, 2.0).to(type));
    script.define(forward);
    script.save(path());
  }

  std::string digest() const {
    std::ifstream file(path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    Sha256 sha;
    sha.update(bytes.data(), bytes.size());
    return sha.hex();
  }

  Config section(const std::string& more = "") const {
    return parse_yaml(fmt::format("{{name: torchscript, file: {}, sha256: {}, size: 8{}}}", path(), digest(), more), "r.yaml");
  }

  std::string message(const Config& asked) const {
    std::string text = data_error_of([&] { read_encoder(asked).make(3, 1); });
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    if (const size_t at = text.find(path()); at != std::string::npos) text.replace(at, path().size(), "F");
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(TorchScriptFile, ComputesWhatItsGraphSays) {
  save(kPools);
  const auto encoder = read_encoder(section()).make(3, 1);
  EXPECT_EQ(encoder->feature_dim(), 4);
  EXPECT_EQ(encoder->image_side(), 8);
  const at::Tensor images = at::sin(at::arange(2 * 3 * 64, at::kFloat)).reshape({2, 3, 8, 8});
  const at::Tensor expected = 2 * images.mean({2, 3}).matmul(at::arange(12, at::kFloat).reshape({3, 4}));
  EXPECT_TRUE(at::allclose(encoder->forward(images), expected, 1e-6, 1e-6));
}

TEST_F(TorchScriptFile, ItsParametersAreTrainedAndStored) {
  save(kPools);
  const auto encoder = read_encoder(section()).make(3, 1);
  const auto state = named_state(*encoder);
  ASSERT_EQ(state.size(), 2u);
  EXPECT_EQ(state[0].first, "weight");
  EXPECT_EQ(state[1].first, "scale");
  const at::Tensor images = at::ones({2, 3, 8, 8});
  encoder->forward(images).sum().backward();
  EXPECT_TRUE(at::allclose(encoder->parameters()[0].grad(), at::full({3, 4}, 4.0)));
  const at::Tensor before = encoder->forward(images);
  {
    const at::NoGradGuard no_grad;
    encoder->parameters()[0].mul_(3);  // as an optimizer would
  }
  EXPECT_TRUE(at::allclose(encoder->forward(images), 3 * before));
  const auto frozen = read_encoder(section(", freeze: all")).make(3, 1);
  EXPECT_FALSE(frozen->forward(images).requires_grad());
}

TEST_F(TorchScriptFile, IsOpenedWithItsDigestAlone) {
  save(kPools);
  Config other = section();
  other.set("sha256", Config::string(std::string(64, 'a')));
  EXPECT_EQ(message(other), "F: its SHA-256 is " + digest() + ", not " + std::string(64, 'a') +
                                " as encoder 'torchscript' says; a file is run only with its own digest");
  other.set("sha256", Config::string("abc"));
  EXPECT_NE(usage_error_of([&] { read_encoder(other).make(3, 1); }).find("expected 64 lower-case hexadecimal digits, found 'abc'"),
            std::string::npos);
  other.erase("file");
  EXPECT_NE(usage_error_of([&] { read_encoder(other).make(3, 1); }).find("no file is given"), std::string::npos);
}

TEST_F(TorchScriptFile, OtherInputsOutputsAndSizesAreRejected) {
  save("def forward(self, x, y):\n    return x.mean(3).mean(2) + y\n");
  EXPECT_EQ(message(section()), "F: its forward takes 2 inputs (x, y); trace a model that takes images alone");
  save("def forward(self, x):\n    return self.scale * x\n");
  EXPECT_EQ(
      message(section()),
      "F: its forward gives Float [3, 3, 8, 8] for images [3, 3, 8, 8], not float32 [3, features]; trace a model that pools its features");
  save("def forward(self, x):\n    return [self.scale * x]\n");
  EXPECT_NE(message(section()).find("not a tensor"), std::string::npos);
  save("def forward(self, x):\n    return torch.matmul(x.view(3, 192), torch.matmul(self.weight, self.weight.t()).repeat(64, 1))\n");
  EXPECT_NE(message(section()).find("its forward fails for images [2, 3, 8, 8]"), std::string::npos);  // a batch of three was traced
  save(kPools, at::kDouble);
  EXPECT_EQ(message(section()), "F: parameter 'weight' is of type Double; save the model in float32 (model.float())");
  save(kPools);
  EXPECT_EQ(usage_error_of([&] { read_encoder(section()).make(1, 1); }),
            "encoder 'torchscript': images of 1 channels; " + path() + " takes 3 (channels)");
}

TEST_F(TorchScriptFile, DamagedAndForeignFilesAreRejected) {
  save(kPools);
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  EXPECT_NE(message(section()).find("F: not a readable TorchScript file"), std::string::npos);
  std::ofstream(path()) << "not a network";
  EXPECT_NE(message(section()).find("F: not a readable TorchScript file"), std::string::npos);
}

}  // namespace torchscript_test
}  // namespace debias

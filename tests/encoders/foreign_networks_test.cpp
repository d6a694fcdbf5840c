// Networks from other programs: TorchScript and ONNX.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "debias/core/error.h"
#include "debias/core/sha256.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/onnx.h"
#include "debias/encoders/state.h"
#include "debias/encoders/torchscript.h"
#include "tests/encoders/modules.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace foreign_networks_test {

using testing::HasSubstr;

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

  std::string digest() const { return file_digest(path()); }

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
  EXPECT_THAT(usage_error_of([&] { read_encoder(other).make(3, 1); }), HasSubstr("expected 64 lower-case hexadecimal digits, found 'abc'"));
  other.erase("file");
  EXPECT_THAT(usage_error_of([&] { read_encoder(other).make(3, 1); }), HasSubstr("no file is given"));
}

TEST_F(TorchScriptFile, OtherInputsOutputsAndSizesAreRejected) {
  save("def forward(self, x, y):\n    return x.mean(3).mean(2) + y\n");
  EXPECT_EQ(message(section()), "F: its forward takes 2 inputs (x, y); trace a model that takes images alone");
  save("def forward(self, x):\n    return self.scale * x\n");
  EXPECT_EQ(
      message(section()),
      "F: its forward gives Float [3, 3, 8, 8] for images [3, 3, 8, 8], not float32 [3, features]; trace a model that pools its features");
  save("def forward(self, x):\n    return [self.scale * x]\n");
  EXPECT_THAT(message(section()), HasSubstr("not a tensor"));
  save("def forward(self, x):\n    return torch.matmul(x.view(3, 192), torch.matmul(self.weight, self.weight.t()).repeat(64, 1))\n");
  EXPECT_THAT(message(section()), HasSubstr("its forward fails for images [2, 3, 8, 8]"));  // a batch of three was traced
  save(kPools, at::kDouble);
  EXPECT_EQ(message(section()), "F: parameter 'weight' is of type Double; save the model in float32 (model.float())");
  save(kPools);
  EXPECT_EQ(usage_error_of([&] { read_encoder(section()).make(1, 1); }),
            "encoder 'torchscript': images of 1 channels; " + path() + " takes 3 (channels)");
}

TEST_F(TorchScriptFile, DamagedAndForeignFilesAreRejected) {
  save(kPools);
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  EXPECT_THAT(message(section()), HasSubstr("F: not a readable TorchScript file"));
  std::ofstream(path()) << "not a network";
  EXPECT_THAT(message(section()), HasSubstr("F: not a readable TorchScript file"));
}

// The ONNX file of a residual network, read back and computed with ATen. python/tests/test_export.py does the same with onnxruntime.

// A message of protocol buffers: the values of each field in order.
struct Message {
  std::map<uint64_t, std::vector<uint64_t>> integers;
  std::map<uint64_t, std::vector<std::string_view>> texts;

  explicit Message(std::string_view bytes) {
    const auto varint = [&] {
      uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(bytes.at(0));
        bytes.remove_prefix(1);
        value |= uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return value;
      }
    };
    while (!bytes.empty()) {
      const uint64_t tag = varint();
      if (tag % 8 == 0) integers[tag / 8].push_back(varint());
      const uint64_t size = tag % 8 == 2 ? varint() : tag % 8 == 5 ? 4 : 0;
      if (size > bytes.size()) throw std::runtime_error("a field runs over the end");
      if (tag % 8 != 0) texts[tag / 8].push_back(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
  }
  std::string text(uint64_t field) const { return std::string(texts.at(field).at(0)); }
  Message inner(uint64_t field) const { return Message(texts.at(field).at(0)); }
  std::vector<Message> all(uint64_t field) const {
    std::vector<Message> messages;
    for (const auto bytes : texts.at(field)) messages.emplace_back(bytes);
    return messages;
  }
};

at::Tensor constant_of(const Message& tensor) {
  std::vector<int64_t> shape(tensor.integers.at(1).begin(), tensor.integers.at(1).end());
  const std::string_view raw = tensor.texts.at(9).at(0);
  EXPECT_EQ(tensor.integers.at(2).at(0), 1u) << "float32";
  return at::from_blob(const_cast<char*>(raw.data()), shape, at::kFloat).clone();
}

class Model {
 public:
  explicit Model(std::string bytes) : bytes_(std::move(bytes)), model_(bytes_), graph_(model_.inner(7)) {
    for (const auto& constant : graph_.all(5)) values_[constant.text(8)] = constant_of(constant);
  }

  at::Tensor run(const at::Tensor& images) {
    values_[graph_.inner(11).text(1)] = images;
    for (const Message& node : graph_.all(1)) values_[node.text(2)] = computed(node);
    return values_.at(graph_.inner(12).text(1));
  }

  const Message& file() const { return model_; }
  const std::map<std::string, at::Tensor>& values() const { return values_; }
  int count(const std::string& operation) const {
    int found = 0;
    for (const Message& node : graph_.all(1)) found += node.text(4) == operation;
    return found;
  }

 private:
  static std::vector<int64_t> sizes(const Message& node, const std::string& name) {
    for (const Message& attribute : node.all(5)) {
      if (attribute.text(1) == name) return {attribute.integers.at(8).begin(), attribute.integers.at(8).end()};
    }
    throw std::runtime_error("no attribute " + name);
  }

  at::Tensor computed(const Message& node) const {
    const std::string operation = node.text(4);
    std::vector<at::Tensor> in;
    for (const auto name : node.texts.at(1)) in.push_back(values_.at(std::string(name)));
    if (operation == "Conv" || operation == "MaxPool") {
      const auto strides = sizes(node, "strides"), pads = sizes(node, "pads"), kernel = sizes(node, "kernel_shape");
      EXPECT_EQ(pads.size(), 4u);
      const std::vector<int64_t> padding = {pads[0], pads[1]};
      return operation == "Conv" ? at::conv2d(in[0], in[1], {}, strides, padding) : at::max_pool2d(in[0], kernel, strides, padding);
    }
    if (operation == "BatchNormalization") {
      uint32_t bits = 0;
      std::memcpy(&bits, node.inner(5).texts.at(2).at(0).data(), sizeof bits);
      return at::batch_norm(in[0], in[1], in[2], in[3], in[4], false, 0.1, std::bit_cast<float>(bits), false);
    }
    if (operation == "Relu") return in[0].relu();
    if (operation == "Tanh") return in[0].tanh();
    if (operation == "Add") return in[0] + in[1];
    if (operation == "GlobalAveragePool") return in[0].mean({2, 3}, true);
    if (operation == "Flatten") return in[0].flatten(1);
    throw std::runtime_error("an operation that no ResNet has: " + operation);
  }

  std::string bytes_;
  Message model_, graph_;
  std::map<std::string, at::Tensor> values_;
};

std::shared_ptr<Encoder> trained(const std::string& section, int64_t channels) {
  const auto encoder = read_encoder(parse_yaml(section, "")).make(channels, 1);
  const at::NoGradGuard no_grad;
  int64_t number = 0;
  for (const auto& [name, tensor] : named_state(*encoder)) {  // batch normalisation that does something
    const at::Tensor wave = at::sin(at::arange(tensor.numel(), at::kFloat) * 1.7 + number++).view(tensor.sizes());
    if (name.ends_with("running_mean") || name.ends_with(".bias")) torch::Tensor(tensor).copy_(0.3 * wave);
    if (name.ends_with("running_var")) torch::Tensor(tensor).copy_(1 + 0.5 * wave);
  }
  encoder->eval();
  return encoder;
}

class OnnxResNet : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(OnnxResNet, ComputesWhatTheEncoderComputesAtAnySize) {
  const auto [section, channels] = GetParam();
  const auto encoder = trained(section, channels);
  Model model(onnx_model(dynamic_cast<const ResNet&>(*encoder)));
  const at::NoGradGuard no_grad;
  for (const auto& [batch, height, width] : {std::array<int64_t, 3>{2, 32, 32}, {1, 33, 47}}) {
    const at::Tensor images =
        at::sin(at::arange(batch * channels * height * width, at::kFloat) * 0.37).view({batch, channels, height, width});
    const at::Tensor expected = encoder->forward(images), found = model.run(images);
    ASSERT_EQ(found.sizes(), expected.sizes());
    EXPECT_GT(expected.abs().max().item<float>(), 1e-3);
    EXPECT_LE((found - expected).abs().max().item<float>(), 1e-5 * std::max(1.0f, expected.abs().max().item<float>()));
  }
}

INSTANTIATE_TEST_SUITE_P(Encoders, OnnxResNet,
                         testing::Values(std::pair("{name: resnet18, width: 8}", 3),
                                         std::pair("{name: resnet34, width: 8, activation: tanh}", 1),
                                         std::pair("{name: resnet50, width: 8, stem: imagenet}", 3)));

TEST(OnnxResNetFile, SaysItsVersionAndKeepsTorchvisionsNames) {
  const auto encoder = trained("{name: resnet18, width: 8}", 3);
  const Model model(onnx_model(dynamic_cast<const ResNet&>(*encoder)));
  EXPECT_EQ(model.file().integers.at(1).at(0), 7u);
  EXPECT_EQ(model.file().inner(8).integers.at(2).at(0), 13u);
  EXPECT_EQ(model.count("Conv"), 20);
  EXPECT_EQ(model.count("Add"), 8);
  EXPECT_EQ(model.count("Tanh"), 0);
  size_t constants = 0;
  for (const auto& [name, tensor] : named_state(*encoder)) {
    if (name.ends_with("num_batches_tracked")) continue;
    ++constants;
    EXPECT_TRUE(at::equal(model.values().at(name), tensor)) << name;
  }
  EXPECT_EQ(model.values().size(), constants);
}

}  // namespace foreign_networks_test
}  // namespace debias

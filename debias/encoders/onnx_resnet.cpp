#include "debias/encoders/onnx_resnet.h"

#include <fmt/format.h>

#include "debias/encoders/onnx_graph.h"

namespace debias {
namespace {

// Strides, paddings and shapes are read from the modules; only the way from block to block is written here.
class ResNetWriter {
 public:
  explicit ResNetWriter(const ResNet& encoder)
      : modules_(encoder.named_modules("", /*include_self=*/false)), options_(encoder.options()), graph_(encoder.registry_name()) {}

  std::string model(int64_t dimensions) {
    std::string x = graph_.node("Relu", {normalised("conv1", "bn1", OnnxGraph::kInput)}, "relu");
    if (options_.stem() == Stem::kImageNet) {
      x = graph_.node("MaxPool", {x}, "maxpool", {{"kernel_shape", Sizes{3, 3}}, {"strides", Sizes{2, 2}}, {"pads", Sizes{1, 1, 1, 1}}});
    }
    for (int stage = 1; has(fmt::format("layer{}", stage)); ++stage) {
      for (int i = 0; has(fmt::format("layer{}.{}", stage, i)); ++i) x = block(fmt::format("layer{}.{}", stage, i), x, is_last(stage, i));
    }
    graph_.node("Flatten", {graph_.node("GlobalAveragePool", {x}, "avgpool")}, OnnxGraph::kOutput, {{"axis", int64_t{1}}});
    const int64_t channels = convolution("conv1").weight.size(1);
    return graph_.model({{OnnxGraph::kInput, {channels, "height", "width"}}}, {{OnnxGraph::kOutput, {dimensions}}});
  }

 private:
  using Sizes = std::vector<int64_t>;

  bool has(const std::string& name) const { return modules_.contains(name); }
  bool is_last(int stage, int i) const { return !has(fmt::format("layer{}", stage + 1)) && !has(fmt::format("layer{}.{}", stage, i + 1)); }
  const torch::nn::Conv2dImpl& convolution(const std::string& name) const { return *modules_[name]->as<torch::nn::Conv2dImpl>(); }

  // The last block of all has the encoder's `activation`, in its middle and at its end.
  std::string block(const std::string& name, const std::string& input, bool last) {
    const bool tanh = last && options_.activation() == Activation::kTanh;
    const std::string activation = tanh ? "Tanh" : "Relu";
    std::string x = input;
    for (int i = 1; has(fmt::format("{}.conv{}", name, i)); ++i) {
      if (i > 1) x = graph_.node(activation, {x}, fmt::format("{}.activation{}", name, i - 1));
      x = normalised(fmt::format("{}.conv{}", name, i), fmt::format("{}.bn{}", name, i), x);
    }
    const std::string shortcut = has(name + ".downsample") ? normalised(name + ".downsample.0", name + ".downsample.1", input) : input;
    return graph_.node(activation, {graph_.node("Add", {x, shortcut}, name + ".add")}, name);
  }

  std::string normalised(const std::string& convolution_name, const std::string& norm_name, const std::string& input) {
    const auto& conv = convolution(convolution_name);
    const auto& stride = *conv.options.stride();
    const auto& padding = *std::get<torch::ExpandingArray<2>>(conv.options.padding());
    const std::string x = graph_.node("Conv", {input, graph_.constant(convolution_name + ".weight", conv.weight)}, convolution_name,
                                      {{"kernel_shape", Sizes{conv.weight.size(2), conv.weight.size(3)}},
                                       {"strides", Sizes{stride[0], stride[1]}},
                                       {"pads", Sizes{padding[0], padding[1], padding[0], padding[1]}}});
    const auto& norm = *modules_[norm_name]->as<torch::nn::BatchNorm2dImpl>();
    return graph_.node(
        "BatchNormalization",
        {x, graph_.constant(norm_name + ".weight", norm.weight), graph_.constant(norm_name + ".bias", norm.bias),
         graph_.constant(norm_name + ".running_mean", norm.running_mean), graph_.constant(norm_name + ".running_var", norm.running_var)},
        norm_name, {{"epsilon", norm.options.eps()}});
  }

  torch::OrderedDict<std::string, std::shared_ptr<torch::nn::Module>> modules_;
  const ResNetOptions& options_;
  OnnxGraph graph_;
};

}  // namespace

std::string onnx_model(const ResNet& encoder) { return ResNetWriter(encoder).model(encoder.feature_dim()); }

}  // namespace debias

#include "debias/encoders/onnx.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <bit>
#include <limits>

#include "debias/core/error.h"
#include "debias/core/proto_message.h"

namespace debias {
namespace {

// Field numbers and constants of onnx.proto, by message.
namespace model_proto {
constexpr uint32_t kIrVersion = 1, kProducer = 2, kGraph = 7, kOperatorSet = 8;
constexpr int64_t kIrVersion7 = 7, kOperatorSet13 = 13;
}  // namespace model_proto
namespace operator_set_proto {
constexpr uint32_t kDomain = 1, kVersion = 2;
}
namespace graph_proto {
constexpr uint32_t kNode = 1, kName = 2, kInitializer = 5, kInput = 11, kOutput = 12;
}
namespace node_proto {
constexpr uint32_t kInput = 1, kOutput = 2, kName = 3, kOperation = 4, kAttribute = 5;
}
namespace attribute_proto {
constexpr uint32_t kName = 1, kFloat = 2, kInteger = 3, kIntegers = 8, kType = 20;
constexpr int64_t kTypeFloat = 1, kTypeInteger = 2, kTypeIntegers = 7;
}  // namespace attribute_proto
namespace tensor_proto {
constexpr uint32_t kDimension = 1, kDataType = 2, kName = 8, kRawData = 9;
}
namespace value_proto {
constexpr uint32_t kName = 1, kType = 2, kTensorType = 1, kElementType = 1, kShape = 2, kDimension = 1, kSize = 1, kParameter = 2;
}
constexpr int64_t kFloat32 = 1;

ProtoMessage attribute(const std::string& name, const OnnxGraph::Attribute& value) {
  ProtoMessage message;
  message.bytes(attribute_proto::kName, name);
  if (const auto* number = std::get_if<double>(&value)) {
    return message.real(attribute_proto::kFloat, static_cast<float>(*number)).integer(attribute_proto::kType, attribute_proto::kTypeFloat);
  }
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return message.integer(attribute_proto::kInteger, *number).integer(attribute_proto::kType, attribute_proto::kTypeInteger);
  }
  for (const int64_t number : std::get<std::vector<int64_t>>(value)) message.integer(attribute_proto::kIntegers, number);
  return message.integer(attribute_proto::kType, attribute_proto::kTypeIntegers);
}

ProtoMessage named_size(const std::string& name) { return ProtoMessage().bytes(value_proto::kParameter, name); }
ProtoMessage fixed_size(int64_t size) { return ProtoMessage().integer(value_proto::kSize, size); }

ProtoMessage float_value(const OnnxGraph::Value& value) {
  ProtoMessage shape;
  shape.message(value_proto::kDimension, named_size("batch"));
  for (const auto& size : value.sizes) {
    const auto* number = std::get_if<int64_t>(&size);
    shape.message(value_proto::kDimension, number != nullptr ? fixed_size(*number) : named_size(std::get<std::string>(size)));
  }
  const ProtoMessage tensor = ProtoMessage().integer(value_proto::kElementType, kFloat32).message(value_proto::kShape, shape);
  return ProtoMessage()
      .bytes(value_proto::kName, value.name)
      .message(value_proto::kType, ProtoMessage().message(value_proto::kTensorType, tensor));
}

}  // namespace

std::string OnnxGraph::node(const std::string& operation, const std::vector<std::string>& inputs, const std::string& output,
                            const Attributes& attributes) {
  ProtoMessage message;
  for (const auto& input : inputs) message.bytes(node_proto::kInput, input);
  message.bytes(node_proto::kOutput, output).bytes(node_proto::kName, output).bytes(node_proto::kOperation, operation);
  for (const auto& [name, value] : attributes) message.message(node_proto::kAttribute, attribute(name, value));
  nodes_ += ProtoMessage().message(graph_proto::kNode, message).serialized();
  return output;
}

std::string OnnxGraph::constant(const std::string& name, const at::Tensor& value) {
  static_assert(std::endian::native == std::endian::little, "raw tensor data are little endian");
  const at::Tensor numbers = value.detach().to(at::kCPU, at::kFloat).contiguous();
  ProtoMessage message;
  for (const int64_t size : numbers.sizes()) message.integer(tensor_proto::kDimension, size);
  message.integer(tensor_proto::kDataType, kFloat32).bytes(tensor_proto::kName, name);
  message.bytes(tensor_proto::kRawData, {static_cast<const char*>(numbers.const_data_ptr()), numbers.nbytes()});
  constants_ += ProtoMessage().message(graph_proto::kInitializer, message).serialized();
  return name;
}

std::string OnnxGraph::model(const std::vector<Value>& inputs, const std::vector<Value>& outputs) const {
  ProtoMessage graph;
  graph.encoded(nodes_).bytes(graph_proto::kName, name_).encoded(constants_);
  for (const Value& input : inputs) graph.message(graph_proto::kInput, float_value(input));
  for (const Value& output : outputs) graph.message(graph_proto::kOutput, float_value(output));
  const ProtoMessage operators =
      ProtoMessage().bytes(operator_set_proto::kDomain, "").integer(operator_set_proto::kVersion, model_proto::kOperatorSet13);
  ProtoMessage model;
  model.integer(model_proto::kIrVersion, model_proto::kIrVersion7).bytes(model_proto::kProducer, "debias");
  model.message(model_proto::kGraph, graph).message(model_proto::kOperatorSet, operators);
  if (model.serialized().size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw usage_error("export: {} makes an ONNX file of {} MB, its readers take 2147 at most; give --format safetensors", name_,
                      model.serialized().size() / 1000000);
  }
  return model.serialized();
}

namespace {

// Strides, paddings and shapes are read from the modules; only the way from block to block is written here.
class ResNetWriter {
 public:
  explicit ResNetWriter(const ResNet& encoder)
      : modules_(encoder.named_modules("", /*include_self=*/false)), options_(encoder.options()), graph_(encoder.registry_name()) {}

  std::string model(int64_t dimensions) {
    std::string x = graph_.node("Relu", {normalised("conv1", "bn1", OnnxGraph::kInput)}, "relu");
    if (options_.stem == Stem::kImageNet) {
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
    const bool tanh = last && options_.activation == Activation::kTanh;
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

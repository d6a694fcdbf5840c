// A model in the ONNX format (operator set 13), written without generated code.
//
// A graph's nodes are in the order in which they are added; each has one output, named as the node. Numbers are float32. The batch is of
// any size.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "debias/encoders/resnet.h"

namespace debias {

class OnnxGraph {
 public:
  using Attribute = std::variant<int64_t, double, std::vector<int64_t>>;
  using Attributes = std::map<std::string, Attribute>;

  // An input or output [batch, sizes...]; a size is a number, or the name of one that is any.
  struct Value {
    std::string name;
    std::vector<std::variant<int64_t, std::string>> sizes;
  };

  static constexpr const char* kInput = "images";
  static constexpr const char* kOutput = "features";

  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  // Returns `output`.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs, const std::string& output,
                   const Attributes& attributes = {});
  // Returns `name`.
  std::string constant(const std::string& name, const at::Tensor& value);

  // The file. A usage error beyond 2 GiB, which the format's readers reject.
  std::string model(const std::vector<Value>& inputs, const std::vector<Value>& outputs) const;

 private:
  std::string name_, nodes_, constants_;  // encoded
};

// A residual network as an ONNX model: the file that other programs run without this one.

// Graph of the encoder in evaluation mode, from normalised images to pooled features (named above). Constants have the
// encoder's own names, which are torchvision's; batch normalisation stays a node of its own, which runtimes fold into the convolution
// before it.
std::string onnx_model(const ResNet& encoder);

}  // namespace debias

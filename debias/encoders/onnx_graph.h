// A model in the ONNX format (operator set 13), written without generated code.
//
// A graph of one input `images` and one output `features`, in the order in which its nodes are added; each node has one output, named as
// the node. Numbers are float32. The batch is of any size, and so are heights and widths.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace debias {

class OnnxGraph {
 public:
  using Attribute = std::variant<int64_t, double, std::vector<int64_t>>;
  using Attributes = std::map<std::string, Attribute>;

  static constexpr const char* kInput = "images";
  static constexpr const char* kOutput = "features";

  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  // Returns `output`.
  std::string node(const std::string& operation, const std::vector<std::string>& inputs, const std::string& output,
                   const Attributes& attributes = {});
  // Returns `name`.
  std::string constant(const std::string& name, const at::Tensor& value);

  // The file: images [batch, channels, height, width], features [batch, dimensions]. A usage error beyond 2 GiB, which the format's
  // readers refuse.
  std::string model(int64_t channels, int64_t dimensions) const;

 private:
  std::string name_, nodes_, constants_;  // encoded
};

}  // namespace debias

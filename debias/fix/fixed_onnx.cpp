#include "debias/fix/fixed_onnx.h"

#include "debias/encoders/onnx.h"

namespace debias {

std::string onnx_model(const FixedModel& model) {
  constexpr const char* kFeatures = "features";
  constexpr const char* kFixed = "features_fixed";
  const int64_t D = model.head.weight.size(1), C = model.head.weight.size(0);
  OnnxGraph graph("fixed");
  if (model.layer.rank() == 0) {
    graph.node("Identity", {kFeatures}, kFixed);
  } else {
    const std::string centred = graph.node("Sub", {kFeatures, graph.constant("mean", model.layer.mean)}, "centred");
    const std::string along = graph.node("MatMul", {centred, graph.constant("right", model.layer.right.t())}, "along");
    const std::string erased = graph.node("MatMul", {along, graph.constant("left", model.layer.left.t())}, "erased");
    graph.node("Sub", {kFeatures, erased}, kFixed);
  }
  const std::string scores = graph.node("MatMul", {kFixed, graph.constant("weight", model.head.weight.t())}, "scores");
  graph.node("Add", {scores, graph.constant("bias", model.head.bias)}, "logits");
  return graph.model({{kFeatures, {D}}}, {{kFixed, {D}}, {"logits", {C}}});
}

}  // namespace debias

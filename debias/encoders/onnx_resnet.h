// A residual network as an ONNX model: the file that other programs run without this one.
#pragma once

#include <string>

#include "debias/encoders/resnet.h"

namespace debias {

// Graph of the encoder in evaluation mode, from normalised images to pooled features (onnx_graph.h names both). Constants have the
// encoder's own names, which are torchvision's; batch normalisation stays a node of its own, which runtimes fold into the convolution
// before it.
std::string onnx_model(const ResNet& encoder);

}  // namespace debias

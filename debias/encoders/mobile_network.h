// Networks of inverted residuals with linear bottlenecks (Sandler et al. 2018): MobileNetV2 and EfficientNet-Lite.
//
// A stem convolution (3x3, stride 2), stages of blocks, a 1x1 convolution, and the mean over positions. A block widens its input by 1x1
// (left out at expansion 1), filters each channel (depthwise k x k), narrows by 1x1, and adds its input where the shape stays; batch
// normalisation follows each convolution and ReLU6 all but the last of a block. In TensorFlow's order of things (`same` padding) a stride
// of 2 pads as if the last output were cut off: on even sizes one row less above and one column less on the left than torch does.
#pragma once

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "debias/encoders/encoder.h"
#include "debias/encoders/folded_convolution.h"

namespace debias {

struct MobileStage {
  int64_t expansion, channels, blocks, stride, kernel;
};

enum class MobilePadding { kSymmetric, kSame };

// A convolution and the normalisation after it.
struct MobileUnit {
  enum class Kind { kStem, kExpand, kDepthwise, kProject, kHead };
  Kind kind;
  int64_t stage = 0, block = 0;  // of an inverted residual, the block within its stage
  int64_t place = 0;             // of the block among all
  bool expands = true;           // whether the block widens first
};

// The names of the two modules of a unit: {"features.0.0", "features.0.1"}.
using MobileNaming = std::function<std::pair<std::string, std::string>(const MobileUnit& unit)>;

struct MobileArchitecture {
  std::vector<MobileStage> stages;
  int64_t stem = 32, head = 1280;
  MobilePadding padding = MobilePadding::kSymmetric;
  double eps = 1e-5, momentum = 0.1;  // of batch normalisation
};

class MobileNetwork : public Encoder {
 public:
  MobileNetwork(const MobileArchitecture& architecture, const MobileNaming& naming, int64_t in_channels, uint64_t seed);

  torch::Tensor forward(const torch::Tensor& images) override;
  int64_t feature_dim() const override { return architecture_.head; }

 protected:
  // The layout of a project that names the modules in another way.
  WeightLayout layout(const std::string& origin, const MobileNaming& naming, std::vector<std::string> ignored) const;
  // The parts of all units of one stage, of the stem or of the head.
  std::vector<EncoderStage> stages_by(const std::function<std::string(const MobileUnit& unit)>& name) const;

 private:
  struct Layer {
    MobileUnit unit;
    std::pair<std::string, std::string> names;
    torch::nn::Conv2d convolution{nullptr};
    torch::nn::BatchNorm2d norm{nullptr};
    int64_t stride = 1;
    bool adds = false;  // the block's input, behind its last convolution
  };

  void add(const MobileUnit& unit, const MobileNaming& naming, const torch::nn::Conv2dOptions& options, bool adds = false);
  void add_block(const MobileUnit& place, const MobileNaming& naming, const MobileStage& stage, int64_t in);
  BoundedMap through(Layer& layer, const BoundedMap& x, const BoundedMap& residual) const;

  MobileArchitecture architecture_;
  std::vector<Layer> layers_;
};

// timm's names: conv_stem, bn1, blocks.S.B.conv_pw, .bn1, ..., conv_head, bn2.
std::pair<std::string, std::string> timm_mobile_names(const MobileUnit& unit);

// True if tensors of these keys and shapes have exactly this many blocks in each stage under timm's names, without squeeze and excitation.
bool has_timm_blocks(const WeightShapes& shapes, const std::vector<MobileStage>& stages);

}  // namespace debias

#include "debias/encoders/mobile_network.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/hardtanh.h>
#include <fmt/format.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "debias/encoders/batch_norm.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

// Networks of inverted residuals with linear bottlenecks (Sandler et al. 2018): MobileNetV2 and EfficientNet-Lite.
//
// A stem convolution (3x3, stride 2), stages of blocks, a 1x1 convolution, and the mean over positions. A block widens its input by 1x1
// (left out at expansion 1), filters each channel (depthwise k x k), narrows by 1x1, and adds its input where the shape stays; batch
// normalisation follows each convolution and ReLU6 all but the last of a block. In TensorFlow's order of things (`same` padding) a stride
// of 2 pads as if the last output were cut off: on even sizes one row less above and one column less on the left than torch does.
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

using Kind = MobileUnit::Kind;

torch::Tensor clamped6(torch::Tensor x) { return x.requires_grad() ? at::hardtanh(x, 0, 6) : x.clamp_(0, 6); }

// Below and on the right, what is missing for ceil(size / stride) outputs is padded more than above and on the left.
torch::Tensor padded_same(const torch::Tensor& x, int64_t kernel, int64_t stride) {
  const auto missing = [&](int64_t size) { return std::max<int64_t>(((size + stride - 1) / stride - 1) * stride + kernel - size, 0); };
  const int64_t rows = missing(x.size(2)), columns = missing(x.size(3));
  return at::constant_pad_nd(x, {columns / 2, columns - columns / 2, rows / 2, rows - rows / 2});
}

// Registers `module` under a path of names, in containers that are made where they are missing.
template <class Holder>
void register_at(torch::nn::Module& root, const std::string& path, const Holder& module) {
  torch::nn::Module* parent = &root;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; begin = dot + 1, dot = path.find('.', begin)) {
    const std::string name = path.substr(begin, dot - begin);
    const auto children = parent->named_children();
    const auto* known = children.find(name);
    parent = known != nullptr ? known->get() : parent->register_module(name, std::make_shared<torch::nn::Module>()).get();
  }
  parent->register_module(path.substr(begin), module);
}

torch::nn::Conv2dOptions mobile_convolution(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1, int64_t groups = 1) {
  return torch::nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).groups(groups).bias(false);
}

MobileNetwork::MobileNetwork(const MobileArchitecture& architecture, const MobileNaming& naming, int64_t in_channels, uint64_t seed)
    : architecture_(architecture) {
  add({.kind = Kind::kStem}, naming, mobile_convolution(in_channels, architecture.stem, 3, 2));
  int64_t in = architecture.stem;
  MobileUnit unit{.kind = Kind::kExpand};
  for (const MobileStage& stage : architecture.stages) {
    for (unit.block = 0; unit.block < stage.blocks; ++unit.block, ++unit.place) {
      add_block(unit, naming, stage, in);
      in = stage.channels;
    }
    ++unit.stage;
  }
  add({.kind = Kind::kHead}, naming, mobile_convolution(in, architecture.head, 1));
  initialise(*this, seed, InitStream::kEncoder);
}

void MobileNetwork::add_block(const MobileUnit& place, const MobileNaming& naming, const MobileStage& stage, int64_t in) {
  const int64_t hidden = in * stage.expansion, stride = place.block == 0 ? stage.stride : 1;
  MobileUnit unit = place;
  unit.expands = stage.expansion != 1;
  if (unit.expands) add(unit, naming, mobile_convolution(in, hidden, 1));
  unit.kind = Kind::kDepthwise;
  add(unit, naming, mobile_convolution(hidden, hidden, stage.kernel, stride, hidden));
  unit.kind = Kind::kProject;
  add(unit, naming, mobile_convolution(hidden, stage.channels, 1), stride == 1 && in == stage.channels);
}

void MobileNetwork::add(const MobileUnit& unit, const MobileNaming& naming, const torch::nn::Conv2dOptions& written, bool adds) {
  torch::nn::Conv2dOptions options = written;
  const int64_t stride = options.stride()->at(0);
  if (stride > 1 && architecture_.padding == MobilePadding::kSame) options.padding(0);
  Layer layer{unit, naming(unit), torch::nn::Conv2d(options), nullptr, stride, adds};
  layer.norm =
      torch::nn::BatchNorm2d(torch::nn::BatchNormOptions(options.out_channels()).eps(architecture_.eps).momentum(architecture_.momentum));
  register_at(*this, layer.names.first, layer.convolution);
  register_at(*this, layer.names.second, layer.norm);
  layers_.push_back(std::move(layer));
}

BoundedMap MobileNetwork::through(Layer& layer, const BoundedMap& x, const BoundedMap& residual) const {
  const bool pads = layer.stride > 1 && architecture_.padding == MobilePadding::kSame;
  const BoundedMap input = {pads ? padded_same(x.values, layer.convolution->weight.size(2), layer.stride) : x.values, x.bound};
  if (layer.unit.kind == Kind::kProject) {
    return normalised_convolution(layer.convolution, layer.norm, input, {.residual = layer.adds ? residual.values : torch::Tensor()},
                                  residual.bound);
  }
  if (auto folded = folded_convolution6(*layer.convolution, *layer.norm, input)) return *std::move(folded);
  return {clamped6(normalised(*layer.norm, layer.convolution(input.values)))};
}

torch::Tensor MobileNetwork::forward(const torch::Tensor& images) {
  BoundedMap x = {images}, block_input;
  for (Layer& layer : layers_) {
    const bool begins = layer.unit.kind == Kind::kExpand || (layer.unit.kind == Kind::kDepthwise && !layer.unit.expands);
    if (begins) block_input = x;
    x = through(layer, x, block_input);
  }
  return x.values.mean({2, 3});
}

WeightLayout MobileNetwork::layout(const std::string& origin, const MobileNaming& naming, std::vector<std::string> ignored) const {
  std::map<std::string, std::string> modules;
  for (const Layer& layer : layers_) {
    const auto theirs = naming(layer.unit);
    modules[layer.names.first] = theirs.first;
    modules[layer.names.second] = theirs.second;
  }
  return layout_of_modules(
      origin, [modules](const std::string& module) { return modules.at(module); }, std::move(ignored));
}

std::vector<EncoderStage> MobileNetwork::stages_by(const std::function<std::string(const MobileUnit& unit)>& name) const {
  std::vector<EncoderStage> stages;
  for (const Layer& layer : layers_) {
    const std::string stage = name(layer.unit);
    if (stages.empty() || stages.back().name != stage) stages.push_back({stage, {}});
    stages.back().parts.insert(stages.back().parts.end(), {layer.names.first, layer.names.second});
  }
  return stages;
}

// timm's names: conv_stem, bn1, blocks.S.B.conv_pw, .bn1, ..., conv_head, bn2.
std::pair<std::string, std::string> timm_mobile_names(const MobileUnit& unit) {
  const std::string block = fmt::format("blocks.{}.{}.", unit.stage, unit.block);
  switch (unit.kind) {
    case Kind::kStem:
      return {"conv_stem", "bn1"};
    case Kind::kHead:
      return {"conv_head", "bn2"};
    case Kind::kExpand:
      return {block + "conv_pw", block + "bn1"};
    case Kind::kDepthwise:
      return {block + "conv_dw", block + (unit.expands ? "bn2" : "bn1")};
    case Kind::kProject:
      break;
  }
  return unit.expands ? std::pair{block + "conv_pwl", block + "bn3"} : std::pair{block + "conv_pw", block + "bn2"};
}

// True if tensors of these keys and shapes have exactly this many blocks in each stage under timm's names, without squeeze and excitation.
bool has_timm_blocks(const WeightShapes& shapes, const std::vector<MobileStage>& stages) {
  const auto has_block = [&](size_t stage, int64_t block) {
    return shapes.contains(fmt::format("blocks.{}.{}.conv_dw.weight", stage, block));
  };
  if (!shapes.contains("conv_stem.weight") || shapes.contains("blocks.0.0.se.conv_reduce.weight")) return false;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    if (!has_block(stage, stages[stage].blocks - 1) || has_block(stage, stages[stage].blocks)) return false;
  }
  return !has_block(stages.size(), 0);
}

// Table 2 of the paper.
const std::vector<MobileStage>& mobilenet_v2_stages() {
  static const std::vector<MobileStage> stages = {{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3},  {6, 32, 3, 2, 3}, {6, 64, 4, 2, 3},
                                                  {6, 96, 3, 1, 3}, {6, 160, 3, 2, 3}, {6, 320, 1, 1, 3}};
  return stages;
}

constexpr int64_t kMobileNetV2Blocks = 17;

std::string torchvision_part(const MobileUnit& unit) {
  if (unit.kind == MobileUnit::Kind::kStem) return "features.0";
  return fmt::format("features.{}", unit.kind == MobileUnit::Kind::kHead ? kMobileNetV2Blocks + 1 : unit.place + 1);
}

// The last convolution of a block and its normalisation are beside the others, which are pairs.
std::pair<std::string, std::string> torchvision_mobile_names(const MobileUnit& unit) {
  const std::string part = torchvision_part(unit);
  const int before = unit.expands ? 1 : 0;  // pairs before the depthwise one
  switch (unit.kind) {
    case MobileUnit::Kind::kExpand:
      return {part + ".conv.0.0", part + ".conv.0.1"};
    case MobileUnit::Kind::kDepthwise:
      return {fmt::format("{}.conv.{}.0", part, before), fmt::format("{}.conv.{}.1", part, before)};
    case MobileUnit::Kind::kProject:
      return {fmt::format("{}.conv.{}", part, before + 1), fmt::format("{}.conv.{}", part, before + 2)};
    default:
      return {part + ".0", part + ".1"};
  }
}

class MobileNetV2 final : public MobileNetwork {
 public:
  MobileNetV2(int64_t in_channels, uint64_t seed)
      : MobileNetwork({.stages = mobilenet_v2_stages()}, torchvision_mobile_names, in_channels, seed) {}

  std::string registry_name() const override { return "mobilenet_v2"; }
  std::vector<EncoderStage> stages() const override { return stages_by(torchvision_part); }
  std::vector<WeightLayout> weight_layouts() const override {
    return {layout("torchvision", torchvision_mobile_names, {"classifier."}), layout("timm", timm_mobile_names, {"classifier."})};
  }
};

}  // namespace

std::shared_ptr<Encoder> make_mobilenet_v2(const MobileNetV2Options& options, int64_t in_channels, uint64_t seed) {
  check_options(options, "encoder 'mobilenet_v2'");
  if (in_channels < 1) throw usage_error("encoder 'mobilenet_v2': images of {} channels; it needs at least 1", in_channels);
  return std::make_shared<MobileNetV2>(in_channels, seed);
}

std::optional<Config> mobilenet_v2_section(const WeightShapes& shapes) {
  const bool torchvisions = shapes.contains("features.0.0.weight") && shapes.contains("features.1.conv.0.0.weight") &&
                            shapes.contains("features.18.0.weight") && !shapes.contains("features.19.0.weight");
  if (!torchvisions && !has_timm_blocks(shapes, mobilenet_v2_stages())) return std::nullopt;
  return Config::map({{"name", Config::string("mobilenet_v2")}});
}

namespace {

const std::vector<MobileStage>& lite0_stages() {
  static const std::vector<MobileStage> stages = {{1, 16, 1, 1, 3},  {6, 24, 2, 2, 3},  {6, 40, 2, 2, 5}, {6, 80, 3, 2, 3},
                                                  {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3}};
  return stages;
}

constexpr int64_t kLite0Blocks = 16;

std::string lite0_stage(const MobileUnit& unit) {
  if (unit.kind == MobileUnit::Kind::kStem) return "stem";
  if (unit.kind == MobileUnit::Kind::kHead) return "head";
  return fmt::format("blocks.{}", unit.stage);
}

std::pair<std::string, std::string> efficientnet_pytorch_names(const MobileUnit& unit) {
  const std::string block = fmt::format("_blocks.{}.", unit.place);
  switch (unit.kind) {
    case MobileUnit::Kind::kStem:
      return {"_conv_stem", "_bn0"};
    case MobileUnit::Kind::kHead:
      return {"_conv_head", "_bn1"};
    case MobileUnit::Kind::kExpand:
      return {block + "_expand_conv", block + "_bn0"};
    case MobileUnit::Kind::kDepthwise:
      return {block + "_depthwise_conv", block + "_bn1"};
    case MobileUnit::Kind::kProject:
      break;
  }
  return {block + "_project_conv", block + "_bn2"};
}

MobileArchitecture lite0_architecture(LiteOrigin origin) {
  MobileArchitecture architecture{.stages = lite0_stages()};
  if (origin == LiteOrigin::kTimm) return architecture;
  architecture.padding = MobilePadding::kSame;
  architecture.eps = 1e-3;
  architecture.momentum = 0.01;
  return architecture;
}

class EfficientNetLite0 final : public MobileNetwork {
 public:
  EfficientNetLite0(const EfficientNetLite0Options& options, int64_t in_channels, uint64_t seed)
      : MobileNetwork(lite0_architecture(options.origin), timm_mobile_names, in_channels, seed), options_(options) {}

  std::string registry_name() const override { return "efficientnet_lite0"; }
  std::vector<EncoderStage> stages() const override { return stages_by(lite0_stage); }
  std::vector<WeightLayout> weight_layouts() const override {
    WeightLayout google = layout("efficientnet-pytorch", efficientnet_pytorch_names, {"_fc."});
    google.needs = "origin: tensorflow";
    google.has_needed = [origin = options_.origin] { return origin == LiteOrigin::kTensorflow; };
    return {layout("timm", timm_mobile_names, {"classifier."}), google};
  }

 private:
  EfficientNetLite0Options options_;
};

}  // namespace

std::shared_ptr<Encoder> make_efficientnet_lite0(const EfficientNetLite0Options& options, int64_t in_channels, uint64_t seed) {
  check_options(options, "encoder 'efficientnet_lite0'");
  if (in_channels < 1) throw usage_error("encoder 'efficientnet_lite0': images of {} channels; it needs at least 1", in_channels);
  return std::make_shared<EfficientNetLite0>(options, in_channels, seed);
}

std::optional<Config> efficientnet_lite0_section(const WeightShapes& shapes) {
  const auto has_block = [&](int64_t place) { return shapes.contains(fmt::format("_blocks.{}._depthwise_conv.weight", place)); };
  const bool googles = shapes.contains("_conv_stem.weight") && has_block(kLite0Blocks - 1) && !has_block(kLite0Blocks) &&
                       !shapes.contains("_blocks.0._se_reduce.weight");
  if (!googles && !has_timm_blocks(shapes, lite0_stages())) return std::nullopt;
  Config section = Config::map({{"name", Config::string("efficientnet_lite0")}});
  if (googles) section.set("origin", Config::scalar(std::string(enum_name(LiteOrigin::kTensorflow))));
  return section;
}

}  // namespace debias

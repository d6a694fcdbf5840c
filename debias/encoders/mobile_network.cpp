#include "debias/encoders/mobile_network.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/hardtanh.h>
#include <fmt/format.h>

#include <map>

#include "debias/encoders/batch_norm.h"
#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

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

}  // namespace

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

}  // namespace debias

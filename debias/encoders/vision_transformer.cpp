#include "debias/encoders/vision_transformer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include <cmath>
#include <map>
#include <vector>

#include "debias/encoders/folded_convolution.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

constexpr int64_t kVitWidth = 384, kVitHeads = 6, kVitDepth = 12, kVitPatch = 16, kVitHidden = 4 * kVitWidth;
constexpr double kVitDeviation = 0.02;
constexpr uint64_t kFirstTable = uint64_t{1} << 32;  // of the streams of initialise(), which counts the layers' tensors from 0

torch::nn::LayerNorm vit_norm() { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({kVitWidth}).eps(1e-6)); }

at::Tensor through(torch::nn::Linear& linear, const at::Tensor& x, AfterLinear after = AfterLinear::kNone) {
  if (const auto y = packed_linear(*linear, x, after)) return *y;
  return after == AfterLinear::kGelu ? at::gelu(linear(x)) : linear(x);
}

// In place if no gradient is requested.
at::Tensor sum(at::Tensor x, const at::Tensor& y) { return at::GradMode::is_enabled() ? x + y : x.add_(y.to(x.scalar_type())); }

class VitAttention : public torch::nn::Module {
 public:
  VitAttention()
      : qkv_(register_module("qkv", torch::nn::Linear(kVitWidth, 3 * kVitWidth))),
        proj_(register_module("proj", torch::nn::Linear(kVitWidth, kVitWidth))) {}

  torch::Tensor forward(const torch::Tensor& x) {  // [N, T, width]
    const torch::Tensor parts = through(qkv_, x).unflatten(2, {3, kVitHeads, kVitWidth / kVitHeads}).permute({2, 0, 3, 1, 4});
    const torch::Tensor y = at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
    return through(proj_, y.transpose(1, 2).flatten(2));
  }

 private:
  torch::nn::Linear qkv_, proj_;
};

class VitMlp : public torch::nn::Module {
 public:
  VitMlp()
      : fc1_(register_module("fc1", torch::nn::Linear(kVitWidth, kVitHidden))),
        fc2_(register_module("fc2", torch::nn::Linear(kVitHidden, kVitWidth))) {}

  torch::Tensor forward(const torch::Tensor& x) { return through(fc2_, through(fc1_, x, AfterLinear::kGelu)); }

 private:
  torch::nn::Linear fc1_, fc2_;
};

class VitBlock : public torch::nn::Module {
 public:
  VitBlock()
      : norm1_(register_module("norm1", vit_norm())),
        attention_(register_module("attn", std::make_shared<VitAttention>())),
        norm2_(register_module("norm2", vit_norm())),
        mlp_(register_module("mlp", std::make_shared<VitMlp>())) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor y = sum(x, attention_->forward(norm1_(x)));
    return sum(y, mlp_->forward(norm2_(y)));
  }

 private:
  torch::nn::LayerNorm norm1_;
  std::shared_ptr<VitAttention> attention_;
  torch::nn::LayerNorm norm2_;
  std::shared_ptr<VitMlp> mlp_;
};

int64_t position_count(int64_t size) { return (size / kVitPatch) * (size / kVitPatch) + 1; }

// torchvision's key of one of timm's names; blocks are encoder.layers.encoder_layer_I there.
std::string torchvision_vit_key(const std::string& name) {
  static const std::map<std::string, std::string> outside = {{"cls_token", "class_token"},
                                                             {"pos_embed", "encoder.pos_embedding"},
                                                             {"patch_embed.proj.weight", "conv_proj.weight"},
                                                             {"patch_embed.proj.bias", "conv_proj.bias"},
                                                             {"norm.weight", "encoder.ln.weight"},
                                                             {"norm.bias", "encoder.ln.bias"}};
  static const std::map<std::string, std::string> inside = {{"norm1.weight", "ln_1.weight"},
                                                            {"norm1.bias", "ln_1.bias"},
                                                            {"attn.qkv.weight", "self_attention.in_proj_weight"},
                                                            {"attn.qkv.bias", "self_attention.in_proj_bias"},
                                                            {"attn.proj.weight", "self_attention.out_proj.weight"},
                                                            {"attn.proj.bias", "self_attention.out_proj.bias"},
                                                            {"norm2.weight", "ln_2.weight"},
                                                            {"norm2.bias", "ln_2.bias"},
                                                            {"mlp.fc1.weight", "mlp.0.weight"},
                                                            {"mlp.fc1.bias", "mlp.0.bias"},
                                                            {"mlp.fc2.weight", "mlp.3.weight"},
                                                            {"mlp.fc2.bias", "mlp.3.bias"}};
  if (const auto found = outside.find(name); found != outside.end()) return found->second;
  const size_t begin = std::string("blocks.").size(), dot = name.find('.', begin);
  return fmt::format("encoder.layers.encoder_layer_{}.{}", name.substr(begin, dot - begin), inside.at(name.substr(dot + 1)));
}

class VitSmall final : public Encoder {
 public:
  VitSmall(const VitSmallOptions& options, int64_t in_channels, uint64_t seed) : options_(options) {
    class_token_ = register_parameter("cls_token", at::empty({1, 1, kVitWidth}));
    positions_ = register_parameter("pos_embed", at::empty({1, position_count(options.size), kVitWidth}));
    auto patches = register_module("patch_embed", std::make_shared<torch::nn::Module>());
    projection_ =
        patches->register_module("proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(in_channels, kVitWidth, kVitPatch).stride(kVitPatch)));
    auto container = register_module("blocks", std::make_shared<torch::nn::Module>());
    for (int64_t i = 0; i < kVitDepth; ++i) {
      blocks_.push_back(container->register_module(fmt::format("{}", i), std::make_shared<VitBlock>()));
    }
    norm_ = register_module("norm", vit_norm());
    initialise(*this, seed, InitStream::kEncoder, ConvolutionWeights::kFanInUniform);
    fill_tables(seed);
  }

  torch::Tensor forward(const torch::Tensor& images) override {
    const int64_t side = options_.size;
    if (images.size(2) != side || images.size(3) != side) {
      throw usage_error("encoder 'vit_small': images of {}x{} pixels; it takes {}x{}", images.size(2), images.size(3), side, side);
    }
    const torch::Tensor patches = projection_(images).flatten(2).transpose(1, 2);  // [N, T - 1, width]
    const torch::Tensor tokens = class_token_.expand({images.size(0), -1, -1}).to(patches.scalar_type());
    torch::Tensor x = at::cat({tokens, patches}, 1) + positions_;
    for (const auto& block : blocks_) x = block->forward(x);
    return norm_(x.select(1, 0));
  }

  int64_t feature_dim() const override { return kVitWidth; }
  std::optional<int64_t> image_side() const override { return options_.size; }

  std::string registry_name() const override { return "vit_small"; }

  std::vector<EncoderStage> stages() const override {
    std::vector<EncoderStage> stages = {{"embed", {"cls_token", "pos_embed", "patch_embed"}}};
    for (int64_t i = 0; i < kVitDepth; ++i) {
      const std::string name = fmt::format("blocks.{}", i);
      stages.push_back({name, {name}});
    }
    stages.back().parts.push_back("norm");
    return stages;
  }

  std::vector<WeightLayout> weight_layouts() const override {
    const std::vector<std::string> heads = {"head.", "heads."};
    return {{.origin = "timm", .ignored = heads}, {.origin = "torchvision", .key_of = torchvision_vit_key, .ignored = heads}};
  }

 private:
  void fill_tables(uint64_t seed) {
    const at::NoGradGuard no_grad;
    RngKey key = {.domain = RngDomain::kInit, .seed = seed, .sample = kFirstTable, .step = static_cast<uint16_t>(InitStream::kEncoder)};
    for (const at::Tensor& table : {class_token_, positions_}) {
      fill_uniform(table, key, kVitDeviation * std::sqrt(3.0));
      ++key.sample;
    }
  }

  VitSmallOptions options_;
  torch::Tensor class_token_, positions_;
  torch::nn::Conv2d projection_{nullptr};
  std::vector<std::shared_ptr<VitBlock>> blocks_;
  torch::nn::LayerNorm norm_{nullptr};
};

}  // namespace

void VitSmallOptions::describe(OptionVisitor& o) {
  o("size", size, Range::closed(16, 1024), "side of the square images, a multiple of 16");
  backbone.describe(o);
  o.check([this](const std::string& what) {
    if (size % kVitPatch == 0) return;
    throw usage_error("{}: size: {} is not a multiple of {}; give {}", what, size, kVitPatch,
                      std::max<int64_t>(1, size / kVitPatch) * kVitPatch);
  });
}

std::shared_ptr<Encoder> make_vit_small(const VitSmallOptions& options, int64_t in_channels, uint64_t seed) {
  check_options(options, "encoder 'vit_small'");
  if (in_channels < 1) throw usage_error("encoder 'vit_small': images of {} channels; it needs at least 1", in_channels);
  return std::make_shared<VitSmall>(options, in_channels, seed);
}

std::optional<Config> vit_small_section(const WeightShapes& shapes) {
  for (const char* key : {"pos_embed", "encoder.pos_embedding"}) {
    const auto table = shapes.find(key);
    if (table == shapes.end() || table->second.size() != 3 || table->second[2] != kVitWidth) continue;
    const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(table->second[1] - 1))));
    const auto block = [&](int64_t i) {
      return shapes.contains(fmt::format("blocks.{}.norm1.weight", i)) ||
             shapes.contains(fmt::format("encoder.layers.encoder_layer_{}.ln_1.weight", i));
    };
    const bool scaled = shapes.contains("blocks.0.ls1.gamma");  // DINOv2
    if (scaled || side < 1 || position_count(side * kVitPatch) != table->second[1] || !block(kVitDepth - 1) || block(kVitDepth)) continue;
    Config section = Config::map({{"name", Config::string("vit_small")}});
    if (side * kVitPatch != VitSmallOptions().size) section.set("size", Config::integer(side * kVitPatch));
    return section;
  }
  return std::nullopt;
}

}  // namespace debias

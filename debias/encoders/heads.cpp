#include "debias/encoders/heads.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <fmt/format.h>

#include <vector>

#include "debias/core/registry.h"
#include "debias/encoders/batch_norm.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

class SimclrHead final : public Head {
 public:
  SimclrHead(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed) : Head(options.output_dim) {
    check_options(options, "head 'simclr'");
    const int64_t hidden = options.hidden_dim;
    fc1_ = register_module("fc1", torch::nn::Linear(torch::nn::LinearOptions(feature_dim, hidden).bias(false)));
    bn1_ = register_module("bn1", torch::nn::BatchNorm1d(hidden));
    fc2_ = register_module("fc2", torch::nn::Linear(hidden, options.output_dim));
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override {
    return fc2_(normalised(*bn1_, fc1_(features), {.activation = Activation::kRelu}));
  }

 private:
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
  torch::nn::BatchNorm1d bn1_{nullptr};
};

class MlpHead final : public Head {
 public:
  MlpHead(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed) : Head(options.output_dim) {
    check_options(options, "head 'mlp'");
    fc1_ = register_module("fc1", torch::nn::Linear(feature_dim, feature_dim));
    fc2_ = register_module("fc2", torch::nn::Linear(feature_dim, options.output_dim));
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override { return fc2_(fc1_(features).relu_()); }

 private:
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
};

class LinearHead final : public Head {
 public:
  LinearHead(const LinearHeadOptions& options, int64_t feature_dim, uint64_t seed) : Head(options.output_dim) {
    check_options(options, "head 'linear'");
    fc_ = register_module("fc", torch::nn::Linear(feature_dim, options.output_dim));
    if (options.batch_norm) {
      bn_ = register_module("bn", torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(options.output_dim).affine(false)));
    }
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override {
    const torch::Tensor rows = fc_(features);
    return bn_ ? bn_(rows) : rows;
  }

 private:
  torch::nn::Linear fc_{nullptr};
  torch::nn::BatchNorm1d bn_{nullptr};
};

class AlexNetHead final : public Head {
 public:
  AlexNetHead(const AlexNetHeadOptions& options, int64_t feature_dim, uint64_t seed) : Head(options.output_dim) {
    check_options(options, "head 'alexnet'");
    const int64_t hidden = options.hidden_dim;
    fc6_ = register_module("fc6", torch::nn::Linear(feature_dim, hidden));
    bn6_ = register_module("bn6", torch::nn::BatchNorm1d(hidden));
    fc7_ = register_module("fc7", torch::nn::Linear(hidden, hidden));
    bn7_ = register_module("bn7", torch::nn::BatchNorm1d(hidden));
    fc8_ = register_module("fc8", torch::nn::Linear(hidden, options.output_dim));
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override {
    const torch::Tensor x = normalised(*bn6_, fc6_(features), {.activation = Activation::kRelu});
    return fc8_(normalised(*bn7_, fc7_(x), {.activation = Activation::kRelu}));
  }

 private:
  torch::nn::Linear fc6_{nullptr}, fc7_{nullptr}, fc8_{nullptr};
  torch::nn::BatchNorm1d bn6_{nullptr}, bn7_{nullptr};
};

class MocoV3Head final : public Head {
 public:
  MocoV3Head(const MocoV3HeadOptions& options, int64_t feature_dim, uint64_t seed) : Head(options.output_dim) {
    check_options(options, "head 'moco_v3'");
    int64_t in = feature_dim;
    for (int64_t i = 1; i <= options.layers; ++i) {
      const bool last = i == options.layers;
      const int64_t out = last ? options.output_dim : options.hidden_dim;
      const auto name = [i](const char* of) { return fmt::format("{}{}", of, i); };
      fcs_.push_back(register_module(name("fc"), torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false))));
      norms_.push_back(register_module(name("bn"), torch::nn::BatchNorm1d(torch::nn::BatchNorm1dOptions(out).affine(!last))));
      in = out;
    }
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override {
    torch::Tensor x = features;
    for (size_t i = 0; i + 1 < fcs_.size(); ++i) x = normalised(*norms_[i], fcs_[i](x), {.activation = Activation::kRelu});
    return norms_.back()(fcs_.back()(x));
  }

 private:
  std::vector<torch::nn::Linear> fcs_;
  std::vector<torch::nn::BatchNorm1d> norms_;
};

class NoHead final : public Head {
 public:
  using Head::Head;
  torch::Tensor forward(const torch::Tensor& features) override { return features; }
};

}  // namespace

std::shared_ptr<Head> make_simclr_head(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<SimclrHead>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_mlp_head(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<MlpHead>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_linear_head(const LinearHeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<LinearHead>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_alexnet_head(const AlexNetHeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<AlexNetHead>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_moco_v3_head(const MocoV3HeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<MocoV3Head>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_no_head(int64_t feature_dim) { return std::make_shared<NoHead>(feature_dim); }

}  // namespace debias

#include "debias/encoders/heads.h"

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include "debias/core/registry.h"
#include "debias/encoders/initialise.h"

namespace debias {
namespace {

constexpr int64_t kMaxDim = 65536;

class SimclrHead final : public Head {
 public:
  SimclrHead(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed) : options_(options) {
    SimclrHeadOptions::table().verify(options, "head 'simclr'");
    const int64_t hidden = options.hidden_dim();
    fc1_ = register_module("fc1", torch::nn::Linear(torch::nn::LinearOptions(feature_dim, hidden).bias(false)));
    bn1_ = register_module("bn1", torch::nn::BatchNorm1d(hidden));
    fc2_ = register_module("fc2", torch::nn::Linear(hidden, options.output_dim()));
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override { return fc2_(bn1_(fc1_(features)).relu_()); }
  int64_t output_dim() const override { return options_.output_dim(); }
  Config config() const override {
    Config config;
    config.set("name", Config::string("simclr"));
    config.overlay(SimclrHeadOptions::table().write(options_));
    return config;
  }

 private:
  SimclrHeadOptions options_;
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
  torch::nn::BatchNorm1d bn1_{nullptr};
};

class MlpHead final : public Head {
 public:
  MlpHead(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed) : options_(options) {
    MlpHeadOptions::table().verify(options, "head 'mlp'");
    fc1_ = register_module("fc1", torch::nn::Linear(feature_dim, feature_dim));
    fc2_ = register_module("fc2", torch::nn::Linear(feature_dim, options.output_dim()));
    initialise(*this, seed, InitStream::kHead);
  }
  torch::Tensor forward(const torch::Tensor& features) override { return fc2_(fc1_(features).relu_()); }
  int64_t output_dim() const override { return options_.output_dim(); }
  Config config() const override {
    Config config;
    config.set("name", Config::string("mlp"));
    config.overlay(MlpHeadOptions::table().write(options_));
    return config;
  }

 private:
  MlpHeadOptions options_;
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
};

class NoHead final : public Head {
 public:
  explicit NoHead(int64_t feature_dim) : feature_dim_(feature_dim) {}
  torch::Tensor forward(const torch::Tensor& features) override { return features; }
  int64_t output_dim() const override { return feature_dim_; }
  Config config() const override {
    Config config;
    config.set("name", Config::string("none"));
    return config;
  }

 private:
  int64_t feature_dim_;
};

}  // namespace

const OptionTable<SimclrHeadOptions>& SimclrHeadOptions::table() {
  static const auto table =
      OptionTable<SimclrHeadOptions>()
          .add("hidden_dim", &SimclrHeadOptions::hidden_dim_, Range::closed(1, kMaxDim), "width of the hidden layer")
          .add("output_dim", &SimclrHeadOptions::output_dim_, Range::closed(1, kMaxDim), "dimensions of the projection");
  return table;
}

const OptionTable<MlpHeadOptions>& MlpHeadOptions::table() {
  static const auto table = OptionTable<MlpHeadOptions>().add("output_dim", &MlpHeadOptions::output_dim_, Range::closed(1, kMaxDim),
                                                              "dimensions of the projection");
  return table;
}

const OptionTable<NoHeadOptions>& NoHeadOptions::table() {
  static const OptionTable<NoHeadOptions> table;
  return table;
}

std::shared_ptr<Head> make_simclr_head(const SimclrHeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<SimclrHead>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_mlp_head(const MlpHeadOptions& options, int64_t feature_dim, uint64_t seed) {
  return std::make_shared<MlpHead>(options, feature_dim, seed);
}

std::shared_ptr<Head> make_no_head(int64_t feature_dim) { return std::make_shared<NoHead>(feature_dim); }

}  // namespace debias

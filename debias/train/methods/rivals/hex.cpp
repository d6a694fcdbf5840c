#include "debias/train/methods/rivals/hex.h"

#include <ATen/ATen.h>
#include <torch/nn/modules/linear.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/encoders/initialise.h"
#include "debias/loader/batch_source.h"
#include "debias/train/methods/rivals/classification.h"

namespace debias {
namespace {

constexpr const char* kHex = "hex";
constexpr const char* kTexture = "texture";
constexpr double kRidge = 1e-6;

class TextureNetwork final : public torch::nn::Module {
 public:
  TextureNetwork(const HexOptions& options, int64_t classes, uint64_t seed) : options_(options) {
    const int64_t n = options.levels;
    lambda_ = register_parameter("lambda", thresholds(seed, 0));
    theta_ = register_parameter("theta", thresholds(seed, 1));
    linear_ = register_module("linear", torch::nn::Linear(n * n, options.texture_dim));
    classifier_ = register_module("classifier", torch::nn::Linear(torch::nn::LinearOptions(options.texture_dim, classes).bias(false)));
    initialise(*this, seed, InitStream::kHead);
  }

  at::Tensor logits(const at::Tensor& images) const {  // V g [B, classes] of images [B, C, H, W]
    const at::Tensor x = grey_levels(images, options_.levels, options_.texture_side);
    const at::Tensor counted = co_occurrences(x, lambda_, theta_, options_.row, options_.column).flatten(1);
    const at::Tensor g = at::relu(at::linear(counted, linear_->weight, linear_->bias));
    const at::Tensor length = at::linalg_vector_norm(g, 2, at::IntArrayRef({0}), /*keepdim=*/true).clamp_min(1e-6);
    return at::linear(g / length, classifier_->weight);
  }

 private:
  // Uniform over the levels, as in the released code.
  at::Tensor thresholds(uint64_t seed, uint16_t which) const {
    const double half = static_cast<double>(options_.levels) / 2;
    const at::Tensor values = at::empty({options_.levels}, at::kFloat);
    RngKey key = {.domain = RngDomain::kInit, .seed = side_seed(seed, "thresholds"), .step = which};
    fill_uniform(values, key, half);
    return values + half;
  }

  HexOptions options_;
  at::Tensor lambda_, theta_;
  torch::nn::Linear linear_{nullptr}, classifier_{nullptr};
};

class Hex final : public ClassificationMethod {
 public:
  explicit Hex(MethodParts parts)
      : ClassificationMethod(kHex, std::move(parts)), texture_(dynamic_cast<const TextureNetwork&>(*model().side.front().module)) {}

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const ModelOutput output = forward(model(), batch.images(), parts().forward);
    const at::Tensor labels = labels_of(batch);
    const at::Tensor texture = texture_.logits(batch.images().select(0, 0).to(parts().forward.device, at::kFloat));
    Evaluated evaluated = evaluate_logits(output, batch, [&](const at::Tensor& logits) {
      const at::Tensor own = logits.to(at::kFloat);
      const at::Tensor superficial = texture + model().classifier->linear()->bias;
      return mean_by_sample(cross_entropy_by_sample(projected_out(own + texture, superficial), labels));
    });
    backward(evaluated, output, {"texture_logits", texture});
    return evaluated;
  }

 private:
  const TextureNetwork& texture_;
};

void check_hex(const Recipe& recipe, const SampleTable& dataset) {
  const auto& options = recipe.method.as<HexOptions>();
  require_classification(recipe, dataset, kHex);
  const auto classes = static_cast<int64_t>(dataset.info().class_names.size());
  const std::string& where = recipe.method.where;
  if (recipe.train.batch_size <= classes || !recipe.train.drop_last) {
    throw usage_error(
        "{}method 'hex' projects {} directions out of each batch, which needs more images than that; write train.batch_size: {} "
        "or more and drop_last: true",
        where, classes, 2 * classes);
  }
  if (options.row == 0 && options.column == 0) {
    throw usage_error("{}method 'hex': row 0 and column 0 compare a pixel with itself; write column: 1", where);
  }
  if (options.row < options.texture_side && options.column < options.texture_side) return;
  throw usage_error("{}method 'hex': an offset of {} rows and {} columns leaves texture_side {}; lower the offset", where, options.row,
                    options.column, options.texture_side);
}

}  // namespace

at::Tensor grey_levels(const at::Tensor& images, int64_t levels, int64_t side) {
  const at::NoGradGuard no_grad;
  at::Tensor grey = images.mean(1, /*keepdim=*/true);
  const int64_t height = std::min(grey.size(2), side), width = std::min(grey.size(3), side);
  if (height < grey.size(2) || width < grey.size(3)) grey = at::adaptive_avg_pool2d(grey, {height, width});
  grey = grey.squeeze(1);
  const at::Tensor least = grey.amin({1, 2}, /*keepdim=*/true), range = grey.amax({1, 2}, /*keepdim=*/true) - least;
  const at::Tensor share = (grey - least) / range.where(range.gt(0), 1);
  return (share * static_cast<double>(levels - 1)).floor();
}

at::Tensor co_occurrences(const at::Tensor& x, const at::Tensor& lambda, const at::Tensor& theta, int64_t row, int64_t column) {
  const int64_t height = x.size(1), width = x.size(2);
  const at::Tensor pixel = x.slice(1, row).slice(2, column).flatten(1),
                   neighbour = x.slice(1, 0, height - row).slice(2, 0, width - column).flatten(1);
  const auto above = [](const at::Tensor& values, const at::Tensor& thresholds) {  // [B, n, pixels]
    return (values.unsqueeze(1) - thresholds.unsqueeze(1)).clamp(0, 1);
  };
  return at::bmm(above(neighbour - pixel, lambda), above(pixel, theta).transpose(1, 2)) / static_cast<double>(pixel.size(1));
}

at::Tensor projected_out(const at::Tensor& all, const at::Tensor& texture) {
  if (all.scalar_type() != at::kDouble) return projected_out(all.to(at::kDouble), texture.to(at::kDouble)).to(all.scalar_type());
  const at::Tensor gram = texture.t().mm(texture);
  const at::Tensor ridge = kRidge * gram.diagonal().mean().clamp_min(kRidge);
  return all - texture.mm(at::linalg_solve(gram + ridge * at::eye(gram.size(0), gram.options()), texture.t().mm(all)));
}

MethodEntry hex_entry() {
  MethodEntry entry;
  entry.name = kHex;
  entry.finds_bias_itself = true;
  entry.summary = "projects what textures predict out of the logits; no bias labels (Wang et al. 2019)";
  take_options<HexOptions>(entry);
  entry.check = check_hex;
  entry.networks = encoder_and_head;
  entry.side_networks = [](const Recipe& recipe, const DatasetInfo& info, const Model&) {
    const auto classes = static_cast<int64_t>(info.class_names.size());
    return std::vector<SideNetwork>{
        {kTexture, std::make_shared<TextureNetwork>(recipe.method.as<HexOptions>(), classes, side_seed(recipe.seed, kTexture))}};
  };
  entry.make = [](const Recipe&, const SampleTable&, MethodParts parts) -> std::unique_ptr<Method> {
    return std::make_unique<Hex>(std::move(parts));
  };
  return entry;
}

}  // namespace debias

#include "debias/runs/embedded_layer.h"

#include "debias/core/error.h"
#include "debias/evaluate/eval_views.h"

namespace debias {
namespace {

class EncoderWithHead final : public Encoder {
 public:
  EncoderWithHead(std::shared_ptr<Encoder> encoder, std::shared_ptr<Head> head)
      : encoder_(register_module("encoder", std::move(encoder))), head_(register_module("head", std::move(head))) {}

  torch::Tensor forward(const torch::Tensor& images) override { return head_->forward(encoder_->forward(images)); }
  int64_t feature_dim() const override { return head_->output_dim(); }
  std::string registry_name() const override { return encoder_->registry_name(); }

 private:
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Head> head_;
};

}  // namespace

Layer layer_named(const std::string& word) { return options_detail::Field<Layer>::parse(Config::scalar(word), {}, "embed: --layer"); }

std::shared_ptr<Encoder> embedded_layer(const LoadedRun& run, Layer layer) {
  if (layer == Layer::kEncoder) return run.encoder;
  if (!run.has_head) {
    throw usage_error("embed: the run has no head, so that its projection is the encoder's output; leave out --layer");
  }
  return std::make_shared<EncoderWithHead>(run.encoder, run.head);
}

ViewPipeline embedding_views(const Recipe& recipe, const DatasetInfo& normalised_as) {
  return eval_views(recipe.view_steps, normalised_as);
}

}  // namespace debias

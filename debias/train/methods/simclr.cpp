#include "debias/train/methods/simclr.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/core/registry.h"
#include "debias/loader/batch_source.h"

namespace debias {
namespace {

class Simclr final : public Method {
 public:
  using Method::Method;

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const int64_t B = images_in(batch);
    if (parts().micro_batch && *parts().micro_batch < B) return in_parts(batch);
    const ModelOutput output = of_all_ranks(passed(batch, 0, B), batch);
    Evaluated evaluated = losses(output, batch);
    backward(evaluated, output);
    return evaluated;
  }

 private:
  static int64_t images_in(const Batch& batch) { return batch.inputs.front().second.size(1); }

  // The outputs for the images begin..end of a batch of views, or of their features.
  ModelOutput passed(const Batch& batch, int64_t begin, int64_t end) const {
    const auto& [name, rows] = batch.inputs.front();
    const auto pass = name == "features" ? forward_features : forward;
    return pass(model(), rows.slice(1, begin, end), parts().forward);
  }

  Evaluated losses(const ModelOutput& output, const Batch& batch) const {
    return evaluate(output, batch,
                    [&](const Term& term, const at::Tensor& logits) { return term.objective()(input_of(term, batch, output, logits)); });
  }

  Evaluated in_parts(const Batch& batch) {
    const int64_t B = images_in(batch), size = *parts().micro_batch;
    BufferGuard buffers(networks());
    std::vector<at::Tensor> features, projections;
    {
      const at::NoGradGuard no_grad;
      for (int64_t begin = 0; begin < B; begin += size) {
        const ModelOutput part = passed(batch, begin, std::min(begin + size, B));
        features.push_back(part.features);
        projections.push_back(part.projection);
      }
    }
    ModelOutput whole = of_all_ranks({at::cat(features, 0), at::cat(projections, 0)}, batch);
    whole.features.requires_grad_();
    whole.projection.requires_grad_();
    Evaluated evaluated = losses(whole, batch);
    backward(evaluated, whole);
    buffers.restore();
    for (int64_t begin = 0; begin < B; begin += size) carry_back(batch, whole, begin, std::min(begin + size, B));
    buffers.keep();
    return evaluated;
  }

  // The gradient of the whole batch's outputs through the images begin..end.
  void carry_back(const Batch& batch, const ModelOutput& whole, int64_t begin, int64_t end) const {
    const ModelOutput part = passed(batch, begin, end);
    at::Tensor surrogate;
    const auto add = [&](const at::Tensor& output, const at::Tensor& gradient) {
      if (!gradient.defined() || !output.requires_grad()) return;
      const at::Tensor sum = (output * gradient.slice(0, batch.first_row + begin, batch.first_row + end)).sum();
      surrogate = surrogate.defined() ? surrogate + sum : sum;
    };
    add(part.projection, whole.projection.grad());
    add(part.features, whole.features.grad());
    if (surrogate.defined()) surrogate.backward();
  }
};

}  // namespace

std::unique_ptr<Method> make_simclr(MethodParts parts) { return std::make_unique<Simclr>(std::move(parts)); }

MethodEntry simclr_entry() {
  MethodEntry entry;
  entry.name = "simclr";
  entry.summary = "one encoder for all views; the loss compares the embeddings of a batch with each other";
  take_options<NoOptions>(entry);
  entry.check = [](const Recipe& recipe, const SampleTable& dataset) { require_images(recipe, dataset, "simclr"); };
  entry.trains_on_features = true;
  entry.drops_linked_pairs = true;
  entry.takes_any_terms = true;
  entry.takes_micro_batch = true;
  entry.networks = encoder_and_head;
  entry.make = [](const Recipe&, const SampleTable&, MethodParts parts) { return make_simclr(std::move(parts)); };
  return entry;
}

}  // namespace debias

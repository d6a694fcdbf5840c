// A method with its first batch, and its refusals.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "debias/loader/batch_source.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/methods/rivals/classification.h"
#include "tests/support/refusals.h"
#include "tests/train/training.h"

namespace debias {

struct MethodWithBatch {
  explicit MethodWithBatch(const Config& root) : MethodWithBatch(input_for(root)) {}
  explicit MethodWithBatch(TrainInput given) : input(std::move(given)), parts(make_run_parts(input.recipe, input.dataset)) {
    parts.model.train(true);
    parts.source->start(0);
    batch = *parts.source->next();
    for (auto& [name, tensor] : batch.inputs) tensor = tensor.clone();
  }
  StepReport run(int64_t step = 1) { return parts.method->run(batch, step); }
  ModelOutput output() const { return forward(parts.model, batch.images(), ForwardOptions{}); }
  at::Tensor features() const { return output().features.select(1, 0); }  // of the first view
  at::Tensor logits() const { return parts.model.classifier->logits(output().features); }
  at::Tensor side_logits() const { return side().logits(side().features(batch.images(), ForwardOptions{})); }
  at::Tensor labels() const { return at::tensor(batch.labels, at::kLong); }
  const SideClassifier& side() const { return dynamic_cast<const SideClassifier&>(*parts.model.side.at(0).module); }

  std::map<std::string, at::Tensor> state() const {
    std::map<std::string, at::Tensor> all;
    for (const auto& [name, tensor] : parts.method->state()) all[name] = tensor.detach().clone();
    return all;
  }

  TrainInput input;
  RunParts parts;
  Batch batch;
};

// Before a run has a folder: a usage error with this part in its line.
inline void expect_refused(const Config& root, const std::string& part) {
  const std::string message = usage_error_of([&] {
    const TrainInput input = input_for(root);
    make_run_parts(input.recipe, input.dataset);
  });
  EXPECT_NE(message.find(part), std::string::npos) << message << " without " << part;
}

}  // namespace debias

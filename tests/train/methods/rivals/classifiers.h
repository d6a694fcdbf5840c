// Recipes of supervised classification on glyphs whose colour goes with their class, and runs of them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/train/method_parts.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {

// Trains in a second: 96 images of ten classes.
inline Config biased_config(const std::string& output, const std::string& method) {
  return changed(small_config(output), {"method=" + method, "data.train.correlation=0.9", "views={steps: [], count: 1}", "head=none",
                                        "objective=cross_entropy", "classifier={name: linear, gradient: flow}"});
}

// 500 images of 5 classes, of which 9 in 10 have the colour of their class; a few seconds an epoch at most.
inline Config shortcut_config(const std::string& output, const std::string& method) {
  return changed(
      biased_config(output, method),
      {"data.train={name: glyphs, size: 16, classes: 5, train_count: 500, correlation: 0.9, variation: 0.3}",
       "encoder={name: simple_convnet, stem_stride: 2, stride: 2}", "classifier={name: linear, gradient: flow, normalize: false}",
       "optimizer={name: adam, learning_rate: 3e-3}", "train={epochs: 4, batch_size: 50, device: cpu, threads: 1, log_every: 10}"});
}

// 96 images of four classes in crops, 8 in 10 with the colour of their class.
inline Config glyph_classifier(const std::string& output, const std::string& method) {
  Config root = small_config(output);
  root.erase("head");
  return changed(root, {"data.train.classes=4", "data.train.correlation=0.8", "views.count=1", "objective=cross_entropy",
                        "classifier={name: linear, gradient: flow}", "method=" + method});
}

inline bool checkpoint_has(const std::string& run, const std::string& tensor) {
  return SafetensorsFile::open(run + "/checkpoints/last.safetensors").find(tensor) != nullptr;
}

// The last line of metrics.jsonl of a run of so many epochs.
inline nlohmann::json trained(Config root, int64_t epochs) {
  const TemporaryFolder folder;
  train(input_for(changed(root, {"output=" + folder / "run", fmt::format("train.epochs={}", epochs)})));
  return metric_lines(folder / "run").back();
}

}  // namespace debias

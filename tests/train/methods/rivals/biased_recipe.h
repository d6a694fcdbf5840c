// Recipes of supervised classification on glyphs whose colour goes with their class, and how the methods on them are tested.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "debias/core/safetensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {

// Trains in a second: 96 images.
inline Config biased_config(const std::string& output, const std::string& method) {
  return changed(small_config(output), {"method=" + method, "data.train.correlation=0.9", "views={steps: [], count: 1}", "head=none",
                                        "objective=cross_entropy", "classifier={name: linear, gradient: flow}"});
}

// 500 images of 5 classes, of which 9 in 10 have the colour of their class; a few seconds an epoch at most.
inline Config shortcut_config(const std::string& output, const std::string& method) {
  Config root =
      changed(biased_config(output, method),
              {"data.train={name: glyphs, size: 16, classes: 5, train_count: 500, correlation: 0.9, variation: 0.3}",
               "encoder={name: simple_convnet, stem_stride: 2, stride: 2}", "classifier={name: linear, gradient: flow, normalize: false}",
               "optimizer={name: adam, learning_rate: 3e-3}", "train={epochs: 4, batch_size: 50, device: cpu, threads: 1, log_every: 10}"});
  return root;
}

// A run that is stopped in either half of its steps and resumed ends with the bytes of one that is not.
inline void expect_resumes(Config root) {
  const TemporaryFolder folder;
  root.set("output", Config::string(folder / "whole"));
  train(input_for(root));
  for (const int64_t steps : {4, 13}) {  // of 18
    train_in_two(root, fmt::format("{}/stopped{}", folder.path(), steps), steps);
    expect_same_run(folder / "whole", fmt::format("{}/stopped{}", folder.path(), steps));
  }
}

inline bool checkpoint_has(const std::string& run, const std::string& tensor) {
  for (const auto& [name, bytes] : tensors_of(run + "/checkpoints/last.safetensors")) {
    if (name == tensor) return true;
  }
  return false;
}

}  // namespace debias

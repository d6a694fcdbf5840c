// Recipes of a classifier on glyphs of four shapes whose colour nearly always follows the class, and runs of them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {

inline Config glyph_classifier(const std::string& output, const std::string& method) {
  Config root = small_config(output);
  root.erase("head");
  root.assign("data.train.classes=4");
  root.assign("data.train.correlation=0.8");
  root.assign("views.count=1");
  root.assign("objective=cross_entropy");
  root.assign("classifier={name: linear, gradient: flow}");
  root.assign("method=" + method);
  return root;
}

// The same bytes whole and stopped in the middle of an epoch.
inline void expect_resumes_mid_epoch(const std::string& method) {
  const TemporaryFolder folder;
  Config root = changed(glyph_classifier(folder.path() + "/whole", method), {"train.epochs=2"});
  train(input_for(root));
  train_in_two(root, folder.path() + "/stopped", 8);  // of 2 epochs of 6 steps
  expect_same_run(folder.path() + "/whole", folder.path() + "/stopped");
}

// The last line of metrics.jsonl of a run of so many epochs.
inline nlohmann::json trained(Config root, int64_t epochs) {
  const TemporaryFolder folder;
  root.set("output", Config::string(folder.path() + "/run"));
  root.assign(fmt::format("train.epochs={}", epochs));
  train(input_for(root));
  return metric_lines(folder.path() + "/run").back();
}

}  // namespace debias

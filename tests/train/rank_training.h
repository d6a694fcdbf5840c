// Trainings of several ranks, as threads.
#pragma once

#include <functional>
#include <string>

#include "tests/ranks/threads.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {

// Trains the recipe on W ranks; `prepare` has each rank's input before it begins, `meet` how it meets the others.
inline void train_on_ranks(const Config& root, int64_t W, const std::function<void(TrainInput&, const Ranks&)>& prepare = {},
                           const std::function<void(Rendezvous&, int64_t rank)>& meet = {}) {
  const auto work = [&](const Ranks& ranks) {
    TrainInput input = input_for(root);
    input.ranks = &ranks;
    if (prepare) prepare(input, ranks);
    tell_failures(ranks, [&] {
      train(input);
      return 0;
    });
  };
  on_ranks(W, work, meet);
}

inline Config in_folder(Config root, const std::string& path) {
  root.set("output", Config::string(path));
  return root;
}

inline Config batches_of(int64_t batch_size, int64_t epochs) {
  return changed(small_config(""),
                 {fmt::format("train.batch_size={}", batch_size), fmt::format("train.epochs={}", epochs), "train.workers=0"});
}

}  // namespace debias

// A recipe that trains in a second: 96 glyphs, the smallest ResNet.
#pragma once

namespace debias {

inline constexpr const char* kSmallRecipe = R"(
name: small
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: {name: debiased_negatives, tau_plus: 0.1}
optimizer: {name: adam, learning_rate: 1e-2, weight_decay: 1e-6}
schedule: {name: cosine}
train: {epochs: 3, batch_size: 16, device: cpu, threads: 1, log_every: 2}
)";

}  // namespace debias

// One batch: what the network eats, and what every batch has whatever it is made of.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace debias {

struct Batch {
  // Inputs of the network, by name, each [V, B, ...] and view-major: "images" [V, B, C, H, W] alone, in float32 or as
  // the loader gives them, or a few (words and lengths; observations, actions and rewards). Valid until the source's next batch. With
  // several ranks: [V, share, ...], the rows from first_row on.
  std::vector<std::pair<std::string, at::Tensor>> inputs;

  std::vector<int64_t> ids;          // [B] source ids
  std::vector<int64_t> occurrences;  // [B]
  std::vector<int64_t> labels;       // [B], kUnknown where not known
  std::vector<int64_t> biases;       // [B]
  std::vector<int64_t> indices;      // [B] into the source's samples
  int64_t epoch = 0;
  int64_t number = 0;                         // within the epoch, from 0
  int64_t first_row = 0;                      // that `inputs` have
  int64_t substituted = 0;                    // rows and noise views whose image could not be read
  std::map<int64_t, std::string> unreadable;  // why not, by index; unreadable substitutes, too

  // Throws std::logic_error if the source has no such name: a method of another modality.
  const at::Tensor& input(std::string_view name) const;
  const at::Tensor& images() const { return input("images"); }
};

}  // namespace debias

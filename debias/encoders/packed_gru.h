// Gated recurrent units over sentences of different lengths: the state after the last word, in one or both directions.
//
//   r, z = sigmoid(W x + U h + b)          h' = (1 - z) n + z h
//   n = tanh(W_n x + b_n + r (U_n h + c_n))      GruCell::kTorch     the reset gate on what the state gives (torch.nn.GRU)
//   n = tanh(W_n x + b_n + U_n (r h))            GruCell::kTensorFlow     the reset gate on the state (tf.GRUCell, which calls z `u`)
//
// One autograd function for all directions: a product for the inputs of all words, one a step for the states of the sentences that still
// have words, and in the backward pass again one a step, and one product each for the gradients of weights and of inputs. The state before
// each step is kept, so that memory is that of about five values a word, direction and unit.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

enum class GruCell { kTensorFlow, kTorch };
constexpr auto enum_words(GruCell) { return named("tensorflow", "torch"); }

// Which words of N sentences are at work at each step: sentences sorted by falling length, word t of all that have one, for t = 0, 1, ...
struct PackedSteps {
  std::vector<int64_t> rows;   // sentences with a word t
  std::vector<int64_t> first;  // where the words t begin among all words
  at::Tensor order;            // int64 [N] on the device: sentence i of the packed order
  at::Tensor words;            // int64 [tokens] on the device: word ids in the order of the steps
  int64_t tokens() const { return words.numel(); }
  int64_t sentences() const { return order.numel(); }
};

// Of ids [N, T], each row words and then -1, for inputs on a device; ids of a device are waited for. A data error where a row has none.
std::shared_ptr<const PackedSteps> packed_steps(const at::Tensor& ids, c10::Device device = c10::kCPU);

// Weights of one direction. Gates are in the order r, z, n, as in torch.
struct GruWeights {
  at::Tensor input;        // W [3H, E]
  at::Tensor hidden;       // U [3H, H]
  at::Tensor input_bias;   // b [3H]
  at::Tensor hidden_bias;  // c [3H]; kTorch alone, else undefined
};

// Final states [N, H] or [N, 2H] (forward, then from the last word to the first), rows in the order of the sentences as they were given.
// `inputs`: [tokens, E], in the order of the steps; float32 or float64, where the steps' tensors are. A device launches some twenty kernels
// a step.
at::Tensor packed_gru(const at::Tensor& inputs, const std::shared_ptr<const PackedSteps>& steps, const std::vector<GruWeights>& directions,
                      GruCell cell);

}  // namespace debias

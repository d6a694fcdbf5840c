#include "debias/encoders/packed_gru.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "tests/support/refusals.h"

namespace debias {
namespace packed_gru_test {

at::Tensor numbers(at::IntArrayRef shape, double step, at::ScalarType type = at::kDouble) {
  return at::sin(at::arange(c10::multiply_integers(shape), type) * step + 0.3).reshape(shape) * 0.8;
}

at::Tensor ids_of(const std::vector<std::vector<int64_t>>& sentences, int64_t longest) {
  at::Tensor ids = at::full({std::ssize(sentences), longest}, -1, at::kLong);
  for (size_t i = 0; i < sentences.size(); ++i) {
    for (size_t t = 0; t < sentences[i].size(); ++t) ids[static_cast<int64_t>(i)][static_cast<int64_t>(t)] = sentences[i][t];
  }
  return ids;
}

std::vector<GruWeights> weights_of(int64_t directions, int64_t E, int64_t H, GruCell cell, at::ScalarType type = at::kDouble) {
  std::vector<GruWeights> all;
  for (int64_t d = 0; d < directions; ++d) {
    const double shift = 0.01 * static_cast<double>(d);
    GruWeights one = {
        numbers({3 * H, E}, 0.71 + shift, type), numbers({3 * H, H}, 0.37 + shift, type), numbers({3 * H}, 1.3 + shift, type), {}};
    if (cell == GruCell::kTorch) one.hidden_bias = numbers({3 * H}, 0.9 + shift, type);
    for (at::Tensor* tensor : {&one.input, &one.hidden, &one.input_bias, &one.hidden_bias}) {
      if (tensor->defined()) tensor->set_requires_grad(true);
    }
    all.push_back(one);
  }
  return all;
}

// The definition, a sentence and a word at a time.
at::Tensor plain_gru(const at::Tensor& table, const at::Tensor& ids, const std::vector<GruWeights>& directions, GruCell cell) {
  const int64_t H = directions[0].hidden.size(1);
  std::vector<at::Tensor> rows;
  for (int64_t i = 0; i < ids.size(0); ++i) {
    const int64_t length = ids[i].ge(0).sum().item<int64_t>();
    std::vector<at::Tensor> states;
    for (size_t d = 0; d < directions.size(); ++d) {
      const GruWeights& w = directions[d];
      at::Tensor h = at::zeros({H}, table.options());
      for (int64_t step = 0; step < length; ++step) {
        const at::Tensor x = table[ids[i][d == 0 ? step : length - 1 - step].item<int64_t>()];
        const at::Tensor in = w.input.mv(x) + w.input_bias;
        const auto part = [H](const at::Tensor& all, int64_t gate) { return all.slice(0, gate * H, (gate + 1) * H); };
        at::Tensor hidden = w.hidden.mv(h);
        if (cell == GruCell::kTorch) hidden = hidden + w.hidden_bias;
        const at::Tensor r = (part(in, 0) + part(hidden, 0)).sigmoid(), z = (part(in, 1) + part(hidden, 1)).sigmoid();
        const at::Tensor inner = cell == GruCell::kTorch ? r * part(hidden, 2) : part(w.hidden, 2).mv(r * h);
        h = (1 - z) * (part(in, 2) + inner).tanh() + z * h;
      }
      states.push_back(h);
    }
    rows.push_back(at::cat(states));
  }
  return at::stack(rows);
}

std::vector<at::Tensor> all_of(const at::Tensor& table, const std::vector<GruWeights>& weights) {
  std::vector<at::Tensor> all = {table};
  for (const GruWeights& one : weights) {
    for (const at::Tensor& tensor : {one.input, one.hidden, one.input_bias, one.hidden_bias}) {
      if (tensor.defined()) all.push_back(tensor);
    }
  }
  return all;
}

// Values and gradients of both against each other.
void expect_the_definition(const std::vector<std::vector<int64_t>>& sentences, int64_t directions, GruCell cell) {
  const at::Tensor ids = ids_of(sentences, 7);
  const at::Tensor table = numbers({9, 4}, 0.53).set_requires_grad(true);
  const auto weights = weights_of(directions, 4, 3, cell);
  const auto steps = packed_steps(ids);
  const at::Tensor fast = packed_gru(at::embedding(table, steps->words), steps, weights, cell);
  const at::Tensor plain = plain_gru(table, ids, weights, cell);
  ASSERT_EQ(fast.sizes(), plain.sizes());
  EXPECT_LT((fast - plain).abs().max().item<double>(), 1e-12);
  const at::Tensor pull = numbers(fast.sizes(), 1.7);
  const auto gradients = torch::autograd::grad({(fast * pull).sum()}, all_of(table, weights));
  const auto expected = torch::autograd::grad({(plain * pull).sum()}, all_of(table, weights));
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_LT((gradients[i] - expected[i]).abs().max().item<double>(), 1e-11) << "tensor " << i;
}

TEST(PackedGru, IsItsDefinitionForSentencesOfAnyLengths) {
  for (const GruCell cell : {GruCell::kTensorFlow, GruCell::kTorch}) {
    for (const int64_t directions : {1, 2}) {
      expect_the_definition({{1, 2}, {3, 4, 5, 6, 7, 8, 0}, {2}, {5, 5, 5}, {0, 1, 2}}, directions, cell);
      expect_the_definition({{1, 2, 3}}, directions, cell);
      expect_the_definition({{4}, {4}, {1}}, directions, cell);
    }
  }
}

// One unit, one word: r, z = s(0) = 1/2, n = tanh(0.4), h = n / 2; two words: r h enters the new state by U_n = 2 after the gate.
TEST(PackedGru, HasTensorFlowsCellByHand) {
  const auto tensor = [](std::vector<double> values, at::IntArrayRef shape) { return at::tensor(values, at::kDouble).reshape(shape); };
  const std::vector<GruWeights> weights = {{tensor({0, 0, 0.4}, {3, 1}), tensor({0, 0, 2}, {3, 1}), tensor({0, 0, 0}, {3}), {}}};
  const auto steps = packed_steps(ids_of({{0}, {0, 0}}, 2));
  const at::Tensor states = packed_gru(at::ones({3, 1}, at::kDouble), steps, weights, GruCell::kTensorFlow);
  const double one = std::tanh(0.4) / 2, two = std::tanh(0.4 + 2 * 0.5 * one) / 2 + one / 2;
  EXPECT_NEAR(states[0].item<double>(), one, 1e-15);
  EXPECT_NEAR(states[1].item<double>(), two, 1e-15);
}

// Of at::gru: states of the last layer's last step, forward then backward.
at::Tensor torch_gru(const at::Tensor& inputs, const PackedSteps& steps, const std::vector<GruWeights>& directions) {
  std::vector<at::Tensor> flat;
  for (const GruWeights& one : directions) flat.insert(flat.end(), {one.input, one.hidden, one.input_bias, one.hidden_bias});
  const int64_t D = std::ssize(directions), H = directions[0].hidden.size(1);
  const at::Tensor start = at::zeros({D, steps.sentences(), H}, inputs.options());
  const auto [output, state] = at::gru(inputs, at::tensor(steps.rows, at::kLong), start, flat, true, 1, 0.0, true, D == 2);
  const at::Tensor sorted = state.transpose(0, 1).reshape({steps.sentences(), D * H});
  return at::zeros_like(sorted).index_copy(0, steps.order, sorted);
}

void expect_torchs(int64_t N, int64_t longest) {
  std::vector<std::vector<int64_t>> sentences;
  for (int64_t i = 0; i < N; ++i) sentences.emplace_back(static_cast<size_t>(1 + (i * 37 + longest - 1) % longest), i % 11);
  const auto steps = packed_steps(ids_of(sentences, longest));
  const at::Tensor inputs = numbers({steps->tokens(), 20}, 0.11, at::kFloat).set_requires_grad(true);
  const auto weights = weights_of(2, 20, 12, GruCell::kTorch, at::kFloat);
  const at::Tensor ours = packed_gru(inputs, steps, weights, GruCell::kTorch), theirs = torch_gru(inputs, *steps, weights);
  EXPECT_LT((ours - theirs).abs().max().item<double>(), 1e-6) << N << " sentences";
  const at::Tensor pull = numbers(ours.sizes(), 1.7, at::kFloat) / static_cast<double>(N);
  const auto gradients = torch::autograd::grad({(ours * pull).sum()}, all_of(inputs, weights));
  const auto expected = torch::autograd::grad({(theirs * pull).sum()}, all_of(inputs, weights));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double scale = std::max(1.0, expected[i].abs().max().item<double>());
    EXPECT_LT((gradients[i] - expected[i]).abs().max().item<double>() / scale, 1e-6) << "tensor " << i << ", " << N << " sentences";
  }
}

TEST(PackedGru, AgreesWithTorchs) {
  expect_torchs(1, 1);
  expect_torchs(1, 50);
  expect_torchs(33, 50);
  expect_torchs(64, 13);
}

TEST(PackedGru, HasTheGradientsOfFiniteDifferences) {
  for (const GruCell cell : {GruCell::kTensorFlow, GruCell::kTorch}) {
    const auto steps = packed_steps(ids_of({{0, 1, 2}, {1}}, 3));
    at::Tensor inputs = numbers({4, 2}, 0.7).set_requires_grad(true);
    const auto weights = weights_of(2, 2, 2, cell);
    const at::Tensor pull = numbers({2, 4}, 1.1);
    const auto value = [&] { return (packed_gru(inputs, steps, weights, cell) * pull).sum(); };
    const std::vector<at::Tensor> all = all_of(inputs, weights);
    const auto gradients = torch::autograd::grad({value()}, all);
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < all.size(); ++i) {
      at::Tensor flat = all[i].view({-1});
      for (int64_t j = 0; j < flat.numel(); ++j) {
        const double kept = flat[j].item<double>(), step = 1e-6;
        flat[j] = kept + step;
        const double above = value().item<double>();
        flat[j] = kept - step;
        const double below = value().item<double>();
        flat[j] = kept;
        EXPECT_NEAR(gradients[i].reshape({-1})[j].item<double>(), (above - below) / (2 * step), 1e-8) << "tensor " << i << " element " << j;
      }
    }
  }
}

TEST(PackedGru, RefusesASentenceWithoutAWord) {
  EXPECT_EQ(data_error_of([] { packed_steps(ids_of({{1}, {}}, 2)); }), "sentence 1 of a batch has no word");
}

}  // namespace packed_gru_test
}  // namespace debias

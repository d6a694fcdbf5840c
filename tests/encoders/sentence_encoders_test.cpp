#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "debias/encoders/packed_gru.h"
#include "debias/encoders/sentence_encoders.h"
#include "tests/encoders/modules.h"
#include "tests/support/refusals.h"

namespace debias {
namespace sentence_encoders_test {

at::Tensor some_ids() { return at::tensor({1, 2, 3, 4, 0, -1, 3, -1, -1}, at::kLong).view({3, 3}); }

std::shared_ptr<Encoder> gru(const std::vector<std::string>& options = {}, uint64_t seed = 1) {
  Config section = parse_yaml("{name: gru, embedding: 6, features: 8}", "r.yaml");
  for (const auto& option : options) section.assign(option);
  return read_encoder(section).make(5, seed);
}
std::shared_ptr<Encoder> bag(uint64_t seed = 1) {
  return read_encoder(parse_yaml("{name: bag_of_words, features: 8}", "r.yaml")).make(5, seed);
}

TEST(SentenceEncoders, GiveARowASentence) {
  for (const auto& encoder : {gru(), gru({"direction=forward"}), gru({"cell=torch"}), bag()}) {
    const at::Tensor rows = encoder->forward(some_ids());
    EXPECT_EQ(rows.sizes(), (std::vector<int64_t>{3, 8})) << encoder->registry_name();
    EXPECT_EQ(encoder->feature_dim(), 8);
    const at::Tensor alone = encoder->forward(at::tensor({4, 0}, at::kLong).view({1, 2}));
    EXPECT_LT((alone[0] - rows[1]).abs().max().item<double>(), 1e-6);  // padding and neighbours change nothing
  }
}

TEST(SentenceEncoders, SumTheirWords) {
  const auto encoder = bag();
  const at::Tensor table = named_state(*encoder)[0].second, rows = encoder->forward(some_ids());
  EXPECT_LT((rows[0] - (table[1] + table[2] + table[3])).abs().max().item<double>(), 1e-6);
  EXPECT_LT((rows[2] - table[3]).abs().max().item<double>(), 1e-6);
}

TEST(SentenceEncoders, BeginAsPublished) {
  const auto encoder = gru({"embedding=300", "features=400"});
  const auto state = state_of(*encoder);
  EXPECT_EQ(state.size(), 7u);
  const auto spread = [&](const at::Tensor& t, double bound) {  // of U(-bound, bound)
    EXPECT_LE(t.abs().max().item<double>(), bound);
    EXPECT_NEAR(t.std().item<double>(), bound / std::sqrt(3.0), bound * 0.05);
  };
  spread(state.at("embedding"), 0.1);
  spread(state.at("weight_ih_l0").slice(0, 0, 400), std::sqrt(6.0 / (300 + 200 + 400)));
  spread(state.at("weight_hh_l0_reverse").slice(0, 400), std::sqrt(6.0 / (300 + 200 + 200)));
  EXPECT_TRUE(state.at("bias_ih_l0").slice(0, 0, 400).eq(1).all().item<bool>());
  EXPECT_TRUE(state.at("bias_ih_l0").slice(0, 400).eq(0).all().item<bool>());
  EXPECT_FALSE(state.at("weight_ih_l0").equal(state.at("weight_ih_l0_reverse")));
}

TEST(SentenceEncoders, FollowFromTheSeed) {
  for (const auto& make : {+[](uint64_t seed) { return gru({}, seed); }, +[](uint64_t seed) { return bag(seed); }}) {
    EXPECT_TRUE(make(3)->forward(some_ids()).equal(make(3)->forward(some_ids())));
    EXPECT_FALSE(make(3)->forward(some_ids()).equal(make(4)->forward(some_ids())));
  }
}

TEST(SentenceEncoders, PairIsEvaluatedByUnitHalves) {
  const auto pair = sentence_pair(bag(1), bag(2));
  EXPECT_EQ(pair->feature_dim(), 16);
  const at::Tensor vectors = sentence_vectors(*pair, some_ids());
  const at::Tensor f = bag(1)->forward(some_ids()), g = bag(2)->forward(some_ids());
  EXPECT_LT((vectors.slice(1, 0, 8) - f / f.norm(2, 1, true)).abs().max().item<double>(), 1e-6);
  EXPECT_LT((vectors.slice(1, 8) - g / g.norm(2, 1, true)).abs().max().item<double>(), 1e-6);
  EXPECT_EQ(named_state(*pair)[0].first, "f.embedding");
}

TEST(SentenceEncoders, RefuseWhatTheyCannotRead) {
  EXPECT_EQ(data_error_of([] {
              bag()->forward(at::full({1, 1}, 5, at::kLong));
            }),
            "word 5 of a vocabulary of 5: the sentences were numbered by another one");
  EXPECT_EQ(data_error_of([] { bag()->forward(at::full({1, 1}, -1, at::kLong)); }), "a sentence of a batch has no word");
  EXPECT_EQ(data_error_of([] {
              gru()->forward(at::ones({1, 3, 4, 4}));
            }),
            "an encoder of sentences is given a tensor that holds no word ids");
  EXPECT_EQ(usage_error_of([] { gru({"features=7"}); }), "r.yaml:1: encoder 'gru': features: 7 for two directions; give an even number");
}

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

TEST(PackedGru, RefusesASentenceWithoutAWord) {
  EXPECT_EQ(data_error_of([] { packed_steps(ids_of({{1}, {}}, 2)); }), "sentence 1 of a batch has no word");
}

}  // namespace sentence_encoders_test
}  // namespace debias

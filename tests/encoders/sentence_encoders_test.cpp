#include "debias/encoders/sentence_encoders.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/encoders/state.h"
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
  std::map<std::string, at::Tensor> state;
  for (const auto& [name, tensor] : named_state(*encoder)) state[name] = tensor;
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

}  // namespace sentence_encoders_test
}  // namespace debias

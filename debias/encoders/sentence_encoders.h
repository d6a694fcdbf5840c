// Encoders of sentences: word ids int64 [N, T], each row words and then -1, to features [N, feature_dim()]. The host reads the ids, since the
// lengths of sentences decide what is launched: those of a device are waited for.
//
//   gru            embedding table, then the final states of a GRU (packed_gru.h), both directions one after the other
//   bag_of_words   the sum of the words' embeddings
//
// Tables begin as U(-0.1, 0.1), matrices of the GRU Glorot uniform over the gates together, biases of its gates 1 and all others 0 (Logeswaran
// and Lee 2018). With `vectors` the table is a file's (.npy, float32 [words, embedding], rows in the order of the vocabulary) and stays as it
// is. A registry entry's `in_channels` is the number of words.
#pragma once

#include <cstdint>
#include <memory>

#include "debias/core/options.h"
#include "debias/encoders/encoder.h"
#include "debias/encoders/packed_gru.h"

namespace debias {

enum class GruDirection { kBoth, kForward };
constexpr auto enum_words(GruDirection) { return named("both", "forward"); }

struct GruOptions {
  int64_t embedding = 620;
  int64_t features = 1200;
  GruDirection direction = GruDirection::kBoth;
  GruCell cell = GruCell::kTensorFlow;
  std::string vectors = "";
  void describe(OptionVisitor& o) {
    o("embedding", embedding, Range::closed(1, 1 << 16), "dimension of the word vectors");
    o("features", features, Range::closed(1, 1 << 16), "total number of features of all directions");
    o("direction", direction, "both: half of the features come from the backward direction");
    o("cell", cell, "place of the reset gate: on the state, or on its product with the weights");
    o("vectors", vectors, "file of fixed word vectors (debias text vectors) in place of a learnt table");
    o.check([this](const std::string& what) {
      if (direction == GruDirection::kForward || features % 2 == 0) return;
      throw usage_error("{}: features: {} for two directions; give an even number", what, features);
    });
  }
};

struct BagOfWordsOptions {
  int64_t features = 600;
  void describe(OptionVisitor& o) { o("features", features, Range::closed(1, 1 << 16), "dimension of the word vectors, and of their sum"); }
};

std::shared_ptr<Encoder> make_gru(const GruOptions& options, int64_t words, uint64_t seed);
std::shared_ptr<Encoder> make_bag_of_words(const BagOfWordsOptions& options, int64_t words, uint64_t seed);

// f and g, two encoders that share nothing, as one: features of f, then those of g. Names are "f." and "g.".
std::shared_ptr<Encoder> sentence_pair(std::shared_ptr<Encoder> f, std::shared_ptr<Encoder> g);

// What a sentence becomes to evaluation: features of f and of g, each of unit norm, on the CPU.
at::Tensor sentence_vectors(Encoder& pair, const at::Tensor& ids);

}  // namespace debias
